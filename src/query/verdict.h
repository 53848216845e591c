/* SPDX-License-Identifier: MIT */
/*
 * verdict.h -- a small answer per name, found once.
 *
 * Keeps:  names are told apart by pointer: the resolver has each text once.
 */
#ifndef SEEP_QUERY_VERDICT_H
#define SEEP_QUERY_VERDICT_H

#include <stddef.h>
#include <stdint.h>

struct verdict {
        const char *name;
        uint32_t answer;
};

struct verdicts {
        struct verdict *all; /* open addressing */
        size_t room, count;
};

/* The place of NAME's answer, 0 while it has none.  Valid until the next call. */
uint32_t *verdicts_of(struct verdicts *v, const char *name);
void verdicts_free(struct verdicts *v);

#endif
