/* SPDX-License-Identifier: MIT */
/*
 * scan_blocks.h -- the blocks of a process at the moment of a search for leaks.
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
#include "collect/view.h"
#include "leak/search.h"

#define SCAN_ENTRY_LIVE 1u
#define SCAN_ENTRY_RECORDED 2u
#define SCAN_ENTRY_IGNORED 4u
#define SCAN_ENTRY_POOL 8u

struct scan_entry {
        uint64_t address, size;
        uint32_t ms; /* birth; of one that is not live: death */
        uint32_t flags; /* SCAN_ENTRY_* */
};

struct scan_entries {
        struct scan_entry *at; /* by address, of equal ones the larger first */
        uint64_t count;
        struct ledger_site *sites; /* when releases were missed: which sites they are of */
        uint32_t site_count;
        bool fork_several;  /* copied from a process with several threads ... */
        uint32_t fork_ms;   /* ... at this moment */
        uint32_t since_ms; /* tombstones of this moment or later are kept; UINT32_MAX: none */
};

/* All blocks in the ledger now.  To be freed with scan_entries_free(). */
void scan_entries_read(struct scan_entries *e, const struct view *v, uint32_t since_ms);
void scan_entries_free(struct scan_entries *e);

/* The first entry at or after ADDRESS. */
uint64_t scan_entries_find(const struct scan_entries *e, uint64_t address);

/* Blocks that realloc has in hand now, in no other list.  *OUT is to be freed. */
uint32_t scan_moving(const struct view *v, struct search_range **out);

struct scan_list {
        struct search_block *at;
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
        uint32_t ms;
};

/* What was alive then.  The lists of *OUT are to be freed. */
void scan_blocks(const struct scan_moment *m, struct scan_list *out);

#endif
