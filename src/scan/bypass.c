/* SPDX-License-Identifier: MIT */
#include "scan/bypass.h"

#include <stdlib.h>

#include "attach/mappings.h"
#include "base/find.h"
#include "base/heap.h"
#include "collect/shadow_walk.h"
#include "scan/older.h"
#include "scan/scan_blocks.h"

/* Blocks of a heap that is walked: although nothing hints at it, and when something does.  The list
 * takes 16 bytes a block or more, beside those of the search. */
#define WALKED_MOST (1u << 18)
#define WALKED_HINTED (1u << 22)

/* ---- freed ---- */

static bool any_lost(const struct bypass_input *in)
{
        uint64_t i = 0;

        while (i < in->count && in->graph->leak[i] != PROFILE_LEAK_DEFINITE)
                i++;
        return i < in->count;
}

/* Functions found by --hook may have blocks that are no allocator's. */
static bool is_walk_worth_it(const struct bypass_input *in)
{
        const struct ledger_head *h = &in->view->head;
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

/* A child of several threads: which of the blocks from before the fork are free is not known. */
static bool is_doubtful(const struct bypass_input *in, const struct search_block *b)
{
        return in->view->head.fork_several && (b->flags & SEARCH_BLOCK_IGNORED);
}

/* Returns how many. */
static uint64_t mark(const struct bypass_input *in, const struct walk_blocks *w, uint8_t *places)
{
        struct mappings maps = { 0 };
        uint64_t marked = 0;

        mappings_parse(&maps, in->freeze->maps);
        for (uint64_t i = 0; i < in->count; i++) {
                struct search_block *b = &in->blocks[i];

                if ((b->flags & (SEARCH_BLOCK_PASSAGE | SCAN_ENTRY_POOL)) || is_doubtful(in, b) ||
                    !is_gone(w, &maps, b->address))
                        continue;
                b->flags |= SEARCH_BLOCK_PASSAGE;
                places[in->places[i]] = 1;
                marked++;
        }
        mappings_free(&maps);
        return marked;
}

static void ignore_places(const struct bypass_input *in, const uint8_t *places)
{
        for (uint64_t i = 0; i < in->count; i++)
                if (in->places[i] && places[in->places[i]])
                        in->blocks[i].flags |= SEARCH_BLOCK_IGNORED;
}

/* ---- allocated ---- */

/* How far the blocks before I go, from END on; pools are carved from blocks. */
static uint64_t pass_blocks(const struct bypass_input *in, uint64_t before, uint64_t *i,
                            uint64_t end)
{
        for (; *i < in->count && in->blocks[*i].address < before; ++*i) {
                const struct search_block *b = &in->blocks[*i];
                uint64_t own = b->address + (b->size ? b->size : 1);

                if (!(b->flags & SCAN_ENTRY_POOL) && own > end)
                        end = own;
        }
        return end;
}

static uint64_t pass_roots(const struct bypass_input *in, uint64_t before, uint32_t *i,
                           uint64_t end)
{
        for (; *i < in->root_count && in->roots[*i].start < before; ++*i)
                if (in->roots[*i].end > end)
                        end = in->roots[*i].end;
        return end;
}

static void find_strange(struct bypass *b, const struct bypass_input *in,
                         const struct walk_blocks *w)
{
        uint64_t block = 0, end = 0, root_end = 0;
        uint32_t root = 0;

        b->strange = heap_zero(w->count, sizeof *b->strange);
        for (uint64_t i = 0; i < w->count; i++) {
                const struct search_range *r = &w->at[i];

                end = pass_blocks(in, r->end, &block, end);
                root_end = pass_roots(in, r->end, &root, root_end);
                if (end <= r->start && root_end <= r->start)
                        b->strange[b->strange_count++] = *r;
        }
}

/* One of the strange that a freed block was in is none: its range becomes empty. */
static void take_dead(void *context, const struct ledger_block *dead, uint64_t address)
{
        struct bypass *b = context;
        uint64_t behind = FIND_FIRST(b->strange_count, i, b->strange[i].start <= address);

        if (!LEDGER_BLOCK_LIVE(*dead) && behind && address < b->strange[behind - 1].end)
                b->strange[behind - 1].end = b->strange[behind - 1].start;
}

/* Freed blocks that are kept back (--quarantine) are still the allocator's. */
static void leave_kept_back(struct bypass *b, const struct view *v)
{
        struct shadow_visitor visitor = { .context = b, .take = take_dead, .dead = true,
                                          .dead_since_ms = v->head.quarantine_from_ms };
        uint64_t kept = 0;

        if (!b->strange_count || !v->head.quarantine_blocks)
                return;
        shadow_walk(v, &visitor);
        for (uint64_t i = 0; i < b->strange_count; i++)
                if (b->strange[i].end > b->strange[i].start)
                        b->strange[kept++] = b->strange[i];
        b->strange_count = kept;
}

/* ---- both ---- */

void bypass_look(struct bypass *b, const struct bypass_input *in)
{
        struct older heap = { 0 };
        struct err ignored;

        *b = (struct bypass){ 0 };
        if (!is_walk_worth_it(in))
                return;
        if (older_walk(&heap, in->freeze, &ignored) && !heap.walk.trouble[0]) {
                uint8_t *places = heap_zero(in->place_count, 1);

                b->expected = heap.walk.libc_takes || in->view->head.fork_several ||
                              in->view->head.verify_captures;
                find_strange(b, in, &heap.walk);
                leave_kept_back(b, in->view);
                b->gone = mark(in, &heap.walk, places);
                if (b->gone)
                        ignore_places(in, places);
                free(places);
        }
        older_free(&heap);
}

void bypass_free(struct bypass *b)
{
        free(b->strange);
        *b = (struct bypass){ 0 };
}
