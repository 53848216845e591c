/* SPDX-License-Identifier: MIT */
#include "top/live.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/heap.h"
#include "wire/hello.h"

#define LIVE_BLOCKS_NS 10000000000ull /* between looks with blocks at least ... */
#define LIVE_BLOCKS_SHARE 500u        /* ... and so many times what the last one took */

uint32_t live_flags(const struct live *l, uint64_t now_ns)
{
        return l->need_blocks || now_ns >= l->blocks_due_ns ? WIRE_LOOK_BLOCKS : 0;
}

/* The newest slice that is not later than MS; UINT32_MAX: none. */
static uint32_t slice_at(const struct profile *p, uint64_t ms)
{
        uint32_t i = p->slice_count;

        while (i && p->slices[i - 1].ms > ms)
                i--;
        return i - 1;
}

/* What was there a minute before the first look is known from the recording. */
static void begin_past(struct live *l)
{
        uint64_t now = l->p->meta.duration_ms;
        uint32_t slice = now > HISTORY_SPAN_MS ? slice_at(l->p, now - HISTORY_SPAN_MS) : UINT32_MAX;
        /* At the start there was nothing, which is known. */
        struct history_moment first = { .blocks = true };

        if (slice != UINT32_MAX)
                first = picture_of_slice(l->p, l->numbers, slice);
        history_add(&l->history, &first);
}

/* Without a look at blocks: what was there is as old as before, what came did so
 * since then, one like another. */
static void carry_births(struct history_moment *now, const struct history_moment *last)
{
        double fresh_ms = ((double)now->ms + (double)(last ? last->ms : now->ms)) / 2;

        for (uint32_t i = 0; i < now->count; i++) {
                struct history_numbers before = history_of(last, i), *n = &now->all[i];
                uint64_t stayed = before.live_blocks < n->live_blocks ? before.live_blocks
                                                                      : n->live_blocks;

                if (before.birth_ms == HISTORY_UNKNOWN || !n->live_blocks)
                        continue;
                n->birth_ms = (uint64_t)(((double)before.birth_ms * (double)stayed +
                                          fresh_ms * (double)(n->live_blocks - stayed)) /
                                         (double)n->live_blocks);
        }
}

/* The resolver compares both recordings, so the old one stays until then. */
static void follow(struct live *l, struct profile *look)
{
        struct profile *before = l->p;

        l->p = heap_zero(1, sizeof *l->p);
        *l->p = *look;
        *look = (struct profile){ 0 };
        l->fresh_names = !l->symbols || !symbols_follow(l->symbols, l->p);
        if (l->fresh_names) {
                symbols_free(l->symbols);
                l->symbols = symbols_new(l->p, l->names);
        }
        if (!before)
                return;
        /* It became another program. */
        if (before->meta.start_realtime_ns != l->p->meta.start_realtime_ns)
                history_clear(&l->history);
        profile_free(before);
        free(before);
}

void live_take(struct live *l, struct profile *look, uint32_t flags, uint64_t cost_ns)
{
        bool first = !l->symbols;
        struct history_moment now;

        follow(l, look);
        free(l->numbers);
        l->numbers = picture_numbers(&l->history, l->p);
        now = picture_of_end(&l->history, l->p, l->numbers, l->threads);
        if (first && !l->threads)
                begin_past(l);
        if (flags & WIRE_LOOK_BLOCKS)
                l->blocks_due_ns = clock_now_ns() + (cost_ns * LIVE_BLOCKS_SHARE > LIVE_BLOCKS_NS
                                                             ? cost_ns * LIVE_BLOCKS_SHARE
                                                             : LIVE_BLOCKS_NS);
        else
                carry_births(&now, history_newest(&l->history));
        history_add(&l->history, &now);
}

bool live_has_blocks(const struct live *l)
{
        return history_newest(&l->history) && history_newest(&l->history)->blocks;
}

void live_forget(struct live *l, struct filter *threads)
{
        struct history_moment now;

        l->threads = threads;
        history_clear(&l->history);
        if (!l->p)
                return;
        if (!threads)
                begin_past(l);
        now = picture_of_end(&l->history, l->p, l->numbers, threads);
        history_add(&l->history, &now);
}

/* NOW is missing where the last look did not tell what is needed: the next one does. */
struct picture live_picture(struct live *l)
{
        uint64_t ms = l->p->meta.duration_ms;
        bool blocks = l->need_blocks;
        struct picture c = { .p = l->p, .symbols = l->symbols, .numbers = l->numbers,
                             .history = &l->history,
                             .now = blocks &&
                                    !live_has_blocks(l) ? NULL : history_newest(&l->history),
                             .then = history_at(&l->history,
                                                ms > HISTORY_SPAN_MS ? ms - HISTORY_SPAN_MS : 0,
                                                blocks),
                             .last = history_previous(&l->history, blocks),
                             .peak_bytes = l->p->totals.peak_bytes, .slices = l->p->slice_count,
                             .whole = true };

        if (!c.now)
                return c;
        if (c.then == c.now)
                c.then = NULL;
        /* The start is no moment to take a rate from, unless it was just now. */
        if (c.last && !c.last->count)
                c.last = c.now->ms < HISTORY_STEP_MS ? c.last : NULL;
        picture_since(&c);
        return c;
}

void live_free(struct live *l)
{
        symbols_free(l->symbols);
        if (l->p)
                profile_free(l->p);
        free(l->p);
        history_free(&l->history);
        free(l->numbers);
        *l = (struct live){ 0 };
}
