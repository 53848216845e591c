/* SPDX-License-Identifier: MIT */
/*
 * slices.c -- the course of a run: moments with live memory, in all and per call stack.
 *
 * Room:   outside.
 */
#include "observe/slices.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/heap.h"
#include "observe/counters.h"

#define SLICES_STORE_NS 50u /* what a change will cost when it is written to the file */
#define SLICES_WHOLE_EVERY 50u /* cuts of an idle program until its sites are read anyway */

void slices_free(struct slices *s)
{
        for (uint32_t i = 0; i < s->mark_count; i++)
                free(s->mark[i].label);
        free(s->mark);
        free(s->slice);
        free(s->marked);
        free(s->change);
        free(s->last);
        free(s->now);
        *s = (struct slices){ 0 };
}

bool slices_due(const struct slices *s, uint64_t now_ms)
{
        return now_ms >= s->next_ms;
}

/* ---- thinning ---- */

/* Changes A[0..n) then B[0..m), both by rising site, become one list in which B wins.  OUT may begin at A or below. */
static uint32_t merge_changes(const struct profile_change *a, uint32_t n, const struct profile_change *b, uint32_t m,
                              struct profile_change *out)
{
        uint32_t i = 0, k = 0, count = 0;

        while (i < n || k < m) {
                if (k == m || (i < n && a[i].site < b[k].site)) {
                        out[count++] = a[i++];
                } else {
                        i += i < n && a[i].site == b[k].site;
                        out[count++] = b[k++];
                }
        }
        return count;
}

/* Every second one of those without a mark, but never the last. */
static bool is_dropped(const struct slices *s, uint32_t i, uint32_t *unmarked)
{
        return !s->marked[i] && (*unmarked)++ % 2 == 1 && i + 1 < s->slice_count;
}

/* Drop every second slice; what changed in it is kept as a change of the one that follows. */
static void thin(struct slices *s)
{
        struct profile_change *merged = heap_zero(s->change_count, sizeof *merged);
        uint32_t *place = heap_zero(s->slice_count, sizeof *place);
        uint32_t slices = 0, changes = 0, unmarked = 0;

        s->marked_changes = 0;
        for (uint32_t i = 0; i < s->slice_count; i++) {
                struct profile_slice one = s->slice[i];
                uint32_t carried = 0, carried_first = 0;

                if (is_dropped(s, i, &unmarked)) {
                        carried = one.change_count;
                        carried_first = one.change_first;
                        one = s->slice[++i];
                        unmarked += !s->marked[i];
                }
                one.change_count = merge_changes(s->change + carried_first, carried, s->change + one.change_first,
                                                 one.change_count, merged + changes);
                one.change_first = changes;
                changes += one.change_count;
                s->marked_changes += s->marked[i] ? one.change_count : 0;
                place[i] = slices;
                s->marked[slices] = s->marked[i];
                s->slice[slices++] = one;
        }
        for (uint32_t i = 0; i < s->mark_count; i++)
                s->mark[i].slice = place[s->mark[i].slice];
        free(place);
        free(s->change);
        s->change = merged;
        s->change_room = s->change_count ? s->change_count : 1;
        s->change_count = changes;
        s->slice_count = slices;
        s->interval_ms *= 2;
}

static bool has_tags(const struct slices *s)
{
        for (uint32_t i = 0; i < s->mark_count; i++)
                if (!s->mark[i].seq)
                        return true;
        return false;
}

/* Recount what belongs to slices with marks. */
static void find_marked(struct slices *s)
{
        memset(s->marked, 0, s->slice_count * sizeof *s->marked);
        s->marked_slices = s->marked_changes = 0;
        for (uint32_t i = 0; i < s->mark_count; i++) {
                uint32_t slice = s->mark[i].slice;

                if (s->marked[slice])
                        continue;
                s->marked[slice] = true;
                s->marked_slices++;
                s->marked_changes += s->slice[slice].change_count;
        }
}

/* Forget every second tag, or every second snapshot when there is nothing else. */
static void lose_marks(struct slices *s)
{
        bool tags = has_tags(s);
        uint32_t kept = 0, nth = 0;

        for (uint32_t i = 0; i < s->mark_count; i++) {
                if ((tags && s->mark[i].seq) || nth++ % 2 == 1) {
                        s->mark[kept++] = s->mark[i];
                        continue;
                }
                free(s->mark[i].label);
                s->marks_lost++;
        }
        s->mark_count = kept;
        find_marked(s);
}

