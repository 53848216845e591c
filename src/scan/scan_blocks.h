/* SPDX-License-Identifier: MIT */
/*
 * scan_blocks.h -- the blocks of a process at the moment of a leak search.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  a process that is held has one list.  One that goes on while we read has three: what was
 *         there before the moment, what is there after it, and what was freed since.  Blocks that
 *         may or may not have been there are passages (leak/search.h).
 */
#ifndef SEEP_SCAN_SCAN_BLOCKS_H
#define SEEP_SCAN_SCAN_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/mappings.h"
#include "collect/blocks.h"
#include "collect/view.h"
#include "leak/search.h"

/* Flags of entries, beside those of leak/search.h. */
#define SCAN_ENTRY_LATE (SEARCH_BLOCK_OTHERS << 1) /* allocated or freed since the moment */
#define SCAN_ENTRY_POOL (SEARCH_BLOCK_OTHERS << 2)
#define SCAN_ENTRY_HOLE (SEARCH_BLOCK_OTHERS << 3) /* none, until the list is complete */

/* Entries are as the search wants them: where all are certain, which is the rule at the end of a
 * program, they become the list of blocks without a copy. */
struct scan_entries {
        struct search_block *at; /* by address, of equal ones the larger first */
        uint32_t *places; /* by entry: its site in the profile, 0 none; NULL: not known */
        uint64_t count, room;
        uint64_t listed; /* of them, those with a place */
        uint64_t holes;  /* of them, those that are none */
        bool placed;     /* places are wanted */
        bool unsorted;   /* planes of the shadow overlap */
        uint32_t newest_ms; /* the last birth or death */
        struct ledger_site *sites; /* when releases were missed: which sites they are of */
        uint32_t site_count;
        bool fork_several;  /* copied from a process with several threads ... */
        uint32_t fork_ms;   /* ... at this moment */
        uint32_t since_ms; /* tombstones of this moment or later are kept; UINT32_MAX: none */
};

/* All blocks in the ledger now.  To be freed with scan_entries_free(). */
void scan_entries_read(struct scan_entries *e, const struct view *v, uint32_t since_ms);
void scan_entries_free(struct scan_entries *e);

/* The same, with places, while somebody else reads the blocks for a profile: begin, let the profile
 * be filled, end. */
struct blocks_listener scan_entries_begin(struct scan_entries *e, const struct view *v,
                                          uint32_t since_ms);
void scan_entries_end(struct scan_entries *e);

/* The first entry at or after ADDRESS. */
uint64_t scan_entries_find(const struct scan_entries *e, uint64_t address);

/* Blocks that realloc has in hand now, in no other list.  *OUT is to be freed. */
uint32_t scan_moving(const struct view *v, struct search_range **out);

struct scan_list {
        struct search_block *at; /* may be that of NOW */
        uint32_t *known; /* by block: of a passage, how many bytes of it were a block for sure, 0
                          * all; NULL: there are no such passages */
        uint64_t count;
};

/* What is known of a moment: NOW was read after it, BEFORE (NULL: NOW was read at
 * the very moment) before it. */
struct scan_moment {
        const struct scan_entries *now, *before;
        const struct mappings *mappings; /* at the moment; a passage ends with its
                                          * mapping.  Not used without BEFORE */
};

/* What was alive then.  The lists of *OUT are to be freed, AT unless it is NOW's. */
void scan_blocks(const struct scan_moment *m, struct scan_list *out);

#endif
