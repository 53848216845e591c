/* SPDX-License-Identifier: MIT */
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
static void add(struct profile_change *sum, struct profile_change *one,
                const struct profile_change *news)
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
                uint32_t number = news->site < c->profile->site_count ? c->number[news->site]
                                                                      : COURSE_NONE;

                if (number == COURSE_NONE)
                        continue;
                add(&c->sums[number], &c->each[news->site], news);
                if (!c->sums[number].reserved)
                        c->changed[c->changed_count++] = number;
                c->sums[number].reserved = 1;
        }
}

uint32_t *course_samples(const struct stack_costs *s)
{
        const struct profile *p = s->profile;
        uint32_t *number = heap_zero(p->site_count, sizeof *number),
                 *of_leader = heap_zero(p->site_count, sizeof *of_leader);
        uint8_t *chosen = select_sites(s->sel, &s->sel->heap);

        for (uint32_t i = 0; i < s->sel->heap.count; i++)
                of_leader[s->sel->heap.rows[i].site] = s->sample_of[s->ends[i]] - 1;
        for (uint32_t i = 0; i < p->site_count; i++)
                number[i] = chosen[i] ? of_leader[s->sel->leaders[i]] : COURSE_NONE;
        free(of_leader);
        free(chosen);
        return number;
}

/* ---- the part of a run that --at and --range choose, for formats of what happened over time
 * ---- */

static bool is_own(const struct profile *p, const struct moment *m)
{
        return m->type == MOMENT_MARK && p->marks[m->mark].era;
}

/* How many slices are not later than M. */
static uint32_t slices_until(const struct profile *p, const struct moment *m)
{
        uint32_t count = 0;

        if (m->type == MOMENT_START)
                return 0;
        if (m->type == MOMENT_PEAK)
                return profile_slices_before_peak(p);
        if (m->type == MOMENT_MARK && p->marks[m->mark].slice < p->slice_count)
                return p->marks[m->mark].slice + 1;
        if (m->type == MOMENT_NONE || m->type == MOMENT_END)
                return p->slice_count;
        while (count < p->slice_count && p->slices[count].ms <= m->ms)
                count++;
        return count;
}

/* Marks of the program have a place before or after the peak; between other slices it
 * is told by milliseconds. */
static bool peak_is_inside(const struct course_span *s, const struct profile *p,
                           const struct moment *from, const struct moment *to)
{
        uint64_t ms = p->totals.peak_ms;
        bool after = !s->first ||
                     (s->peak >= s->first && (is_own(p, from) || p->slices[s->first - 1].ms < ms));

        if (s->to_end || s->to_peak)
                return after;
        return after && s->peak < s->last && (is_own(p, to) || ms < p->slices[s->last - 1].ms);
}

bool span_make(struct course_span *s, const struct export_input *in, struct err *e)
{
        const struct profile *p = in->profile;
        const struct moment none = { .type = MOMENT_NONE };
        bool range = in->request && in->request->from.type != MOMENT_NONE;
        const struct moment *from = range ? &in->request->from : &none,
                            *to = range         ? &in->request->to
                                  : in->request ? &in->request->at
                                                : &none;
        uint64_t end = profile_end_ms(p);

        *s = (struct course_span){ .to_end = to->type == MOMENT_NONE || to->type == MOMENT_END,
                                   .to_peak = to->type == MOMENT_PEAK };
        s->first = range ? slices_until(p, from) : 0;
        s->last = slices_until(p, to);
        if (s->first > s->last) /* of one millisecond */
                s->first = s->last;
        s->from_ms = range && from->ms < end ? from->ms : range ? end : 0;
        s->to_ms = s->to_peak ? profile_peak_ms(p) : s->to_end || to->ms > end ? end : to->ms;
        s->whole = s->to_end && (!range || from->type == MOMENT_START);
        s->peak = profile_slices_before_peak(p);
        s->has_peak = peak_is_inside(s, p, from, to);
        if (!s->last && (to->type == MOMENT_TIME || to->type == MOMENT_MARK))
                return err_set(e, ERR_EXIT_USAGE,
                               "the recording has no time slice that early (the first is at %llu "
                               "ms)", p->slice_count ? (unsigned long long)p->slices[0].ms : 0ull);
        return true;
}

uint32_t span_largest(const struct course_span *s, const struct profile *p)
{
        uint32_t largest = profile_detail(p, s->first ? s->first - 1 : 0);

        for (uint32_t i = largest + 1; i < s->last; i++)
                if (!(p->slices[i].flags & PROFILE_SLICE_TOTALS) &&
                    p->slices[i].live_bytes > p->slices[largest].live_bytes)
                        largest = i;
        return largest;
}

uint64_t span_ms(const struct course_span *s, const struct profile *p, uint32_t i)
{
        return i < s->last ? p->slices[i].ms : s->to_ms;
}
