/* SPDX-License-Identifier: MIT */
/* top.c -- one view, of a process or a recording: from wishes to a screen; and screens for
 * scripts. */
#include "top/top.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/heap.h"
#include "session/ask.h"
#include "top/top_parts.h"
#include "words/text.h"

/* Ages of blocks are shown anew so often when nothing else happens. */
#define TOP_AGES_NS 5000000000ull

/* ---- wishes ---- */

static bool need_blocks(const struct top *t)
{
        return t->k.group == GROUP_THREAD || t->k.group == GROUP_SIZE || t->k.thread.length;
}

static bool add_filters(const struct top *t, struct filter *names, struct filter *threads,
                        struct err *e)
{
        bool good = true;

        for (uint32_t i = 0; i < t->o->word_count && good; i++)
                good = filter_add(names, t->o->words[i].kind, t->o->words[i].text, e);
        if (good && t->k.filter.length)
                good = filter_add(names, FILTER_INCLUDE, str_get(&t->k.filter), e);
        if (good && t->k.thread.length)
                good = filter_add(names, FILTER_THREAD, str_get(&t->k.thread), e) &&
                       filter_add(threads, FILTER_THREAD, str_get(&t->k.thread), e);
        return good;
}

bool top_filters(struct top *t, struct err *e)
{
        struct filter names = { 0 }, threads = { 0 };

        if (!add_filters(t, &names, &threads, e)) {
                filter_free(&names);
                filter_free(&threads);
                return false;
        }
        filter_free(&t->filter);
        filter_free(&t->threads);
        t->filter = names;
        t->threads = threads;
        return true;
}

/* Where numbers come from follows from what is asked for. */
static void recount(struct top *t)
{
        t->live.need_blocks = need_blocks(t);
        t->live.threads = t->player.threads = t->k.thread.length ? &t->threads : NULL;
}

/* ---- what is compared ---- */

static void pin(struct top *t, struct history_moment moment, const char *name)
{
        history_moment_free(&t->pin);
        t->pin = moment;
        snprintf(t->pin_name, sizeof t->pin_name, "%s", name);
}

/* The last snapshot that is not later than now; NULL: there is none. */
static const struct profile_mark *last_snapshot(const struct top *t)
{
        const struct profile *p = t->picture.p;
        const struct profile_mark *found = NULL;

        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].seq && p->marks[i].slice < t->picture.slices)
                        found = &p->marks[i];
        return found;
}

void top_rebase(struct top *t)
{
        const struct profile_mark *mark = t->base == TOP_BASE_MINUTE && !t->k.thread.length
                                                  ? last_snapshot(t)
                                                  : NULL;
        char name[16];

        if (mark) {
                t->base = TOP_BASE_SNAPSHOT;
                snprintf(name, sizeof name, "snap %u", mark->seq);
                pin(t, picture_of_slice(t->picture.p, t->picture.numbers, mark->slice), name);
                str_format(&t->k.message, "compared with snapshot %u%s%s%s", mark->seq,
                           *mark->label ? " (" : "", mark->label, *mark->label ? ")" : "");
        } else if (t->base != TOP_BASE_NOW && t->picture.now) {
                t->base = TOP_BASE_NOW;
                pin(t, history_copy(t->picture.now), "");
                str_text(&t->k.message, "compared with this moment from now on");
        } else {
                t->base = TOP_BASE_MINUTE;
                str_text(&t->k.message, "compared with 60 seconds ago");
        }
}

void top_regroup(struct top *t)
{
        do
                t->k.group = (enum group_kind)((t->k.group + 1) % GROUP_KIND_COUNT);
        while ((t->k.group == GROUP_THREAD || t->k.group == GROUP_SIZE) &&
               (!t->picture.whole || (*t->ended.text && !live_has_blocks(&t->live))));
        t->k.first = t->k.index = 0;
        t->k.chosen = 0;
}

/* ---- from wishes to rows ---- */

static void take_picture(struct top *t)
{
        t->picture = t->o->pid ? live_picture(&t->live) : player_picture(&t->player);
        if (t->base == TOP_BASE_MINUTE || !t->picture.now || t->pin.ms > t->picture.now->ms)
                return;
        t->picture.then = &t->pin;
        picture_since(&t->picture);
        if (*t->pin_name)
                snprintf(t->picture.since, sizeof t->picture.since, "%s", t->pin_name);
}

static bool is_same(const struct profile_slice *a, const struct profile_slice *b)
{
        return a->allocs == b->allocs && a->frees == b->frees && a->live_bytes == b->live_bytes;
}

static struct wrappers *hidden(const struct top *t)
{
        return t->k.all_frames ? NULL : t->o->wrappers;
}

bool top_refresh(struct top *t, struct err *e)
{
        struct rows_request request = { .filter = &t->filter, .wrappers = hidden(t),
                                        .memory = t->k.memory, .sort = t->k.sort,
                                        .ascending = t->k.ascending };
        bool known = t->k.chosen != 0;

        recount(t);
        take_picture(t);
        rows_free(&t->rows);
        if (!t->picture.now)
                return true;
        /* Moments of a recording know no threads and sizes. */
        if (!t->picture.whole && need_blocks(t) && !t->k.thread.length)
                t->k.group = GROUP_STACK;
        request.group = t->k.group;
        t->shown = t->picture.now->sum;
        t->shown_then = t->picture.then ? t->picture.then->sum : (struct profile_slice){ 0 };
        t->shown_ns = clock_now_ns();
        t->shown_still = t->picture.last && is_same(&t->picture.last->sum, &t->shown);
        if (!rows_make(&t->rows, &t->picture, &request, e))
                return false;
        keys_choose(&t->k, &t->rows,
                    known && t->k.index ? rows_find(&t->rows, t->k.chosen) : t->k.index);
        return true;
}

