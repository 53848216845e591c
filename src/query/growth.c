/* SPDX-License-Identifier: MIT */
/*
 * growth.c -- which stacks hold more and more memory.
 *
 * Cost:   one pass over the changes of all slices, leader by leader; eight bytes for each change.
 */
#include "query/growth.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/heap.h"
#include "words/text.h"

enum {
        GROWTH_WINDOWS = 8,
        GROWTH_SLICES = 16,     /* needed in all ... */
        GROWTH_LATE_SLICES = 8, /* ... and after the warm-up */
        GROWTH_RISES = 3,
        GROWTH_WARM_UP = 4,  /* a quarter of the run */
        GROWTH_LOST = 4,     /* of what was gained at most a quarter may be lost again */
        GROWTH_NOISE = 16,   /* a gain with losses is at least a sixteenth of the most */
        GROWTH_ONCE_PART = 8, /* of the run */
        GROWTH_TIDY_PART = 8,
        GROWTH_LEFT = 4 /* at most such a part of what was freed */
};

/* One leader's course. */
struct growth_course {
        uint64_t live, most;
        uint64_t least[GROWTH_WINDOWS];
        uint32_t window;                /* the last one with a least; the later ones have LIVE */
        uint64_t first_ms, last_ms;     /* of its allocations; first UINT64_MAX: none yet */
};

/* A change, and the slice that it is of. */
struct growth_place {
        uint32_t change, slice;
};

struct growth_judge {
        const struct profile *p;
        const uint32_t *leaders;
        struct growth_place *places; /* of all changes, by leader, those of one as they came */
        uint32_t *ends;              /* by leader: behind its last place */
        struct growth_before {
                uint64_t live_bytes, allocs;
        } *before;            /* by site */
        uint32_t slice_count; /* without those of tidying up at the end */
        uint64_t start_ms, end_ms, warm_ms;
        double between_s; /* the levels of the first and the last window */
};

static uint32_t judge_leader(const struct growth_judge *j, uint32_t site)
{
        return j->leaders ? j->leaders[site] : site;
}

/* -1: in the warm-up. */
static int judge_window(const struct growth_judge *j, uint64_t ms)
{
        uint64_t part = (j->end_ms - j->warm_ms) / GROWTH_WINDOWS, window;

        if (ms < j->warm_ms || !part)
                return -1;
        window = (ms - j->warm_ms) / part;
        return window < GROWTH_WINDOWS ? (int)window : GROWTH_WINDOWS - 1;
}

/* Until now it was live as before: that is the least of the windows that passed and of the one that
 * begins. */
static void course_catch_up(struct growth_course *c, int window, uint64_t live)
{
        while ((int)c->window <= window) {
                if (c->least[c->window] > live)
                        c->least[c->window] = live;
                if ((int)c->window == window)
                        break;
                c->window++;
        }
}

static void judge_change(struct growth_judge *j, struct growth_course *c, uint64_t ms,
                         const struct profile_change *now)
{
        struct growth_before *before = &j->before[now->site];

        if (now->allocs != before->allocs && ms >= j->start_ms) {
                c->last_ms = ms;
                if (c->first_ms == UINT64_MAX)
                        c->first_ms = ms;
        }
        c->live += now->live_bytes - before->live_bytes;
        *before = (struct growth_before){ now->live_bytes, now->allocs };
}

/* COUNT places of one leader, in one slice: its sum is whole only after the last of them. */
static void judge_slice(struct growth_judge *j, struct growth_course *c,
                        const struct growth_place *places, uint32_t count)
{
        uint64_t ms = j->p->slices[places->slice].ms;
        int window = judge_window(j, ms);

        course_catch_up(c, window, c->live);
        for (uint32_t i = 0; i < count; i++)
                judge_change(j, c, ms, &j->p->changes[places[i].change]);
        if (c->live > c->most && ms >= j->start_ms)
                c->most = c->live;
        course_catch_up(c, window, c->live);
}

