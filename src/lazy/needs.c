/* SPDX-License-Identifier: MIT */
/* needs.c -- a library of nothing, linked with all that we load when it is used: it tells stubs.py
 * and builders of packages which libraries these are */
extern char lazy_needs;
char lazy_needs;
