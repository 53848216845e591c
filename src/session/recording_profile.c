/* SPDX-License-Identifier: MIT */
/* recording_profile.c -- a recording as a profile: what the ledger, the kernel and the session
 * know, and when it is written while it runs. */
#include <string.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/heap.h"
#include "collect/blocks.h"
#include "collect/collect.h"
#include "collect/counters.h"
#include "session/recording_parts.h"

#define RECORDING_NAMES_AT_ONCE 256u

/* ---- what the kernel knows ---- */

void recording_look_at_mappings(struct recording *r, uint64_t now_ms)
{
        resident_look(&r->resident, (struct keepers_process){ r->pid, &r->view }, now_ms);
}

/* Threads name themselves when they like; the ones that run now are asked again. */
void recording_read_names(struct recording *r)
{
        uint32_t threads = view_count(&r->view, LEDGER_THREADS, r->view.head.thread_count,
                                      sizeof(struct ledger_thread));
        uint32_t slots = counters_slots(&r->view);

        if (threads > r->name_count) {
                r->names = heap_grow(r->names, threads, sizeof *r->names);
                memset(r->names + r->name_count, 0, (threads - r->name_count) * sizeof *r->names);
                r->name_count = threads;
        }
        for (uint32_t i = 0; i < slots && i < RECORDING_NAMES_AT_ONCE; i++) {
                struct counters_slot slot;
                struct ledger_thread thread;

                counters_slot(&r->view, i, &slot);
                view_read(&r->view, LEDGER_THREADS, slot.thread * sizeof thread, &thread,
                          sizeof thread);
                /* A slot that changes hands has the next one's number already. */
                if (!slot.used || slot.thread >= r->name_count || slot.tid != thread.tid)
                        continue;
                if (process_thread_name(r->pid, slot.tid, r->names[slot.thread].text))
                        memcpy(r->names[slot.thread].before, thread.name, sizeof thread.name);
        }
}

/* ---- what a profile has ---- */

/* How it ended, as the kernel told its parent; where that is not us, as its agent told. */
static void fill_end(const struct recording *r, const struct recording_end *end,
                     struct profile_meta *m)
{
        m->end = end->end;
        m->exit_code = end->code;
        m->exit_signal = end->signal;
        if (end->end == PROFILE_END_GONE && r->view.head.ending) {
                m->end = PROFILE_END_SIGNAL;
                m->exit_signal = r->view.head.ending;
        }
}

static void fill_meta(const struct recording *r, const struct recording_end *end, uint64_t now_ms,
                      struct profile *p)
{
        struct profile_meta *m = &p->meta;
        char host[256] = "";

        gethostname(host, sizeof host - 1);
        m->program = heap_text(r->program);
        m->cwd = heap_text(r->cwd);
        m->host = heap_text(host);
        m->engine = heap_text(r->plan->carrier->engine);
        m->version = heap_text(SEEP_VERSION);
        m->duration_ms = now_ms;
        fill_end(r, end, m);
        p->totals.rss_peak_bytes = r->rss.peak_bytes;
        p->totals.ledger_bytes = r->view.most_bytes;
        typed_arguments(m);
}

/* Whether a list of blocks may be made; false: R->unlisted says why not.  One for a search is part
 * of what that takes. */
static bool may_list(struct recording *r, enum purpose purpose)
{
        *r->unlisted = 0;
        if (purpose == FOR_LOOK || purpose == FOR_EVENTS || purpose == FOR_LIGHT ||
            purpose == FOR_REPORTS || purpose == FOR_SEARCH || purpose == FOR_ADOPTION)
                return purpose == FOR_SEARCH;
        return blocks_may_list(&r->view, (pid_t)r->pid, r->unlisted);
}

void recording_fill(struct recording *r, const struct recording_end *end, enum purpose purpose,
                    uint64_t now_ms, struct profile *p)
{
        static const struct recording_end running = { .end = PROFILE_END_UNKNOWN };
        struct collect_input in = {
                .view = &r->view,
                .slices = &r->slices,
                .names = r->names,
                .name_count = r->name_count,
                .pid = r->pid,
                .depth = r->depth,
                .ended = end && end->end != PROFILE_END_UNKNOWN,
                .ids = r->journal && (purpose == FOR_GOOD || purpose == FOR_CHECKPOINT ||
                                      purpose == FOR_LIGHT || purpose == FOR_EVENTS)
                               ? &r->ids
                               : NULL,
                .no_blocks = !may_list(r, purpose),
                .brief = purpose == FOR_REPORTS || (!*r->path && purpose != FOR_SEARCH &&
                                                    purpose != FOR_LOOK && purpose != FOR_EVENTS &&
                                                    purpose != FOR_BLOCKS),
        };

        collect(&in, p);
        fill_meta(r, end ? end : &running, now_ms, p);
        if (!in.brief)
                resident_store(&r->resident, p);
        if (!in.brief && *r->unlisted)
                collect_warn(p, "the recording has no list of live blocks: it takes %s",
                             r->unlisted);
        jit_read(&r->jit, p);
}

/* ---- written while it runs ---- */

struct point {
        struct recording *r;
        enum checkpoint_kind kind;
        uint64_t now_ms;
};

static bool write_point(void *context, int fd)
{
        const struct point *k = context;
        struct recording *r = k->r;
        struct profile p;
        struct err e;

        (void)fd;
        slices_cut(&r->slices, &r->view, k->now_ms, r->rss.last_bytes, true);
        recording_fill(r, NULL, k->kind == CHECKPOINT_WHOLE ? FOR_CHECKPOINT : FOR_LIGHT, k->now_ms,
                       &p);
        events_writer_point(r->journal, &r->ids, &p);
        collect_warn(&p, "seep was killed, or is still recording: later events are missing");
        if (k->kind == CHECKPOINT_LIGHT)
                collect_warn(&p, "the list of live blocks is missing: it was too long to be "
                                 "written every few seconds");
        return output_write(r->plan->output, &p, &r->path, false, &e);
}

/* By a worker, so that the clock and the slices go on meanwhile. */
void recording_checkpoint(struct recording *r, uint64_t now_ms)
{
        struct checkpoint_state state = { now_ms, r->view.present_bytes, r->plan->recordings };
        struct point k = { r, checkpoint_due(&r->checkpoint, &state), now_ms };
        struct err e;

        if (k.kind == CHECKPOINT_NONE || !view_refresh(&r->view, &e))
                return;
        rss_read_peak(&r->rss, &r->view, now_ms); /* all that it tells is of this moment */
        if (r->resident.pause_ms <= CHECKPOINT_EVERY_MS)
                recording_look_at_mappings(r, now_ms);
        worker_start(&r->checkpoint.writer, &(struct worker_order){ .work = write_point,
                                                                    .context = &k,
                                                                    .program = (pid_t)r->pid });
        checkpoint_begun(&r->checkpoint, k.kind, now_ms);
        output_written(r->plan->output, r->path);
}