/* What a leader did, from FIRST to END. */
static void judge_places(struct growth_judge *j, struct growth_course *c, uint32_t first,
                         uint32_t end)
{
        *c = (struct growth_course){ .first_ms = UINT64_MAX };
        for (uint32_t k = 0; k < GROWTH_WINDOWS; k++)
                c->least[k] = UINT64_MAX;
        for (uint32_t next; first < end; first = next) {
                for (next = first + 1;
                     next < end && j->places[next].slice == j->places[first].slice;)
                        next++;
                judge_slice(j, c, &j->places[first], next - first);
        }
}

/* Counts by leader become where its places begin, and then where they end. */
static void judge_sort(struct growth_judge *j)
{
        const struct profile *p = j->p;
        uint32_t sum = 0;

        for (int pass = 0; pass < 2; pass++) {
                for (uint32_t i = 0; i < j->slice_count; i++)
                        for (uint32_t k = 0; k < p->slices[i].change_count; k++) {
                                uint32_t change = p->slices[i].change_first + k,
                                         site = p->changes[change].site, *end;

                                if (!site || site >= p->site_count)
                                        continue;
                                end = &j->ends[judge_leader(j, site)];
                                if (pass)
                                        j->places[*end] = (struct growth_place){ change, i };
                                ++*end;
                        }
                if (pass)
                        break;
                for (uint32_t i = 0, here; i < p->site_count; i++, sum += here) {
                        here = j->ends[i];
                        j->ends[i] = sum;
                }
                j->places = heap_grow(NULL, sum, sizeof *j->places);
        }
}

static bool judge_can_tell(const struct growth_judge *j)
{
        uint32_t all = 0, late = 0;

        for (uint32_t i = 0; i < j->slice_count; i++) {
                if (j->p->slices[i].flags & PROFILE_SLICE_TOTALS)
                        continue;
                all += j->p->slices[i].ms >= j->start_ms;
                late += judge_window(j, j->p->slices[i].ms) >= 0;
        }
        return all >= GROWTH_SLICES && late >= GROWTH_LATE_SLICES;
}

static bool course_grows(const struct growth_course *c, uint64_t *gain)
{
        uint64_t up = 0, down = 0;
        uint32_t rises = 0, last = 0;

        for (uint32_t i = 1; i < GROWTH_WINDOWS; i++) {
                if (c->least[i] > c->least[i - 1]) {
                        up += c->least[i] - c->least[i - 1];
                        rises++;
                        last = i;
                } else {
                        down += c->least[i - 1] - c->least[i];
                }
        }
        *gain = up - down;
        if (rises < GROWTH_RISES || last < GROWTH_WINDOWS - 2 || down > up / GROWTH_LOST)
                return false;
        return !down || *gain >= c->most / GROWTH_NOISE;
}

/* When the level was seen that a course has at the beginning of WINDOW: where nobody looked for a
 * while (a process that stood still for us, a link that was down), that was earlier. */
static uint64_t judge_seen(const struct growth_judge *j, uint32_t window)
{
        uint64_t begin = j->warm_ms + (j->end_ms - j->warm_ms) * window / GROWTH_WINDOWS;
        uint64_t seen = 0;

        for (uint32_t i = 0; i < j->slice_count && j->p->slices[i].ms <= begin; i++)
                if (!(j->p->slices[i].flags & PROFILE_SLICE_TOTALS))
                        seen = j->p->slices[i].ms;
        return seen;
}

static struct growth judge_course(const struct growth_judge *j, struct growth_course *c)
{
        uint64_t gain;

        course_catch_up(c, GROWTH_WINDOWS - 1, c->live); /* it stayed as it was to the end */
        if (course_grows(c, &gain))
                return (struct growth){ GROWTH_GROWS, (double)gain / j->between_s, j->end_ms,
                                        c->live };
        if (c->first_ms == UINT64_MAX ||
            c->last_ms - c->first_ms <= (j->end_ms - j->start_ms) / GROWTH_ONCE_PART)
                return (struct growth){ .class = GROWTH_ONCE };
        return (struct growth){ .class = GROWTH_BOUNDED };
}

