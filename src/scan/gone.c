/* SPDX-License-Identifier: MIT */
#include "scan/gone.h"

#include <stdlib.h>

#include "attach/mappings.h"
#include "base/find.h"
#include "base/heap.h"
#include "scan/older.h"
#include "scan/scan_blocks.h"

/* Blocks of a heap that is walked: although nothing hints at it, and when something does.  The list
 * takes 16 bytes a block or more, beside those of the search. */
#define WALKED_MOST (1u << 18)
#define WALKED_HINTED (1u << 22)

static bool any_lost(const struct gone_input *in)
{
        uint64_t i = 0;

        while (i < in->count && in->graph->leak[i] != PROFILE_LEAK_DEFINITE)
                i++;
        return i < in->count;
}

/* Functions found by --hook may have blocks that are no allocator's. */
static bool is_walk_worth_it(const struct gone_input *in)
{
        const struct ledger_head *h = in->head;
        bool hinted = h->missed_frees || h->unseen_blocks || h->deepbind_kept;

        return !h->attached && !h->one_way && any_lost(in) &&
               in->count <= (hinted ? WALKED_HINTED : WALKED_MOST);
}

/* ADDRESS lies in one of COUNT ranges, which are sorted and disjoint. */
static bool is_in(const struct search_range *ranges, uint64_t count, uint64_t address)
{
        uint64_t behind = FIND_FIRST(count, i, ranges[i].start <= address);

        return behind && address < ranges[behind - 1].end;
}

/* An operator new of the program may have put a header in front: anywhere in a block will do. */
static bool is_gone(const struct walk_blocks *w, const struct mappings *maps, uint64_t address)
{
        if (!mappings_find(maps, address))
                return true;
        return is_in(w->own, w->own_count, address) && !is_in(w->at, w->count, address);
}

/* Returns how many. */
static uint64_t mark(const struct gone_input *in, const struct walk_blocks *w, uint8_t *places)
{
        struct mappings maps = { 0 };
        uint64_t marked = 0;

        mappings_parse(&maps, in->freeze->maps);
        for (uint64_t i = 0; i < in->count; i++) {
                struct search_block *b = &in->blocks[i];

                if ((b->flags & (SEARCH_BLOCK_PASSAGE | SCAN_ENTRY_POOL)) ||
                    !is_gone(w, &maps, b->address))
                        continue;
                b->flags |= SEARCH_BLOCK_PASSAGE;
                places[in->places[i]] = 1;
                marked++;
        }
        mappings_free(&maps);
        return marked;
}

static void ignore_places(const struct gone_input *in, const uint8_t *places)
{
        for (uint64_t i = 0; i < in->count; i++)
                if (in->places[i] && places[in->places[i]])
                        in->blocks[i].flags |= SEARCH_BLOCK_IGNORED;
}

uint64_t gone_mark(const struct gone_input *in)
{
        struct older heap = { 0 };
        struct err ignored;
        uint64_t marked = 0;

        if (!is_walk_worth_it(in))
                return 0;
        if (older_walk(&heap, in->freeze, &ignored) && !heap.walk.trouble[0]) {
                uint8_t *places = heap_zero(in->place_count, 1);

                marked = mark(in, &heap.walk, places);
                if (marked)
                        ignore_places(in, places);
                free(places);
        }
        older_free(&heap);
        return marked;
}
