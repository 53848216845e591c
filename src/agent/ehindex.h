/* SPDX-License-Identifier: MIT */
/*
 * ehindex.h -- a table of unwind entries for objects that were linked without one
 * (--eh-frame-hdr; musl-gcc does that).
 *
 * Room:   inside; when an object is first seen.
 */
#ifndef SEEP_AGENT_EHINDEX_H
#define SEEP_AGENT_EHINDEX_H

#include <stdint.h>

struct ehindex {
        uint64_t count;
        struct ehindex_entry {
                uint64_t start;
                const uint8_t *fde;
        } at[];
};

struct object;

/* Look into the object file FD for its .eh_frame, which lies in the memory of O, and sort
 * what is there.  NULL: none. */
const struct ehindex *ehindex_build(long fd, const struct object *o);

static inline uint64_t ehindex_bytes(const struct ehindex *x)
{
        return sizeof *x + x->count * sizeof x->at[0];
}

/* The last entry that starts at or before PC; NULL none. */
const uint8_t *ehindex_find(const struct ehindex *x, uint64_t pc);

#endif
