/* SPDX-License-Identifier: MIT */
/*
 * wrapper_learn.h -- functions of the program's own that only pass allocations on: checked_alloc(),
 * Pool::allocate(), learned from the recording.
 *
 *      malloc <- pool_alloc <- read_page        2 MiB
 *      malloc <- pool_alloc <- read_index      12 KiB      several functions ask it for several
 *      malloc <- pool_alloc <- sort           100 B        sizes: the reader looks for these
 *
 * Keeps:  a function that makes something (allocate_session: one size) or copies something
 *         (copy_name) is the place of its blocks; only one that says "alloc" in its own name can be
 *         learned.  What check compares with a baseline is not learned, for it must not depend on
 *         who else allocated in this run.
 * Cost:   the names of the largest LEARN_SITES call stacks.
 */
#ifndef SEEP_QUERY_WRAPPER_LEARN_H
#define SEEP_QUERY_WRAPPER_LEARN_H

#include "names/symbol.h"
#include "profile/model.h"

/* S, of P, knows them from now on (symbols_add_wrapper). */
void wrapper_learn(const struct profile *p, struct symbols *s);

/* The same of two recordings that are compared: what is one in A or B is one in both. */
void wrapper_learn_both(const struct profile *a, struct symbols *of_a, const struct profile *b,
                        struct symbols *of_b);

#endif
