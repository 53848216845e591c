/* SPDX-License-Identifier: MIT */
/*
 * lines_far.c -- the library of lines.c.
 *
 * Room:   tests only; see lines.h.
 */
#define PREFIX far_
#include "lines.h"
