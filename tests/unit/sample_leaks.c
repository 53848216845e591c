/* SPDX-License-Identifier: MIT */
/*
 * sample_leaks.c -- made-up searches for leaks for sample.c: none, one that failed, one without a
 * graph, one with.
 */
#include <string.h>

#include "base/heap.h"
#include "sample.h"

static uint32_t below(uint64_t *r, uint64_t limit)
{
        return limit ? (uint32_t)(sample_random(r) % limit) : 0;
}

static uint64_t number(uint64_t *r)
{
        return sample_random(r) >> below(r, 64);
}

static void fill_scan(struct profile *p, uint64_t *r, bool failed)
{
        p->scan_count = 1;
        p->scans = heap_zero(1, sizeof *p->scans);
        *p->scans = (struct profile_scan){ number(r),
                                           below(r, PROFILE_SCAN_SIGNAL + 1),
                                           below(r, 1 << 8) & ~PROFILE_SCAN_GRAPH,
                                           (uint32_t)number(r),
                                           (uint32_t)number(r),
                                           number(r),
                                           number(r),
                                           number(r),
                                           number(r),
                                           heap_text(failed ? "it went away" : ""),
                                           heap_text(below(r, 2) ? "leak:known\nleak:other\n" : ""),
                                           number(r), number(r) };
}

static void fill_verdicts(struct profile *p, uint64_t *r)
{
        uint32_t head = 0;

        p->verdict_count = p->block_count;
        p->verdicts = heap_zero(p->verdict_count, sizeof *p->verdicts);
        p->contents = heap_zero(p->verdict_count, sizeof *p->contents);
        for (uint32_t i = 0; i < p->verdict_count; i++) {
                struct profile_verdict *v = &p->verdicts[i];
                struct profile_content *c = &p->contents[p->content_count];

                *v = (struct profile_verdict){ .leak = below(r, PROFILE_LEAK_COUNT),
                                               .flags = below(r, 16),
                                               .vtable = number(r) };
                if (v->leak == PROFILE_LEAK_DEFINITE)
                        head = i + 1;
                if (v->leak == PROFILE_LEAK_INDIRECT)
                        v->head = head;
                if (v->leak < PROFILE_LEAK_INDIRECT || below(r, 2))
                        continue;
                *c = (struct profile_content){ .block = i,
                                               .bytes = below(r, PROFILE_CONTENT_BYTES + 1) };
                for (uint32_t k = 0; k < c->bytes; k++)
                        c->data[k] = (uint8_t)sample_random(r);
                p->content_count++;
        }
}

static uint32_t any_module(const struct profile *p, uint64_t *r)
{
        return p->module_count && below(r, 3) ? below(r, p->module_count) : PROFILE_NO_MODULE;
}

static void fill_roots(struct profile *p, uint64_t *r, uint32_t size)
{
        p->root_count = below(r, size);
        p->roots = heap_zero(p->root_count, sizeof *p->roots);
        for (uint32_t i = 0; i < p->root_count; i++) {
                uint64_t start = number(r) >> 1;

                p->roots[i] = (struct profile_root){ start,
                                                     start + (number(r) >> 1),
                                                     i * PROFILE_ROOT_COUNT / p->root_count,
                                                     (uint32_t)number(r),
                                                     any_module(p, r),
                                                     below(r, p->region_count + 1ull),
                                                     number(r) };
        }
        p->frame_count = below(r, size);
        p->frames = heap_zero(p->frame_count, sizeof *p->frames);
        for (uint32_t i = 0; i < p->frame_count; i++) {
                uint64_t low = number(r) >> 1;

                p->frames[i] = (struct profile_frame){ low,
                                                       low + (number(r) >> 1),
                                                       number(r),
                                                       (uint32_t)number(r),
                                                       any_module(p, r),
                                                       below(r, 2),
                                                       0 };
        }
}

