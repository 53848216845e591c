/* SPDX-License-Identifier: MIT */
/*
 * course.c -- what stacks held over time, moment after moment.
 *
 * Room:   outside.
 */
#include "export/course.h"

#include <stdlib.h>

#include "base/heap.h"

void course_start(struct course *c, const struct profile *p, uint32_t *number, uint32_t count)
{
        *c = (struct course){ .profile = p, .number = number, .count = count };
        c->each = heap_zero(p->site_count, sizeof *c->each);
        c->sums = heap_zero(count, sizeof *c->sums);
        c->changed = heap_zero(count, sizeof *c->changed);
}

void course_free(struct course *c)
{
        free(c->each);
        free(c->sums);
        free(c->changed);
}

/* NEWS of one site, in the sum of all that are one. */
static void add(struct profile_change *sum, struct profile_change *one, const struct profile_change *news)
{
        sum->live_bytes += news->live_bytes - one->live_bytes;
        sum->live_blocks += news->live_blocks - one->live_blocks;
        sum->allocs += news->allocs - one->allocs;
        sum->alloc_bytes += news->alloc_bytes - one->alloc_bytes;
        *one = *news;
}

void course_step(struct course *c, uint32_t slice)
{
        const struct profile_slice *s = &c->profile->slices[slice];

        for (uint32_t i = 0; i < c->changed_count; i++)
                c->sums[c->changed[i]].reserved = 0;
        c->changed_count = 0;
        for (uint32_t i = 0; i < s->change_count; i++) {
                const struct profile_change *news = &c->profile->changes[s->change_first + i];
                uint32_t number = news->site < c->profile->site_count ? c->number[news->site] : COURSE_NONE;

                if (number == COURSE_NONE)
                        continue;
                add(&c->sums[number], &c->each[news->site], news);
                if (!c->sums[number].reserved)
                        c->changed[c->changed_count++] = number;
                c->sums[number].reserved = 1;
        }
}

uint32_t *course_samples(const struct stacks *s)
{
        const struct profile *p = s->profile;
        uint32_t *number = heap_zero(p->site_count, sizeof *number), *of_leader = heap_zero(p->site_count, sizeof *of_leader);
        uint8_t *chosen = select_sites(s->sel, &s->sel->heap);

        for (uint32_t i = 0; i < s->sel->heap.count; i++)
                of_leader[s->sel->heap.rows[i].site] = s->nodes[s->ends[i]].sample - 1;
        for (uint32_t i = 0; i < p->site_count; i++)
                number[i] = chosen[i] ? of_leader[s->sel->leaders[i]] : COURSE_NONE;
        free(of_leader);
        free(chosen);
        return number;
}
