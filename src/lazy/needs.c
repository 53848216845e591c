/* SPDX-License-Identifier: MIT */
/*
 * needs.c -- an empty library linked with all libraries that are loaded on first use: it shows
 * stubs.py and package builders which these are
 */
extern char lazy_needs;
char lazy_needs;
