/* SPDX-License-Identifier: MIT */
#include "collect/slices.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/heap.h"

#define SLICES_STORE_NS 50u /* what a change will cost when it is written to the file */

void slices_free(struct slices *s)
{
        for (uint32_t i = 0; i < s->mark_count; i++)
                free(s->mark[i].label);
        free(s->mark);
        free(s->slice);
        free(s->marked);
        free(s->change);
        slices_sites_free(s->sites);
        free(s->sites);
        *s = (struct slices){ 0 };
}

bool slices_due(const struct slices *s, uint64_t now_ms)
{
        return now_ms >= s->next_ms;
}

uint64_t slices_step_ms(const struct slices *s, uint64_t now_ms)
{
        uint64_t beginning = now_ms / SLICES_BEGINNING + 1;

        return beginning < s->interval_ms ? beginning : s->interval_ms;
}

/* ---- thinning ---- */

/* Changes A[0..n) then B[0..m), both by rising site, become one list in which B wins.  OUT
 * may begin at A or below. */
static uint32_t merge_changes(const struct profile_change *a, uint32_t n,
                              const struct profile_change *b, uint32_t m,
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

static bool has_detail(const struct profile_slice *s)
{
        return !(s->flags & PROFILE_SLICE_TOTALS);
}

/* What becomes of a slice. */
enum fate { STAYS, TOTALS_ONLY, DROPPED };

/* Every second one of those without a mark is dropped; of two that which tells of
 * sites stays.  Never the last. */
static void choose_dropped(const struct slices *s, uint8_t *fate)
{
        uint32_t before = UINT32_MAX; /* the first of two */

        for (uint32_t i = 0; i + 1 < s->slice_count; i++) {
                if (s->marked[i])
                        continue;
                if (before == UINT32_MAX) {
                        before = i;
                        continue;
                }
                fate[has_detail(&s->slice[before]) || !has_detail(&s->slice[i]) ? i : before] =
                        DROPPED;
                before = UINT32_MAX;
        }
}

/* Every second one of those that tell of sites and have no mark.  Never the last. */
static void choose_totals(const struct slices *s, uint8_t *fate)
{
        uint32_t nth = 0;

        for (uint32_t i = 0; i < s->last_detail; i++)
                if (!s->marked[i] && has_detail(&s->slice[i]) && nth++ % 2 == 1)
                        fate[i] = TOTALS_ONLY;
}

/* Apply FATE.  Changes of a slice that loses them become changes of the next one that tells of
 * sites. */
static void thin(struct slices *s, const uint8_t *fate)
{
        struct profile_change *merged = heap_zero(s->change_count, sizeof *merged);
        uint32_t *place = heap_zero(s->slice_count, sizeof *place);
        uint32_t slices = 0, changes = 0, carried = 0, carried_first = 0;

        s->marked_changes = 0;
        for (uint32_t i = 0; i < s->slice_count; i++) {
                struct profile_slice one = s->slice[i];

                if (has_detail(&one) && fate[i] != STAYS) {
                        carried = one.change_count;
                        carried_first = one.change_first;
                        one.flags |= PROFILE_SLICE_TOTALS;
                        one.change_count = 0;
                } else if (has_detail(&one)) {
                        one.change_count = merge_changes(s->change + carried_first, carried,
                                                         s->change + one.change_first,
                                                         one.change_count, merged + changes);
                        carried = 0;
                        s->last_detail = slices;
                }
                if (fate[i] == DROPPED)
                        continue;
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
}

static void thin_changes(struct slices *s)
{
        uint8_t *fate = heap_zero(s->slice_count, sizeof *fate);

        choose_totals(s, fate);
        thin(s, fate);
        s->detail_ms *= 2;
        free(fate);
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

/* Whether there is anything left that could lose its changes. */
static bool can_lose_changes(const struct slices *s)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < s->last_detail; i++)
                count += !s->marked[i] && has_detail(&s->slice[i]);
        return count > 1;
}

static void keep_bounds(struct slices *s)
{
        while (s->marked_changes / SLICES_MARKED_SHARE > s->changes_max && s->mark_count > 1)
                lose_marks(s);
        while (s->slice_count - s->marked_slices > s->slices_max) {
                uint8_t *fate = heap_zero(s->slice_count, sizeof *fate);

                choose_dropped(s, fate);
                fate[s->last_detail] = STAYS;
                thin(s, fate);
                s->interval_ms *= 2;
                free(fate);
        }
        while (s->change_count - s->marked_changes > s->changes_max && can_lose_changes(s))
                thin_changes(s);
}

/* ---- cutting ---- */

static uint64_t not_negative(uint64_t n)
{
        return (int64_t)n < 0 ? 0 : n;
}

static void add_change(struct slices *s, uint32_t site)
{
        struct profile_change now = s->sites->sum[site];

        now.site = site;
        now.live_blocks = not_negative(now.live_blocks);
        now.live_bytes = not_negative(now.live_bytes);
        if (s->change_count == s->change_room) {
                s->change_room = s->change_room ? s->change_room * 2 : 256;
                s->change = heap_grow(s->change, s->change_room, sizeof *s->change);
        }
        s->change[s->change_count++] = now;
}

static uint64_t cpu_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* When the next cut is due after one at NOW_MS: not before INTERVAL_MS, and so that cuts take a
 * small share of the time. */
static uint64_t next_after(uint64_t now_ms, uint64_t interval_ms, uint64_t cost_ns)
{
        uint64_t wait_ms = cost_ns * SLICES_COST_SHARE / 1000000u;

        return now_ms + (wait_ms > interval_ms ? wait_ms : interval_ms);
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

static uint64_t smooth(uint64_t before, uint64_t now)
{
        return (3 * before + now) / 4;
}

/* The sites of the slice NOW, if it is time for that. */
static void take_sites(struct slices *s, const struct view *v, struct profile_slice *now,
                       bool whole)
{
        uint64_t begin_ns = cpu_ns();

        now->change_first = s->change_count;
        if (!whole && s->slice_count && now->ms < s->detail_next_ms) {
                now->flags = PROFILE_SLICE_TOTALS;
                return;
        }
        slices_read_sites(s->sites, v, whole || !s->slice_count);
        /* By rising site. */
        for (uint32_t i = 0; i * 64 < s->sites->count; i++) {
                for (uint64_t bits = s->sites->changed[i]; bits; bits &= bits - 1)
                        add_change(s, i * 64 + (uint32_t)__builtin_ctzll(bits));
                s->sites->changed[i] = 0;
        }
        now->change_count = s->change_count - now->change_first;
        s->last_detail = s->slice_count;
        s->detail_cost_ns = smooth(s->detail_cost_ns,
                                   cpu_ns() - begin_ns + now->change_count * SLICES_STORE_NS);
        s->detail_next_ms = next_after(now->ms, s->detail_ms, s->detail_cost_ns);
}

static void take(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes,
                 bool whole)
{
        struct profile_slice now = { .ms = now_ms, .rss_bytes = rss_bytes };
        uint64_t begin_ns = cpu_ns();

        if (!s->slice) {
                s->interval_ms = SLICES_INTERVAL_MS;
                s->detail_ms = SLICES_DETAIL_MS;
                s->sites = heap_zero(1, sizeof *s->sites);
                if (!s->slices_max)
                        s->slices_max = SLICES_MAX;
                if (!s->changes_max)
                        s->changes_max = SLICES_CHANGES_MAX;
        }
        if (s->slice_count && now_ms < s->slice[s->slice_count - 1].ms)
                now.ms = s->slice[s->slice_count - 1].ms;
        slices_read_totals(s->sites, v, &now);
        s->cost_ns = smooth(s->cost_ns, cpu_ns() - begin_ns);
        take_sites(s, v, &now, whole);
        if (s->slice_count == s->slice_room) {
                s->slice_room = s->slice_room ? s->slice_room * 2 : s->slices_max + 1;
                s->slice = heap_grow(s->slice, s->slice_room, sizeof *s->slice);
                s->marked = heap_grow(s->marked, s->slice_room, sizeof *s->marked);
        }
        s->marked[s->slice_count] = false;
        s->slice[s->slice_count++] = now;
}

static void finish(struct slices *s, uint64_t now_ms)
{
        keep_bounds(s);
        s->next_ms = next_after(now_ms, slices_step_ms(s, now_ms), s->cost_ns);
}

void slices_cut(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes,
                bool whole)
{
        take(s, v, now_ms, rss_bytes, whole);
        finish(s, now_ms);
}

void slices_mark(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes,
                 struct profile_mark *marks, uint32_t count)
{
        take(s, v, now_ms, rss_bytes, true);
        for (uint32_t i = 0; i < count; i++)
                add_mark(s, &marks[i]);
        finish(s, now_ms);
}

uint64_t slices_end_ms(const struct slices *s, uint64_t ms)
{
        uint64_t slice_ms = s->slice_count ? s->slice[s->slice_count - 1].ms : 0;
        uint64_t mark_ms = s->mark_count ? s->mark[s->mark_count - 1].ms : 0;

        ms = slice_ms > ms ? slice_ms : ms;
        return mark_ms > ms ? mark_ms : ms;
}
