/* SPDX-License-Identifier: MIT */
/* output_parts.h -- what the files of output.h share: names that this session has used. */
#ifndef SEEP_SESSION_OUTPUT_PARTS_H
#define SEEP_SESSION_OUTPUT_PARTS_H

#include "session/output.h"

/* NULL: PATH is no name of this session. */
struct output_claim *output_find_claim(const struct output *o, const char *path);

/* The place of C, to be closed; false: it cannot be used. */
bool output_open_claim(const struct output *o, const struct output_claim *c, struct place *out);

/* An empty file of ours that has the name goes. */
void output_withdraw(const struct output *o, const struct output_claim *c);

/* PATH, which is freed, with the number FIRST (0: without one), or the next free name beside it;
 * from then on it is taken. */
char *output_reserve(struct output *o, char *path, uint32_t first);

/* PATH in DIRECTORY; the caller's to free(). */
char *output_moved(const char *directory, const char *path);

#endif
