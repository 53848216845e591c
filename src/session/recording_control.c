/* SPDX-License-Identifier: MIT */
/* recording_control.c -- switching, resetting and the status of one recording. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "session/listener.h"
#include "session/recording_parts.h"

bool recording_is_reset(const struct recording *r)
{
        return r->control.worker.pid && r->control.what == WIRE_CONTROL_RESET;
}

static void answer(struct recording *r, int asker, uint64_t pause_ns)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 1 };
        struct wire_status s = { .depth = r->depth, .pause_ns = pause_ns,
                                 .follow = 1 + r->plan->follow };
        struct err e;

        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        control_status(&r->view, &s);
        snprintf(s.engine, sizeof s.engine, "%s", r->plan->carrier->engine);
        snprintf(s.program, sizeof s.program, "%s", r->program);
        reply.live_bytes = s.live_bytes;
        reply.live_blocks = s.live_blocks;
        memcpy(reply.text, &s, sizeof s);
        listener_reply(asker, &reply);
}

void recording_ask_status(struct recording *r, int asker)
{
        answer(r, asker, 0);
}

/* Why WHAT cannot be done; NULL: it can. */
static const char *find_obstacle(const struct recording *r, uint32_t what)
{
        if (what != WIRE_CONTROL_DEPTH && !r->view.head.special_at)
                return "there is no agent in it (--engine)";
        if (what != WIRE_CONTROL_RESET)
                return NULL;
        if (r->journal)
                return "it is recorded with --events, and its log has what happened before";
        if (r->view.head.sample_bytes || r->view.head.thin_count)
                return "only a sample of its blocks is recorded (--sample, --limit-ledger)";
        if (r->reclaim.worker.pid || r->scanner.worker.pid)
                return "its ledger is being read; try again";
        return NULL;
}

void recording_ask_control(struct recording *r, const struct wire_request *ask, int asker)
{
        const struct control_order order = { ask->flags, &r->view, r->pid, asker };
        const char *why = find_obstacle(r, ask->flags);

        if (why) {
                listener_refuse(asker, "the recording of process %u cannot be changed so: %s",
                                ask->pid, why);
        } else if (ask->flags == WIRE_CONTROL_DEPTH) {
                r->depth = ask->number;
                answer(r, asker, 0);
        } else if (ask->flags < WIRE_CONTROL_START || ask->flags > WIRE_CONTROL_RESET) {
                listener_refuse(asker,
                                "the seep that records process %u does not know this request: it "
                                "is another version", ask->pid);
        } else {
                control_ask(&r->control, &order);
        }
}

/* In the recording, like those of SEEP_ENABLE() and SEEP_DISABLE(). */
static void mark(struct recording *r, enum ledger_mark_type type, uint64_t now_ms)
{
        struct profile_mark m = { .type = type, .ms = now_ms, .label = heap_text("") };

        slices_mark(&r->slices, &r->view, now_ms, r->rss.last_bytes, &m, 1);
}

/* The course begins anew, too: what was before cannot be compared with what comes. */
static void begin_anew(struct recording *r, uint64_t now_ms)
{
        slices_free(&r->slices);
        r->slices = (struct slices){ 0 };
        r->snapshots.reported_seq = 0;
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, true);
}

void recording_control_done(struct recording *r, int status)
{
        uint64_t now_ms = recording_elapsed_ms(r, clock_now_ns()), pause_ns = 0;
        bool was_off = r->view.head.off;
        struct err e;

        if (!control_done(&r->control, status, &pause_ns))
                return;
        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        if (r->control.what == WIRE_CONTROL_RESET)
                begin_anew(r, now_ms);
        else if (was_off != (r->view.head.off != 0))
                mark(r, r->view.head.off ? LEDGER_MARK_DISABLE : LEDGER_MARK_ENABLE, now_ms);
        answer(r, r->control.asker, pause_ns);
        r->control.asker = -1;
}
