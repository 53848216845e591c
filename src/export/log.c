/* SPDX-License-Identifier: MIT */
#include "export/log.h"

#include <stdlib.h>

#include "base/heap.h"

/* Everything is behind a START, nothing behind the END. */
static struct log_bound bound_at(const struct profile *p, const struct moment *m, uint64_t peak)
{
        struct log_bound b = { .mark = UINT64_MAX };

        if (m->type == MOMENT_MARK && p->marks[m->mark].era)
                b.mark = p->marks[m->mark].era - 1u;
        else if (m->type == MOMENT_PEAK)
                b.number = peak;
        else if (m->type != MOMENT_START)
                b.ms = m->type == MOMENT_NONE || m->type == MOMENT_END ? UINT64_MAX : m->ms + 1;
        return b;
}

static bool is_behind(const struct log_bound *b, uint64_t number, const struct ledger_event *e)
{
        if (b->mark != UINT64_MAX)
                return e->type == LEDGER_EVENT_MARK && e->address == b->mark;
        return number > b->number && e->ms >= b->ms;
}

/* The number of the event that made the peak. */
static uint64_t find_peak(const struct export_input *in, struct err *e)
{
        struct events_log *events = events_log_open_in(in->file, in->folder, e);
        struct replay *replay = replay_new();
        struct ledger_event event;
        uint64_t peak = 0, number = 0;

        while (events && events_log_next(events, &event)) {
                replay_event(replay, &event);
                if (replay_totals(replay).peak_bytes > peak)
                        number = replay_events(replay);
                peak = replay_totals(replay).peak_bytes;
        }
        replay_free(replay);
        if (events)
                events_log_close(events);
        return number;
}

static void find_bounds(struct log *l, struct err *e)
{
        const struct select_request *r = l->in->request;
        const struct moment none = { .type = MOMENT_NONE };
        bool range = r && r->from.type != MOMENT_NONE;
        const struct moment *to = range ? &r->to : r ? &r->at : &none;

        if (range && r->from.type != MOMENT_START)
                l->from = bound_at(l->in->profile, &r->from, 0);
        else
                l->first = 1;
        l->to = bound_at(l->in->profile, to, to->type == MOMENT_PEAK ? find_peak(l->in, e) : 0);
}

bool log_open(struct log *l, const struct export_input *in, struct err *e)
{
        *l = (struct log){ .in = in };
        if (!in->file)
                return err_set(e, ERR_EXIT_USAGE,
                               "a format that is made from the event log needs a recording file");
        l->events = events_log_open_in(in->file, in->folder, e);
        if (!l->events)
                return false;
        l->replay = replay_new();
        l->chosen = select_sites(in->sel, &in->sel->heap);
        l->newest = heap_zero(UINT16_MAX + 1u, sizeof *l->newest);
        find_bounds(l, e);
        return true;
}

void log_close(struct log *l)
{
        if (l->events)
                events_log_close(l->events);
        replay_free(l->replay);
        free(l->chosen);
        free(l->newest);
}

/* Whether blocks that THREAD made at SITE were selected. */
static bool is_wanted(const struct log *l, uint32_t site, uint16_t thread)
{
        const struct profile *p = l->in->profile;

        return site < p->site_count && l->chosen[site] &&
               (thread >= p->thread_count ||
                filter_thread(l->in->request ? l->in->request->filter : NULL, &p->threads[thread]));
}

static bool went(struct log *l, const struct ledger_event *e, struct log_event *out)
{
        const struct replay_block *b = replay_find(l->replay, e->address, e->kind);

        out->temporary = l->newest[e->thread] == e->address;
        l->newest[e->thread] = 0;
        if (!b || !is_wanted(l, b->site, b->thread))
                return false;
        out->site = b->site;
        out->size = b->size;
        out->node = e->site;
        return b->number >= l->first;
}

static bool came_back(struct log *l, const struct ledger_event *e, struct log_event *out)
{
        const struct replay_block *b = replay_taken(l->replay, e->thread);

        l->newest[e->thread] = 0;
        if (!b || !is_wanted(l, b->site, b->thread))
                return false;
        out->came = true;
        out->site = b->site;
        out->size = b->size;
        out->address = b->address;
        return b->number >= l->first;
}

/* Parts of an arena become blocks of their own, or (less than none) its own memory again. */
static bool carved(const struct log *l, const struct ledger_event *e, struct log_event *out)
{
        const struct replay_block *arena = replay_find(l->replay, e->address, e->kind);

        out->address = 0; /* no block as a whole */
        out->came = (int64_t)e->size < 0;
        out->site = e->site;
        out->size = out->came ? -e->size : e->size;
        return is_wanted(l, e->site, e->thread) && (!arena || arena->number >= l->first);
}

static bool tell(struct log *l, const struct ledger_event *e, struct log_event *out)
{
        *out = (struct log_event){ .ms = e->ms, .thread = e->thread, .address = e->address };
        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MOVE:
                l->newest[e->thread] = e->address;
                out->came = true;
                out->site = e->site;
                out->size = e->size;
                return is_wanted(l, e->site, e->thread);
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
                return went(l, e, out);
        case LEDGER_EVENT_PUT_BACK:
                return came_back(l, e, out);
        case LEDGER_EVENT_CARVE:
                return carved(l, e, out);
        default:
                return false;
        }
}

bool log_next(struct log *l, struct log_event *out)
{
        struct ledger_event e;

        while (!l->ended && events_log_next(l->events, &e)) {
                uint64_t number = replay_events(l->replay) + 1;
                bool wanted;

                if (!l->first && is_behind(&l->from, number, &e))
                        l->first = number;
                l->ended = is_behind(&l->to, number, &e);
                wanted = tell(l, &e, out) && l->first && !l->ended;
                replay_event(l->replay, &e);
                if (wanted)
                        return true;
        }
        return false;
}
