/* SPDX-License-Identifier: MIT */
/*
 * log.c -- the event log of a recording as what came and went on the heap.
 *
 * Room:   outside.
 */
#include "export/log.h"

#include <stdlib.h>

#include "base/heap.h"

bool log_open(struct log *l, const struct export_input *in, struct err *e)
{
        *l = (struct log){ .in = in };
        if (!in->file)
                return err_set(e, ERR_EXIT_USAGE, "a form that is made from the event log needs the file of a recording");
        l->events = events_log_open(in->file, e);
        if (!l->events)
                return false;
        l->replay = replay_new();
        l->chosen = select_sites(in->sel, &in->sel->heap);
        l->newest = heap_zero(UINT16_MAX + 1u, sizeof *l->newest);
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
               (thread >= p->thread_count || filter_thread(l->in->filter, &p->threads[thread]));
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
        return true;
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
        return true;
}

/* Parts of an arena become blocks of their own, or (less than none) its own memory again. */
static bool carved(const struct log *l, const struct ledger_event *e, struct log_event *out)
{
        out->address = 0; /* no block as a whole */
        out->came = (int64_t)e->size < 0;
        out->site = e->site;
        out->size = out->came ? -e->size : e->size;
        return is_wanted(l, e->site, e->thread);
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

        while (events_log_next(l->events, &e)) {
                bool wanted = tell(l, &e, out);

                replay_event(l->replay, &e);
                if (wanted)
                        return true;
        }
        return false;
}
