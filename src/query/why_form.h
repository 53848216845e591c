/* SPDX-License-Identifier: MIT */
/*
 * why_form.h -- what the rooms of why.h share.
 *
 * Room:   outside, query/why*.c only.
 */
#ifndef SEEP_QUERY_WHY_FORM_H
#define SEEP_QUERY_WHY_FORM_H

#include "query/why.h"

/* Name the steps of a path and leave out what repeats itself.  The first step is that of the root W->holder, or (START) of a block. */
void why_name_path(struct why *w, const struct graph_step *steps, uint32_t count);

/* Say what is known about an ADDRESS that is in no block. */
void why_no_block(const struct profile *p, struct symbols *s, uint64_t address, struct err *e);

#endif
