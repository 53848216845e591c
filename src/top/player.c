/* SPDX-License-Identifier: MIT */
#include "top/player.h"

#include <stdlib.h>

#define PLAYER_RATE_MS 1000u /* rates are of so long a time at least */

void player_open(struct player *r, const struct profile *p, const struct symbol_options *names)
{
        *r = (struct player){ .p = p, .symbols = symbols_new(p, names) };
        r->numbers = picture_numbers(&r->history, p);
        player_go(r, p->slice_count);
}

void player_free(struct player *r)
{
        symbols_free(r->symbols);
        history_free(&r->history);
        free(r->numbers);
        history_moment_free(&r->now);
        history_moment_free(&r->then);
        history_moment_free(&r->last);
        *r = (struct player){ 0 };
}

uint64_t player_ms(const struct player *r, uint32_t at)
{
        return at < r->p->slice_count ? r->p->slices[at].ms : r->p->meta.duration_ms;
}

static bool has_sites(const struct player *r, uint32_t at)
{
        return at >= r->p->slice_count || !at || !(r->p->slices[at].flags & PROFILE_SLICE_TOTALS);
}

uint32_t player_find(const struct player *r, uint64_t ms)
{
        uint32_t at = r->p->slice_count;

        while (at && (player_ms(r, at) > ms || !has_sites(r, at)))
                at--;
        return at;
}

/* What was at MS; nothing where that is before the first slice. */
static struct history_moment moment_at(const struct player *r, uint64_t ms)
{
        uint32_t at = player_find(r, ms);

        if (!r->p->slice_count || r->p->slices[0].ms > ms)
                return (struct history_moment){ 0 };
        return picture_of_slice(r->p, r->numbers, at < r->p->slice_count ? at : at - 1);
}

static uint64_t before(uint64_t ms, uint64_t span)
{
        return ms > span ? ms - span : 0;
}

void player_go(struct player *r, uint32_t at)
{
        const struct profile *p = r->p;
        uint64_t ms;

        /* Moments of which totals alone are known are passed over. */
        for (bool on = at > r->at; !has_sites(r, at);)
                at += on ? 1 : UINT32_MAX;
        r->at = at < p->slice_count ? at : p->slice_count;
        ms = player_ms(r, r->at);
        history_moment_free(&r->now);
        history_moment_free(&r->then);
        history_moment_free(&r->last);
        r->now = r->at < p->slice_count ? picture_of_slice(p, r->numbers, r->at)
                                        : picture_of_end(&r->history, p, r->numbers, r->threads);
        r->then = ms > HISTORY_SPAN_MS ? moment_at(r, ms - HISTORY_SPAN_MS)
                                       : (struct history_moment){ 0 };
        r->last = moment_at(r, before(ms, PLAYER_RATE_MS));
}

const struct profile_mark *player_mark(const struct player *r, bool back)
{
        const struct profile_mark *found = NULL;

        for (uint32_t i = 0; i < r->p->mark_count; i++) {
                const struct profile_mark *mark = &r->p->marks[i];

                if (back && mark->slice < r->at)
                        found = mark;
                if (!back && mark->slice > r->at && !found)
                        found = mark;
        }
        return found;
}

struct picture player_picture(struct player *r)
{
        const struct profile *p = r->p;
        bool end = r->at >= p->slice_count;
        struct picture c = { .p = p,
                             .symbols = r->symbols,
                             .numbers = r->numbers,
                             .history = &r->history,
                             .now = &r->now,
                             .then = &r->then,
                             .last = &r->last,
                             .slices = end ? p->slice_count : r->at + 1,
                             .whole = end };

        for (uint32_t i = 0; i < c.slices; i++)
                if (p->slices[i].live_bytes > c.peak_bytes)
                        c.peak_bytes = p->slices[i].live_bytes;
        if (end || profile_peak_ms(p) <= r->now.ms || c.peak_bytes > p->totals.peak_bytes)
                c.peak_bytes = p->totals.peak_bytes;
        if (r->threads) /* of the end alone: nothing to compare with */
                c.then = c.last = NULL;
        picture_since(&c);
        return c;
}
