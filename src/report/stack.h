/* SPDX-License-Identifier: MIT */
/*
 * stack.h -- a whole call stack, one line per frame.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_STACK_H
#define SEEP_REPORT_STACK_H

#include <stdint.h>

#include "base/str.h"
#include "report/select.h"
#include "symbol/symbol.h"

/* Append the frames from the frame LEVEL of NODE (of SEL's tree) outwards, innermost first, each line with INDENT in
 * front.  The start code outside of main is left out. */
void stack_write(const struct selection *sel, struct symbols *s, struct wrapper_frame from, const char *indent,
                 struct str *out);

/* The same for a whole stack of the profile, without the wrappers that SEL hides. */
void stack_write_site(const struct selection *sel, struct symbols *s, uint32_t node, const char *indent,
                      struct str *out);

#endif