static bool is_too_much(const struct slices *s)
{
        uint32_t slices = s->slice_count - s->marked_slices, changes = s->change_count - s->marked_changes;

        return slices > s->slices_max || (changes > s->changes_max && slices > 3);
}

static void keep_bounds(struct slices *s)
{
        while (s->marked_changes / SLICES_MARKED_SHARE > s->changes_max && s->mark_count > 1)
                lose_marks(s);
        while (is_too_much(s))
                thin(s);
}

/* ---- cutting ---- */

struct sums {
        struct profile_change *site;
        uint32_t count;
};

/* Live numbers may go below zero between the two halves of an event; they are put right in compare(). */
static void add_chunk(void *context, uint32_t slot, uint32_t first, const struct ledger_counter *c, uint32_t count)
{
        struct sums *sums = context;

        (void)slot;
        for (uint32_t i = 0; i < count && first + i < sums->count; i++) {
                struct profile_change *to = &sums->site[first + i];

                to->allocs += c[i].allocs;
                to->alloc_bytes += c[i].alloc_bytes;
                to->live_blocks += c[i].allocs - c[i].frees;
                to->live_bytes += c[i].alloc_bytes - c[i].free_bytes;
        }
}

static uint64_t not_negative(uint64_t n)
{
        return (int64_t)n < 0 ? 0 : n;
}

static void add_change(struct slices *s, const struct profile_change *c)
{
        s->last[c->site] = *c;
        if (s->change_count == s->change_room) {
                s->change_room = s->change_room ? s->change_room * 2 : 256;
                s->change = heap_grow(s->change, s->change_room, sizeof *s->change);
        }
        s->change[s->change_count++] = *c;
}

static void compare(struct slices *s, struct profile_change now)
{
        const struct profile_change *last = &s->last[now.site];

        now.live_blocks = not_negative(now.live_blocks);
        now.live_bytes = not_negative(now.live_bytes);
        if (now.allocs != last->allocs || now.live_blocks != last->live_blocks || now.live_bytes != last->live_bytes ||
            now.alloc_bytes != last->alloc_bytes)
                add_change(s, &now);
}

/* There is one slot only: its counters are the sums. */
static void compare_chunk(void *context, uint32_t slot, uint32_t first, const struct ledger_counter *c, uint32_t count)
{
        struct slices *s = context;

        (void)slot;
        for (uint32_t i = 0; i < count && first + i < s->last_count; i++)
                compare(s, (struct profile_change){ .site = first + i,
                                                    .allocs = c[i].allocs,
                                                    .alloc_bytes = c[i].alloc_bytes,
                                                    .live_blocks = c[i].allocs - c[i].frees,
                                                    .live_bytes = c[i].alloc_bytes - c[i].free_bytes });
}

static void compare_sums(struct slices *s, const struct view *v)
{
        struct sums now = { NULL, s->last_count };

        if (s->now_count < now.count)
                s->now = heap_grow(s->now, now.count, sizeof *s->now);
        s->now_count = now.count;
        now.site = s->now;
        if (now.count)
                memset(now.site, 0, now.count * sizeof *now.site);
        counters_each(v, add_chunk, &now);
        for (uint32_t i = 0; i < now.count; i++) {
                now.site[i].site = i;
                compare(s, now.site[i]);
        }
}

static void read_sites(struct slices *s, const struct view *v)
{
        uint32_t count = counters_sites(v);

        if (count > s->last_count)
                s->last = heap_grow(s->last, count, sizeof *s->last);
        for (; s->last_count < count; s->last_count++)
                s->last[s->last_count] = (struct profile_change){ .site = s->last_count };
        if (counters_slots(v) == 1)
                counters_each(v, compare_chunk, s);
        else
                compare_sums(s, v);
        s->unread_cuts = 0;
}

