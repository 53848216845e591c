/* SPDX-License-Identifier: MIT */
#include "collect/reclaim.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/counters.h"

#define RECLAIM_EVERY_MS 5000u
#define RECLAIM_SELDOM_MS 320000u
/* A ledger so much larger than half of the heap is as it should be. */
#define RECLAIM_FREE_BYTES (6u << 20)
#define RECLAIM_MORE_BYTES (2u << 20) /* a heap that has shrunk by twice as much may have left
                                       * something */
#define RECLAIM_WORTH 16u             /* it was worth it when one part in so many went */
#define RANGE_PAGES 128u
#define PAGE_ENTRIES (LEDGER_RECLAIM_PAGE / sizeof(struct ledger_block))

struct work {
        const struct view *view;
        struct ledger_head *shared;
        uint32_t limit_ms;
        struct ledger_reclaim ranges[LEDGER_RECLAIMS];
        uint32_t count;
        struct ledger_block *entries; /* of one range */
        uint64_t bytes;
};

/* Nothing lives in the page of ENTRIES, and what did is dead long enough. */
static bool is_old(const struct ledger_block *entries, uint32_t limit_ms)
{
        for (uint32_t i = 0; i < PAGE_ENTRIES; i++)
                if (entries[i].b && (LEDGER_BLOCK_LIVE(entries[i]) ||
                                     LEDGER_BLOCK_BIRTH_MS(entries[i]) >= limit_ms))
                        return false;
        return true;
}

static bool is_still_old(struct work *w, const struct ledger_reclaim *range)
{
        uint32_t pages = range->end - range->first;

        view_read(w->view, LEDGER_SHADOW, (uint64_t)range->first * LEDGER_RECLAIM_PAGE, w->entries,
                  (size_t)pages * LEDGER_RECLAIM_PAGE);
        for (uint32_t i = 0; i < pages; i++)
                if (!is_old(w->entries + i * PAGE_ENTRIES, w->limit_ms))
                        return false;
        return true;
}

/* RANGE is as it was seen: take it, unless the program was first. */
static void punch(struct work *w, const struct ledger_reclaim *range, uint32_t *state)
{
        uint64_t at = w->view->head.part[LEDGER_SHADOW].offset +
                      (uint64_t)range->first * LEDGER_RECLAIM_PAGE;
        uint64_t bytes = (uint64_t)(range->end - range->first) * LEDGER_RECLAIM_PAGE;

        if (!view_change(w->view, state, LEDGER_RECLAIM_WANTED, LEDGER_RECLAIM_TAKEN))
                return;
        if (fallocate(w->view->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
                      (off_t)bytes) == 0)
                w->bytes += bytes;
        view_store(w->view, state, LEDGER_RECLAIM_GONE);
}

/* Only the program's words about the ranges are believed, and only its "no": where
 * they lie we know ourselves. */
static void take_ranges(struct work *w)
{
        uint32_t reclaims = view_load(w->view, &w->shared->reclaims) & ~1u;

        for (uint32_t i = 0; i < LEDGER_RECLAIMS; i++) {
                struct ledger_reclaim *shared = &w->shared->reclaim[i];
                bool wanted = i < w->count;

                view_store(w->view, &shared->first, wanted ? w->ranges[i].first : 0);
                view_store(w->view, &shared->end, wanted ? w->ranges[i].end : 0);
                view_store(w->view, &shared->state,
                           wanted ? LEDGER_RECLAIM_WANTED : LEDGER_RECLAIM_NONE);
        }
        view_store(w->view, &w->shared->reclaims, reclaims + 1);
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
                for (uint32_t i = 0; i < w->count; i++)
                        if (is_still_old(w, &w->ranges[i]))
                                punch(w, &w->ranges[i], &w->shared->reclaim[i].state);
        view_store(w->view, &w->shared->reclaims, reclaims + 2);
        w->count = 0;
}

static void want_page(struct work *w, uint32_t page)
{
        struct ledger_reclaim *last = w->count ? &w->ranges[w->count - 1] : NULL;

        if (last && last->end == page && page - last->first < RANGE_PAGES) {
                last->end++;
                return;
        }
        if (w->count == LEDGER_RECLAIMS)
                take_ranges(w);
        w->ranges[w->count++] = (struct ledger_reclaim){ page, page + 1, 0 };
}

uint64_t reclaim_work(const struct view *v, uint32_t limit_ms)
{
        struct work w = { .view = v, .shared = view_shared(v), .limit_ms = limit_ms };
        struct ledger_block *page = heap_zero(PAGE_ENTRIES, sizeof *page);
        uint64_t at = 0, end;

        w.entries = heap_zero(RANGE_PAGES * PAGE_ENTRIES, sizeof *w.entries);
        while (w.shared && (end = view_data(v, LEDGER_SHADOW, &at, UINT64_MAX)) != 0) {
                for (at -= at % LEDGER_RECLAIM_PAGE; at + LEDGER_RECLAIM_PAGE <= end;
                     at += LEDGER_RECLAIM_PAGE)
                        if (view_read(v, LEDGER_SHADOW, at, page, LEDGER_RECLAIM_PAGE) &&
                            is_old(page, limit_ms))
                                want_page(&w, (uint32_t)(at / LEDGER_RECLAIM_PAGE));
                at = end;
        }
        if (w.count)
                take_ranges(&w);
        free(w.entries);
        free(page);
        return w.bytes;
}

/* Memory of the ledger beyond what the live blocks need at most: half of their bytes, and no more
 * than a page of the shadow for each, however large it is. */
