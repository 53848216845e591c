/* SPDX-License-Identifier: MIT */
/*
 * maps.c -- what the program mapped and unmapped by itself: regions of the ledger.
 *
 * Cost:   all regions are looked at for each change: some ns each.
 */
#include "breakpoint/maps.h"

#include <sys/mman.h>

#include "base/page.h"
#include "book/count.h"
#include "breakpoint/entries.h"
#include "breakpoint/parts.h"

static struct ledger_region *regions(struct target *t)
{
        return book_part(&t->book, LEDGER_REGIONS);
}

static uint64_t page_up(uint64_t size)
{
        return (size + page_bytes() - 1) & ~(page_bytes() - 1);
}

static bool insert(struct target *t, const struct ledger_region *r)
{
        struct ledger_head *h = t->book.head;
        uint32_t i = 0;

        while (i < h->region_count && regions(t)[i].end)
                i++;
        if (i == h->region_count) {
                if (!book_commit(&t->book, LEDGER_REGIONS, (i + 1ull) * sizeof *r)) {
                        h->regions_not_kept++;
                        h->lost_events++;
                        return false;
                }
                h->region_count++;
        }
        count_region(&regions(t)[i], r);
        return true;
}

/* Cut [FIRST, SECOND) out of region I. */
static void cut(struct task *t, uint32_t i, uint64_t first, uint64_t second)
{
        struct target *g = t->target;
        struct ledger_region *r = &regions(g)[i], tail = *r;
        uint64_t start = first > r->start ? first : r->start;
        uint64_t end = second < r->end ? second : r->end;
        bool head_left = start > r->start, tail_left = end < r->end;
        struct ledger_counter *c = book_counter(&g->book, &t->writer, r->site);

        if (c)
                count_unmap(&g->book, c, end - start,
                            !head_left && !tail_left && !(r->flags & LEDGER_REGION_PIECE));
        if (head_left) {
                __atomic_store_n(&r->end, start, __ATOMIC_RELEASE);
                tail.start = end;
                tail.flags |= LEDGER_REGION_PIECE;
                if (tail_left)
                        insert(g, &tail);
        } else {
                __atomic_store_n(tail_left ? &r->start : &r->end, tail_left ? end : 0,
                                 __ATOMIC_RELEASE);
        }
}

void maps_unmapped(struct task *t, uint64_t start, uint64_t size)
{
        struct target *g = t->target;
        uint64_t end = start + page_up(size);
        uint32_t count = g->book.head->region_count;

        if (start % page_bytes() || end <= start)
                return;
        for (uint32_t i = 0; i < count; i++)
                if (regions(g)[i].end > start && regions(g)[i].start < end)
                        cut(t, i, start, end);
}

static void add(struct task *t, uint64_t start, uint64_t size, uint32_t kind)
{
        struct target *g = t->target;
        struct book *k = &g->book;
        struct ledger_region r = { .start = start, .end = start + page_up(size),
                                   .birth_ms = book_now_ms(k), .thread = t->writer.record };
        struct ledger_counter *c;
        const struct code *from = codes_find(g, arch_pc(&t->registers) - 1);

        t->writer.last = 0;
        if (from && from->omitted) {
                t->writer.slot->omitted_maps++;
                t->writer.slot->omitted_map_bytes += page_up(size);
                return;
        }
        r.site = walk_site(t, kind);
        c = r.site ? book_counter(k, &t->writer, r.site) : NULL;
        if (c && insert(g, &r))
                count_map(k, c, r.end - r.start);
}

void maps_mapped(struct task *t, uint64_t result)
{
        const uint64_t *a = t->call.arguments;

        if (result == (uint64_t)MAP_FAILED)
                return;
        if (entries[t->call.entry].does == DOES_MAP) {
                maps_unmapped(t, result, a[1]);
                add(t, result, a[1], LEDGER_KIND_MMAP);
                return;
        }
        if (a[1])
                maps_unmapped(t, a[0], a[1]);
        maps_unmapped(t, result, a[2]);
        add(t, result, a[2], LEDGER_KIND_MREMAP);
}
