/* SPDX-License-Identifier: MIT */
/*
 * contents.h -- what blocks without a call stack are, by their contents: blocks of one size,
 * objects of a class, text.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  blocks of one kind are a site, whose stack is one made-up frame that says so in brackets:
 *         its name is in the map of code that has no file.
 */
#ifndef SEEP_SCAN_CONTENTS_H
#define SEEP_SCAN_CONTENTS_H

#include <stdint.h>

#include "attach/freeze.h"
#include "attach/mappings.h"
#include "base/table.h"
#include "leak/search.h"
#include "profile/model.h"

struct contents_kind {
        uint64_t bytes, vtable;
        uint32_t content;
};

struct contents {
        const struct freeze *f;
        const struct profile *p; /* has the modules */
        struct mappings maps;
        struct table table;
        struct contents_kind *at; /* kinds, in the order in which they were met */
        uint32_t count;
};

void contents_open(struct contents *c, const struct freeze *f, const struct profile *p);
void contents_free(struct contents *c);

/* KINDS[i] = the kind that the block BLOCKS[i] is of. */
void contents_look(struct contents *c, const struct search_range *blocks, uint64_t count,
                   uint32_t *kinds);

/* Give P a site of KIND (of profile_site) for each kind of blocks.  Returns the first. */
uint32_t contents_store(const struct contents *c, struct profile *p, uint32_t kind);

/* The same for COUNT names, which become P's. */
uint32_t contents_name_sites(struct profile *p, char **names, uint32_t count, uint32_t kind);

#endif
