/* SPDX-License-Identifier: MIT */
/*
 * scan_merge.c -- what a search found just before the end of a process, put into the recording of that end.
 *
 * Room:   outside.
 */
#include "scan/scan_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "collect/collect.h"
#include "profile/packed.h"

static bool comes_before(const struct profile_block *a, const struct profile_block *b)
{
        return a->address < b->address || (a->address == b->address && a->size > b->size);
}

static bool is_same(const struct profile_block *a, const struct profile_block *b)
{
        return a->address == b->address && a->size == b->size && a->birth_ms == b->birth_ms;
}

/* By block of ONE: 1 + the same block in P; 0: it is gone. */
static uint32_t *match_blocks(const struct profile *one, const struct profile *p)
{
        uint32_t *map = heap_zero(one->block_count, sizeof *map);
        struct packed_walk w, other;
        bool more;

        packed_open(&w, one);
        packed_open(&other, p);
        more = packed_next(&other);
        while (packed_next(&w)) {
                while (more && comes_before(other.block, w.block))
                        more = packed_next(&other);
                if (more && is_same(other.block, w.block)) {
                        map[w.index] = (uint32_t)other.index + 1;
                        more = packed_next(&other);
                }
        }
        packed_close(&w);
        packed_close(&other);
        return map;
}

static uint32_t same_module(const struct profile *one, const struct profile *p, uint32_t module)
{
        const struct profile_module *m = module < one->module_count ? &one->modules[module] : NULL;

        for (uint32_t i = 0; m && i < p->module_count; i++) /* addresses of what was found are those of that time */
                if (p->modules[i].start == m->start && p->modules[i].bias == m->bias && strcmp(p->modules[i].path, m->path) == 0)
                        return i;
        return PROFILE_NO_MODULE;
}

static uint32_t same_region(const struct profile *one, const struct profile *p, uint32_t region)
{
        const struct profile_region *r = region && region <= one->region_count ? &one->regions[region - 1] : NULL;
        uint32_t i = r ? collect_regions_up_to(p, r->start) : 0;

        return i && p->regions[i - 1].start == r->start ? i : 0;
}

/* The map keeps the order. */
static void move_verdicts(const struct profile *one, const uint32_t *map, struct profile *p)
{
        static const struct profile_verdict none = { .leak = PROFILE_LEAK_REACHABLE };
        struct packer *verdicts = packer_verdicts(p);
        struct packed_walk w;
        uint64_t made = 0;

        packed_open(&w, one);
        while (packed_next(&w)) {
                struct profile_verdict v = *w.verdict;

                if (!map[w.index])
                        continue;
                for (; made + 1 < map[w.index]; made++)
                        packer_add(verdicts, &none);
                v.head = v.head && v.head <= one->block_count ? map[v.head - 1] : 0;
                packer_add(verdicts, &v);
                made++;
        }
        for (; made < p->block_count; made++)
                packer_add(verdicts, &none);
        packed_close(&w);
        packer_end(verdicts, p);
}

static void move_contents(struct profile *one, const uint32_t *map, struct profile *p)
{
        p->contents = one->contents;
        one->contents = NULL;
        for (uint32_t i = 0; i < one->content_count; i++)
                if (map[p->contents[i].block]) {
                        p->contents[p->content_count] = p->contents[i];
                        p->contents[p->content_count++].block = map[p->contents[i].block] - 1;
                }
        one->content_count = 0;
}

static void move_roots(struct profile *one, struct profile *p)
{
        p->roots = one->roots;
        p->root_count = one->root_count;
        p->frames = one->frames;
        p->frame_count = one->frame_count;
        one->roots = NULL;
        one->frames = NULL;
        one->root_count = one->frame_count = 0;
        for (uint32_t i = 0; i < p->root_count; i++) {
                p->roots[i].module = same_module(one, p, p->roots[i].module);
                p->roots[i].region = same_region(one, p, p->roots[i].region);
        }
        for (uint32_t i = 0; i < p->frame_count; i++)
                p->frames[i].module = same_module(one, p, p->frames[i].module);
}

/* The map keeps the order, so what was sorted stays so. */
static void move_pointers(struct profile *one, const uint32_t *map, struct profile *p)
{
        p->holds = one->holds;
        p->pointers = one->pointers;
        one->holds = NULL;
        one->pointers = NULL;
        for (uint64_t i = 0; i < one->hold_count; i++)
                if (map[p->holds[i].to]) {
                        p->holds[p->hold_count] = p->holds[i];
                        p->holds[p->hold_count++].to = map[p->holds[i].to] - 1;
                }
        for (uint64_t i = 0; i < one->pointer_count; i++)
                if (map[p->pointers[i].from] && map[p->pointers[i].to]) {
                        struct profile_pointer l = p->pointers[i];

                        l.from = map[l.from] - 1;
                        l.to = map[l.to] - 1;
                        p->pointers[p->pointer_count++] = l;
                }
        one->hold_count = one->pointer_count = 0;
}

void scan_merge(struct profile *scanned, struct profile *p)
{
        uint32_t *map = match_blocks(scanned, p);

        if (scanned->verdict_count == scanned->block_count) {
                move_verdicts(scanned, map, p);
                move_contents(scanned, map, p);
                move_roots(scanned, p);
                move_pointers(scanned, map, p);
        }
        p->scans = scanned->scans;
        p->scan_count = scanned->scan_count;
        scanned->scans = NULL;
        scanned->scan_count = 0;
        free(map);
        profile_free(scanned);
}