/* How many slices there are before the program tidies up: before the last ones in which the heap
 * does not rise, unless that takes longer than a program needs to end. */
static uint32_t judge_end(const struct profile *p)
{
        uint32_t last = p->slice_count - 1;

        while (last && p->slices[last].live_bytes <= p->slices[last - 1].live_bytes)
                last--;
        if (p->slices[p->slice_count - 1].ms - p->slices[last].ms >
            p->slices[p->slice_count - 1].ms / GROWTH_TIDY_PART)
                last = p->slice_count - 1;
        return last + 1;
}

struct growth *growth_judge(const struct profile *p, const uint32_t *leaders)
{
        return growth_judge_span(p, leaders, (struct growth_span){ 0, UINT64_MAX });
}

bool growth_was_freed(const struct profile *p, uint32_t site, const struct growth *grew)
{
        return grew->class == GROWTH_GROWS && p->meta.end != PROFILE_END_UNKNOWN &&
               p->sites[site].live_bytes <= grew->live_bytes / GROWTH_LEFT;
}

struct growth *growth_judge_span(const struct profile *p, const uint32_t *leaders,
                                 struct growth_span span)
{
        struct growth *verdicts = heap_zero(p->site_count, sizeof *verdicts);
        struct growth_judge j = { .p = p, .leaders = leaders, .start_ms = span.from_ms };

        if (!p->slice_count)
                return verdicts;
        j.slice_count = judge_end(p);
        while (j.slice_count && p->slices[j.slice_count - 1].ms > span.to_ms)
                j.slice_count--;
        if (!j.slice_count || p->slices[j.slice_count - 1].ms <= j.start_ms)
                return verdicts;
        j.end_ms = p->slices[j.slice_count - 1].ms;
        j.warm_ms = j.start_ms + (j.end_ms - j.start_ms) / GROWTH_WARM_UP;
        if (p->slices[0].ms > j.warm_ms) { /* what was there then is not known to have grown */
                j.start_ms = p->slices[0].ms;
                j.warm_ms = j.start_ms + (j.end_ms - j.start_ms) / GROWTH_WARM_UP;
        }
        if (!judge_can_tell(&j))
                return verdicts;
        j.between_s = (double)(judge_seen(&j, GROWTH_WINDOWS - 1) - judge_seen(&j, 0)) / 1000;
        j.ends = heap_zero(p->site_count, sizeof *j.ends);
        j.before = heap_zero(p->site_count, sizeof *j.before);
        judge_sort(&j);
        for (uint32_t i = 1; i < p->site_count; i++) {
                struct growth_course c;

                judge_places(&j, &c, j.ends[i - 1], j.ends[i]);
                if (!profile_is_older(p, i))
                        verdicts[i] = judge_course(&j, &c);
        }
        free(j.ends);
        free(j.before);
        free(j.places);
        return verdicts;
}

void growth_rate(double bytes_per_s, struct str *out)
{
        static const struct {
                const char *unit;
                double seconds;
        } units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 } };
        size_t i = 0;

        while (i < 2 && bytes_per_s * units[i].seconds < 10)
                i++;
        text_size(out, (int64_t)(bytes_per_s * units[i].seconds + 0.5));
        str_format(out, "/%s", units[i].unit);
}

const char *growth_word(enum growth_class class)
{
        static const char *const words[] = { [GROWTH_UNKNOWN] = "", [GROWTH_ONCE] = "once",
                                             [GROWTH_BOUNDED] = "bounded",
                                             [GROWTH_GROWS] = "grows" };

        return words[class];
}

void growth_write(const struct growth *g, struct str *out)
{
        str_text(out, growth_word(g->class));
        if (g->class != GROWTH_GROWS)
                return;
        str_char(out, ' ');
        growth_rate(g->bytes_per_s, out);
}