static void fill_pointers(struct profile *p, uint64_t *r, uint32_t size)
{
        uint64_t at = number(r) >> 1;

        p->hold_count = p->root_count && p->block_count ? below(r, size) : 0;
        p->holds = heap_zero(p->hold_count, sizeof *p->holds);
        for (uint64_t i = 0; i < p->hold_count; i++)
                p->holds[i] = (struct profile_hold){ at += below(r, 1 << 20),
                                                     (uint32_t)(i * p->root_count / p->hold_count),
                                                     below(r, p->block_count), below(r, 4), 0 };
        p->pointer_count = p->block_count ? below(r, 2ull * size) : 0;
        p->pointers = heap_zero(p->pointer_count, sizeof *p->pointers);
        for (uint64_t i = 0; i < p->pointer_count; i++)
                p->pointers[i] = (struct profile_pointer){
                        at += below(r, 1 << 10), (uint32_t)(i * p->block_count / p->pointer_count),
                        below(r, p->block_count), below(r, 4), 0
                };
}

void sample_fill_leaks(struct profile *p, uint64_t *state, uint32_t size)
{
        enum { NONE, FAILED, VERDICTS, GRAPH, COUNT };
        uint32_t what = below(state, COUNT);

        if (what == NONE)
                return;
        fill_scan(p, state, what == FAILED);
        if (what == FAILED)
                return;
        fill_verdicts(p, state);
        if (what == VERDICTS)
                return;
        p->scans[0].flags |= PROFILE_SCAN_GRAPH;
        fill_roots(p, state, size);
        fill_pointers(p, state, size);
}

static bool same_scan(const struct profile_scan *a, const struct profile_scan *b)
{
        return a->ms == b->ms && a->when == b->when && a->flags == b->flags &&
               a->threads == b->threads && a->roots == b->roots && a->pause_us == b->pause_us &&
               a->scan_us == b->scan_us && a->root_bytes == b->root_bytes &&
               a->heap_bytes == b->heap_bytes && a->gone == b->gone && a->unseen == b->unseen &&
               !strcmp(a->trouble, b->trouble) && !strcmp(a->suppressions, b->suppressions);
}

const char *sample_leaks_difference(const struct profile *a, const struct profile *b)
{
        if (a->scan_count != b->scan_count || (a->scan_count && !same_scan(a->scans, b->scans)))
                return "a scan";
        if (SAMPLE_DIFFERS(verdicts, verdict_count))
                return "a verdict";
        if (SAMPLE_DIFFERS(contents, content_count))
                return "contents";
        if (SAMPLE_DIFFERS(roots, root_count))
                return "a root";
        if (SAMPLE_DIFFERS(frames, frame_count))
                return "a frame";
        if (SAMPLE_DIFFERS(holds, hold_count))
                return "a hold";
        return SAMPLE_DIFFERS(pointers, pointer_count) ? "a pointer" : NULL;
}

static uint64_t touch_module(const struct profile *p, uint32_t module)
{
        return module == PROFILE_NO_MODULE ? 0 : p->modules[module].start;
}

uint64_t sample_leaks_touch(const struct profile *p)
{
        uint64_t sum = p->scan_count
                               ? strlen(p->scans[0].trouble) + strlen(p->scans[0].suppressions)
                               : 0;

        for (uint64_t i = 0; i < p->verdict_count; i++) {
                const struct profile_verdict *v = &p->verdicts[i];

                sum += strlen(profile_leak_word(v->leak)) + p->blocks[i].size +
                       (v->head ? p->blocks[v->head - 1].size : 0);
        }
        for (uint32_t i = 0; i < p->content_count; i++)
                for (uint32_t k = 0; k < p->contents[i].bytes; k++)
                        sum += p->contents[i].data[k] + p->blocks[p->contents[i].block].size;
        for (uint32_t i = 0; i < p->root_count; i++)
                sum += touch_module(p, p->roots[i].module) +
                       (p->roots[i].region ? p->regions[p->roots[i].region - 1].end : 0);
        for (uint32_t i = 0; i < p->frame_count; i++)
                sum += touch_module(p, p->frames[i].module);
        for (uint64_t i = 0; i < p->hold_count; i++)
                sum += p->roots[p->holds[i].from].end + p->blocks[p->holds[i].to].size;
        for (uint64_t i = 0; i < p->pointer_count; i++)
                sum += p->blocks[p->pointers[i].from].size + p->blocks[p->pointers[i].to].size;
        return sum;
}
