/* SPDX-License-Identifier: MIT */
/*
 * scan_merge.c -- what a search found just before the end of a process, put into the recording of that end.
 *
 * Room:   outside.
 */
#include "observe/scan_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "observe/collect.h"

/* By block of ONE: 1 + the same block in P; 0: it is gone. */
static uint32_t *match_blocks(const struct profile *one, const struct profile *p)
{
        uint32_t *map = heap_zero(one->block_count, sizeof *map);
        uint64_t j = 0;

        for (uint64_t i = 0; i < one->block_count; i++) {
                const struct profile_block *b = &one->blocks[i];

                while (j < p->block_count &&
                       (p->blocks[j].address < b->address || (p->blocks[j].address == b->address && p->blocks[j].size > b->size)))
                        j++;
                if (j < p->block_count && p->blocks[j].address == b->address && p->blocks[j].size == b->size &&
                    p->blocks[j].birth_ms == b->birth_ms)
                        map[i] = (uint32_t)++j;
        }
        return map;
}

static uint32_t same_module(const struct profile *one, const struct profile *p, uint32_t module)
{
        const struct profile_module *m = module < one->module_count ? &one->modules[module] : NULL;

        for (uint32_t i = 0; m && i < p->module_count; i++)
                if (p->modules[i].start == m->start && strcmp(p->modules[i].path, m->path) == 0)
                        return i;
        return PROFILE_NO_MODULE;
}

static uint32_t same_region(const struct profile *one, const struct profile *p, uint32_t region)
{
        const struct profile_region *r = region && region <= one->region_count ? &one->regions[region - 1] : NULL;
        uint32_t i = r ? collect_regions_up_to(p, r->start) : 0;

        return i && p->regions[i - 1].start == r->start ? i : 0;
}

static void move_verdicts(const struct profile *one, const uint32_t *map, struct profile *p)
{
        p->verdicts = heap_zero(p->block_count, sizeof *p->verdicts);
        p->verdict_count = p->block_count;
        for (uint64_t i = 0; i < p->block_count; i++)
                p->verdicts[i].leak = PROFILE_LEAK_REACHABLE;
        for (uint64_t i = 0; i < one->verdict_count; i++) {
                struct profile_verdict v = one->verdicts[i];

                if (!map[i])
                        continue;
                v.head = v.head ? map[v.head - 1] : 0;
                p->verdicts[map[i] - 1] = v;
        }
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