static void read_totals(const struct view *v, struct profile_slice *out)
{
        uint32_t slots = counters_slots(v);
        uint64_t free_bytes = 0;

        for (uint32_t i = 0; i < slots; i++) {
                struct counters_slot one;

                counters_slot(v, i, &one);
                out->allocs += one.allocs;
                out->alloc_bytes += one.alloc_bytes;
                out->frees += one.frees;
                free_bytes += one.free_bytes;
        }
        out->live_blocks = not_negative(out->allocs - out->frees);
        out->live_bytes = not_negative(out->alloc_bytes - free_bytes);
}

static uint64_t cpu_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void plan_next(struct slices *s, uint64_t now_ms)
{
        uint64_t wait_ms = s->cost_ns * SLICES_COST_SHARE / 1000000u;

        s->next_ms = now_ms + (wait_ms > s->interval_ms ? wait_ms : s->interval_ms);
}

static void start(struct slices *s)
{
        s->interval_ms = SLICES_INTERVAL_MS;
        if (!s->slices_max)
                s->slices_max = SLICES_MAX;
        if (!s->changes_max)
                s->changes_max = SLICES_CHANGES_MAX;
}

static void add_slice(struct slices *s, const struct profile_slice *now)
{
        if (s->slice_count == s->slice_room) {
                s->slice_room = s->slice_room ? s->slice_room * 2 : s->slices_max + 1;
                s->slice = heap_grow(s->slice, s->slice_room, sizeof *s->slice);
                s->marked = heap_grow(s->marked, s->slice_room, sizeof *s->marked);
        }
        s->marked[s->slice_count] = false;
        s->slice[s->slice_count++] = *now;
}

static void add_mark(struct slices *s, const struct profile_mark *m)
{
        uint32_t slice = s->slice_count - 1;

        if (s->mark_count == LEDGER_MARKS_MAX) {
                free(m->label);
                s->marks_lost++;
                return;
        }
        if (s->mark_count == s->mark_room) {
                s->mark_room = s->mark_room ? s->mark_room * 2 : 16;
                s->mark = heap_grow(s->mark, s->mark_room, sizeof *s->mark);
        }
        s->mark[s->mark_count] = *m;
        s->mark[s->mark_count++].slice = slice;
        s->marked_slices += !s->marked[slice];
        s->marked_changes += s->marked[slice] ? 0 : s->slice[slice].change_count;
        s->marked[slice] = true;
}

static void take(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes, bool whole)
{
        struct profile_slice now = { .ms = now_ms, .rss_bytes = rss_bytes };

        if (!s->slice)
                start(s);
        if (s->slice_count && now_ms < s->slice[s->slice_count - 1].ms)
                now.ms = s->slice[s->slice_count - 1].ms;
        read_totals(v, &now);
        now.change_first = s->change_count;
        if (whole || s->slice_count == 0 || now.allocs != s->last_allocs || now.frees != s->last_frees ||
            ++s->unread_cuts >= SLICES_WHOLE_EVERY)
                read_sites(s, v);
        s->last_allocs = now.allocs;
        s->last_frees = now.frees;
        now.change_count = s->change_count - now.change_first;
        add_slice(s, &now);
}

/* The slice taken since BEGIN_NS is complete. */
static void finish(struct slices *s, uint64_t now_ms, uint64_t begin_ns)
{
        uint32_t changes = s->slice[s->slice_count - 1].change_count;

        keep_bounds(s);
        s->cost_ns = (3 * s->cost_ns + (cpu_ns() - begin_ns) + changes * SLICES_STORE_NS) / 4;
        plan_next(s, now_ms);
}

void slices_cut(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes, bool whole)
{
        uint64_t begin_ns = cpu_ns();

        take(s, v, now_ms, rss_bytes, whole);
        finish(s, now_ms, begin_ns);
}

void slices_mark(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes, struct profile_mark *marks,
                 uint32_t count)
{
        uint64_t begin_ns = cpu_ns();

        take(s, v, now_ms, rss_bytes, true);
        for (uint32_t i = 0; i < count; i++)
                add_mark(s, &marks[i]);
        finish(s, now_ms, begin_ns);
}

uint64_t slices_end_ms(const struct slices *s, uint64_t ms)
{
        uint64_t slice_ms = s->slice_count ? s->slice[s->slice_count - 1].ms : 0;
        uint64_t mark_ms = s->mark_count ? s->mark[s->mark_count - 1].ms : 0;

        ms = slice_ms > ms ? slice_ms : ms;
        return mark_ms > ms ? mark_ms : ms;
}