static uint64_t excess_bytes(const struct view *v)
{
        uint64_t bytes = 0, blocks = 0, need;

        for (uint32_t i = 0; i < counters_slots(v); i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                bytes += slot.alloc_bytes - slot.free_bytes;
                blocks += slot.allocs - slot.frees;
        }
        bytes = bytes < UINT64_MAX / 2 ? bytes : 0;
        need = blocks < bytes / 2 / LEDGER_RECLAIM_PAGE ? blocks * LEDGER_RECLAIM_PAGE : bytes / 2;
        return v->present_bytes > need ? v->present_bytes - need : 0;
}

/* Blocks that were freed before this are no longer of interest; 0: none. */
static uint32_t limit_ms(const struct view *v, uint64_t now_ms)
{
        uint64_t limit = now_ms > RECLAIM_AGE_MS ? now_ms - RECLAIM_AGE_MS : 0;

        if (v->head.quarantine_blocks && v->head.quarantine_from_ms < limit)
                limit = v->head.quarantine_from_ms;
        return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

static bool can_fence(void)
{
        static long commands = -1;

        if (commands < 0)
                commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
        if (commands < 0)
                commands = 0;
        return commands & MEMBARRIER_CMD_GLOBAL;
}

/* Whether to try now.  What did not help before may help when the heap has shrunk since: at once,
 * and again while that is young. */
static bool is_time(struct reclaim *r, const struct view *v, uint64_t now_ms)
{
        uint64_t excess = excess_bytes(v);
        bool shrunk = excess > r->excess_bytes + RECLAIM_MORE_BYTES;

        if (excess < r->excess_bytes)
                r->excess_bytes = excess;
        if (excess < RECLAIM_FREE_BYTES || (now_ms < r->due_ms && !shrunk))
                return false;
        if (shrunk)
                r->wait_ms = 0;
        r->excess_bytes = excess;
        return true;
}

struct taking {
        struct view *view;
        uint32_t limit_ms;
        uint64_t shadow_end;
};

static bool take_away(void *context, int fd)
{
        const struct taking *t = context;
        struct ledger_extent *shadow = &t->view->head.part[LEDGER_SHADOW]; /* of this process */

        (void)fd;
        if (shadow->committed < t->shadow_end && t->shadow_end <= shadow->size)
                shadow->committed = t->shadow_end;
        reclaim_work(t->view, t->limit_ms);
        return true;
}

void reclaim_tick(struct reclaim *r, struct view *v, uint64_t now_ms, uint64_t shadow_end)
{
        struct taking taking = { .view = v, .shadow_end = shadow_end };
        struct err e;

        if (now_ms < r->look_ms || r->worker.pid)
                return;
        r->look_ms = now_ms + RECLAIM_EVERY_MS;
        if (!view_shared(v) || !can_fence() || !view_refresh(v, &e) || !limit_ms(v, now_ms) ||
            !is_time(r, v, now_ms))
                return;
        r->before_bytes = v->present_bytes;
        r->begin_ms = now_ms;
        taking.limit_ms = limit_ms(v, now_ms);
        worker_start(&r->worker, &(struct worker_order){ .work = take_away, .context = &taking });
}

void reclaim_done(struct reclaim *r, struct view *v, uint64_t now_ms)
{
        struct ledger_head *shared = view_shared(v);
        struct err e;

        worker_reaped(&r->worker);
        /* Killed in the middle. */
        if (shared && view_load(v, &shared->reclaims) & 1)
                view_add(v, &shared->reclaims, 1);
        if (view_refresh(v, &e) && excess_bytes(v) < r->excess_bytes)
                r->excess_bytes = excess_bytes(v);
        if (v->present_bytes < r->before_bytes - r->before_bytes / RECLAIM_WORTH)
                r->wait_ms = RECLAIM_EVERY_MS;
        else if (r->wait_ms < RECLAIM_SELDOM_MS)
                r->wait_ms = r->wait_ms ? r->wait_ms * 2 : RECLAIM_EVERY_MS;
        /* From its begin on, or every other look would be too early; but no more than half of the
         * time. */
        r->due_ms = r->begin_ms + r->wait_ms;
        if (r->due_ms < 2 * now_ms - r->begin_ms)
                r->due_ms = 2 * now_ms - r->begin_ms;
}

/* ---- how much memory the ledger of a program takes, told to the program when that is limited
 * (record --limit-ledger) ---- */

#define SLOTS_MAX 1024u /* more would take too long at each tick: then what was opened counts */

static uint64_t count_events(const struct view *v)
{
        uint32_t slots = counters_slots(v);
        uint64_t sum = 0;

        if (v->head.thin_count)
                return v->head.thin_events;
        for (uint32_t i = 0; i < slots && slots <= SLOTS_MAX; i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                sum += slot.allocs;
        }
        return sum;
}

void share_tick(struct view *v, bool calm)
{
        struct ledger_head *shared = v->head.ledger_limit ? view_shared(v) : NULL;
        uint64_t opened = 0, events;
        struct stat st;
        struct err e;

        if (!shared || !view_refresh(v, &e))
                return;
        for (int part = 0; part < LEDGER_PARTS; part++)
                opened += v->head.part[part].committed;
        events = count_events(v);
        /* last: what came meanwhile may count twice, but is not missed. */
        if (fstat(v->fd, &st) < 0)
                return;
        view_store_long(v, &shared->look.present, (uint64_t)st.st_blocks * 512);
        view_store_long(v, &shared->look.events, events);
        view_store_long(v, &shared->look.thin_count, v->head.thin_count);
        view_store_long(v, &shared->look.opened, opened);
        /* It may have become full in places that were opened long ago: each thread looks when
         * it next records a block. */
        if (calm && v->present_bytes >= v->head.thin_at && !v->head.thin_full &&
            !(v->head.reclaims & 1))
                view_add(v, &shared->reclaims, 2);
}