/* A quiet process costs next to nothing: what is looked at again and again is
 * mostly that nothing happened. */
bool top_follow(struct top *t, struct err *e)
{
        const struct picture *c = &t->picture;

        take_picture(t);
        if (c->now && c->then && c->last && is_same(&c->now->sum, &t->shown) &&
            is_same(&c->then->sum, &t->shown_then) && is_same(&c->last->sum, &c->now->sum) &&
            t->shown_still && clock_now_ns() - t->shown_ns < TOP_AGES_NS)
                return true;
        return top_refresh(t, e);
}

/* The resolver is another one: what was remembered by its names is void. */
static bool renew_names(struct top *t, struct err *e)
{
        lookup_free(&t->o->wrappers->known);
        lookup_free(&t->known);
        return top_filters(t, e);
}

bool top_take_look(struct top *t, struct question *a, struct err *e)
{
        live_take(&t->live, &a->profile, a->flags, a->cost_ns);
        return !t->live.fresh_names || renew_names(t, e);
}

/* ---- from rows to a screen ---- */

const struct row *top_row(const struct top *t)
{
        return t->k.index < t->rows.count ? &t->rows.all[t->k.index] : NULL;
}

struct pane_input top_pane(const struct top *t, uint32_t columns)
{
        return (struct pane_input){ &t->picture, t->o->names, hidden(t), columns };
}

void top_screen(struct top *t, uint32_t columns, uint32_t lines, struct screen *s)
{
        struct screen_input in = { .picture = &t->picture,
                                   .rows = &t->rows,
                                   .state = &t->k,
                                   .known = &t->known,
                                   .ended = *t->ended.text ? t->ended.text : NULL,
                                   .columns = columns,
                                   .lines = lines,
                                   .limit = t->o->limit,
                                   .utf8 = t->o->utf8 };

        t->k.page = screen_page(lines);
        keys_choose(&t->k, &t->rows, t->k.index);
        screen_make(s, &in);
}

/* ---- open and close ---- */

/* Where --at leads. */
static uint32_t begin_at(const struct player *r, const struct moment *at)
{
        const struct profile *p = r->p;

        switch (at->type) {
        case MOMENT_NONE:
        case MOMENT_END:
                return p->slice_count;
        case MOMENT_MARK:
                return p->marks[at->mark].slice;
        case MOMENT_PEAK:
                return player_find(r, profile_peak_ms(p));
        default:
                return player_find(r, at->ms);
        }
}

bool top_open(struct top *t, const struct top_options *o, struct err *e)
{
        *t = (struct top){ .o = o };
        t->k.when = o->pid ? KEYS_LIVE : KEYS_REPLAY;
        t->k.sort = o->sort;
        t->k.group = o->group;
        t->k.all_frames = o->all_frames;
        t->k.memory = SELECT_HEAP;
        t->k.speed = 1;
        str_text(&t->k.filter, o->filter);
        str_text(&t->k.thread, o->thread);
        t->live.names = o->names;
        if (!top_filters(t, e))
                return false;
        recount(t);
        if (!o->pid) {
                player_open(&t->player, o->recording, o->names);
                t->player.threads = t->k.thread.length ? &t->threads : NULL;
                player_go(&t->player, begin_at(&t->player, &o->at));
        }
        return true;
}

void top_free(struct top *t)
{
        rows_free(&t->rows);
        filter_free(&t->filter);
        filter_free(&t->threads);
        history_moment_free(&t->pin);
        lookup_free(&t->known);
        live_free(&t->live);
        if (!t->o->pid)
                player_free(&t->player);
        keys_free(&t->k);
}

/* ---- for scripts ---- */

static bool print_screen(struct top *t, bool more, struct err *e)
{
        struct str text = { 0 };
        struct screen s;
        bool good;

        if (!top_refresh(t, e))
                return false;
        top_screen(t, t->o->columns, 0, &s);
        screen_text(&s, &text);
        if (more)
                str_char(&text, '\n');
        good = t->o->print(&text, e);
        screen_free(&s);
        str_free(&text);
        return good;
}

static void sleep_until(uint64_t ns)
{
        struct timespec time = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
                continue;
}

/* A first look goes before, so that the first screen has rates. */
static bool batch_live(struct top *t, uint32_t count, struct err *e)
{
        struct question *a = heap_zero(1, sizeof *a);
        bool good = true;

        a->pid = t->o->pid;
        for (uint32_t i = 0; i <= count && good; i++) {
                uint64_t start = clock_now_ns();

                question_now(a, QUESTION_LOOK, live_flags(&t->live, start));
                if (!a->good && i && ask_is_gone(a->pid))
                        break;
                if (!a->good)
                        *e = a->err;
                good = a->good && top_take_look(t, a, e);
                if (good && i)
                        good = print_screen(t, i < count, e);
                if (good && i < count)
                        sleep_until(start + t->o->interval_ms * 1000000u);
        }
        free(a);
        return good;
}

/* The moments divide the time evenly. */
static bool batch_replay(struct top *t, uint32_t count, struct err *e)
{
        const struct profile *p = t->o->recording;
        bool good = true;

        if (t->o->at.type != MOMENT_NONE)
                return print_screen(t, false, e);
        for (uint32_t i = 1; i <= count && good; i++) {
                uint64_t ms = p->meta.duration_ms * i / count;

                player_go(&t->player, i == count ? p->slice_count : player_find(&t->player, ms));
                good = print_screen(t, i < count, e);
        }
        return good;
}

bool top_batch(const struct top_options *o, uint32_t count, struct err *e)
{
        struct top t;
        bool good = top_open(&t, o, e) && (o->pid ? batch_live : batch_replay)(&t, count, e);

        top_free(&t);
        return good;
}
