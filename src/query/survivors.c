/* SPDX-License-Identifier: MIT */
/*
 * survivors.c -- allocated after one mark and still live at another.
 *
 * No reading of counters at the marks is needed: a block born between A and B is either still there
 * at the end of the recording, with its birth in the list of blocks, or it was counted when it
 * died, by the eras of its birth and death.  It lived at B in the first case, and when it died
 * later than B in the second.
 */
#include "query/survivors.h"

#include "ledger/ledger.h"
#include "profile/packed.h"

bool survivors_known(const struct profile *p, const struct moment *from, const struct moment *to)
{
        bool begins = from->type == MOMENT_MARK && p->marks[from->mark].era;
        bool ends = to->type == MOMENT_END || (to->type == MOMENT_MARK && p->marks[to->mark].era);

        return begins && ends && (p->block_count || !p->totals.live_blocks);
}

static void add(struct select_row *row, uint64_t blocks, uint64_t bytes, bool lived)
{
        row->allocs += blocks;
        row->alloc_bytes += bytes;
        if (lived) {
                row->live_blocks += blocks;
                row->live_bytes += bytes;
        } else {
                row->frees += blocks;
        }
}

static bool is_heap(const struct profile *p, uint32_t site)
{
        return site && site < p->site_count && PROFILE_KIND_IS_COUNTED(p->sites[site].kind);
}

static void clear(struct select_row *row)
{
        row->allocs = row->alloc_bytes = row->frees = row->live_blocks = row->live_bytes = 0;
}

static void keep(struct select_row *rows, const struct profile *p, uint32_t site, uint64_t bytes)
{
        if (!site || site >= p->site_count || is_heap(p, site))
                return;
        rows[site].live_blocks++;
        rows[site].live_bytes += bytes;
}

/* Regions and handles that are there at the end and came after FROM. */
static void count_left(struct select_row *rows, const struct profile *p, const struct moment *from)
{
        for (uint32_t i = 1; i < p->site_count; i++)
                if (!is_heap(p, i))
                        rows[i].live_blocks = rows[i].live_bytes = 0;
        for (uint32_t i = 0; i < p->region_count; i++)
                if (p->regions[i].birth_ms >= from->ms)
                        keep(rows, p, p->regions[i].site, p->regions[i].end - p->regions[i].start);
        for (uint32_t i = 0; i < p->handle_count; i++)
                if (p->handles[i].birth_ms >= from->ms)
                        keep(rows, p, p->handles[i].site, p->handles[i].amount);
        for (uint32_t i = 1; i < p->site_count; i++)
                if (!is_heap(p, i))
                        rows[i].frees = rows[i].allocs > rows[i].live_blocks
                                                ? rows[i].allocs - rows[i].live_blocks
                                                : 0;
}

void survivors_count(struct select_row *rows, const struct profile *p, const struct moment *from,
                     const struct moment *to)
{
        uint32_t first = p->marks[from->mark].era,
                 end = to->type == MOMENT_END ? UINT32_MAX : p->marks[to->mark].era;
        struct packed_walk w;

        for (uint32_t i = 1; i < p->site_count; i++)
                if (is_heap(p, i))
                        clear(&rows[i]);
        if (to->type == MOMENT_END)
                count_left(rows, p, from);
        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *b = w.block;

                if (is_heap(p, b->site) && b->birth_ms >= from->ms && b->birth_ms < to->ms)
                        add(&rows[b->site], profile_block_times(p, b),
                            profile_block_times(p, b) * b->size, true);
        }
        packed_close(&w);
        for (uint32_t i = 0; i < p->death_count; i++) {
                const struct profile_death *d = &p->deaths[i];

                if (is_heap(p, d->site) && d->birth >= first && d->birth < end)
                        add(&rows[d->site], d->blocks, d->bytes, d->death >= end);
        }
}
