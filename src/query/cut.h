/* SPDX-License-Identifier: MIT */
/*
 * cut.h -- stacks that are equal in their N innermost frames, made one (--depth-merge).
 *
 * Room:   outside.
 */
#ifndef SEEP_QUERY_CUT_H
#define SEEP_QUERY_CUT_H

#include <stdint.h>

#include "query/select.h"

/* Give SEL a tree of its own, of stacks of at most DEPTH frames.  Rows of one stack are left to merge.h. */
void cut_stacks(struct selection *sel, uint32_t depth);

#endif
