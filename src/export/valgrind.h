/* SPDX-License-Identifier: MIT */
/* valgrind.h -- what the formats of Valgrind's tools share. */
#ifndef SEEP_EXPORT_VALGRIND_H
#define SEEP_EXPORT_VALGRIND_H

#include "export/stack_costs.h"

/* Append "0x401136: parse (table.c:12)" or "0x7F00: g (in /usr/lib/libx.so)", in one line of UTF-8;
 * bytes in FORBIDDEN become '_'. */
void valgrind_frame(const struct stack_costs *s, uint32_t frame, const char *forbidden,
                    struct str *out);

/* Append the command line, in the same way. */
void valgrind_command(const struct profile *p, const char *forbidden, struct str *out);

#endif
