/* SPDX-License-Identifier: MIT */
#include "remote/tracked.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "session/control.h"
#include "session/listener.h"

#define LATE                                                                       \
        "no host was connected when the program ended, so nobody searched it; 'seep " \
        "connect ADDR' before that, or 'seep connect ADDR leaks' while it runs"
#define LEFT                                                                        \
        "the recording ended while the process went on; 'seep connect ADDR leaks' " \
        "before that searches it"

void tracked_init(struct tracked *p, uint32_t number, uint32_t pid)
{
        *p = (struct tracked){ .number = number, .pid = pid, .scanning = -1, .reporting = -1,
                            .reporter = WORKER_NONE, .asker = -1 };
        scanner_init(&p->scanner);
}

static void close_end(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* Whoever still waits is told that it is over. */
static void tracked_free(struct tracked *p)
{
        scanner_free(&p->scanner);
        if (p->asker >= 0)
                listener_refuse(p->asker, "the process ended, or its recording did");
        if (p->reporter.pid)
                worker_end(&p->reporter, 0);
        worker_close(&p->reporter);
        close_end(&p->scanning);
        close_end(&p->reporting);
        held_close(p->held);
        if (p->in)
                incoming_free(p->in);
        tracked_init(p, p->number, p->pid);
        p->over = true;
}

/* Whether nothing comes from FD any more, without waiting. */
static bool has_ended(int fd)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char byte;

        return fd >= 0 && poll(&p, 1, 0) == 1 && read(fd, &byte, 1) <= 0;
}

/* ---- searches ---- */

struct searching {
        struct tracked *p;
        int collected; /* a byte: the ledger has been read */
};

static void collect(void *context, struct profile *out)
{
        const struct searching *k = context;

        incoming_look(k->p->in, out);
        (void)!write(k->collected, "", 1); /* or nobody waits for it */
}

static void nothing_before(void *context)
{
        (void)context;
}

static bool hold_nothing(void *context, struct freeze *f, struct err *e)
{
        (void)f;
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s", (const char *)context);
}

static struct scanner_order order_of(struct searching *k, const struct scan_far *far)
{
        return (struct scanner_order){ .view = (struct view *)incoming_view(k->p->in),
                                       .flags = 0,
                                       .unlisted = "",
                                       .far = far,
                                       .context = k,
                                       .collect = collect,
                                       .before_end = nothing_before };
}

static void note_done(struct tracked_house *h, struct tracked *p, uint64_t definite)
{
        if (p->asked)
                h->searched(h->context, p, definite);
        p->asked = 0;
}

/* Start the search; the ledger stays as it is until the worker has read it. */
static void search(struct tracked_house *h, struct tracked *p, const struct scan_far *far)
{
        int ends[2];
        struct searching k = { p, -1 };
        struct scanner_order order = order_of(&k, far);
        char byte;

        if (pipe2(ends, O_CLOEXEC) != 0) {
                h->wishes->say("no descriptor is left for a search");
                return;
        }
        k.collected = ends[1];
        scanner_start(&p->scanner, &order);
        if (scanner_is_last(&p->scanner)) {
                scanner_over(&p->scanner, order.view->head.tick_ms);
                scanner_tell_nothing(&p->scanner, &order);
        }
        close(ends[1]);
        while (p->scanner.worker.pid && read(ends[0], &byte, 1) < 0 && errno == EINTR)
                ;
        if (p->scanner.worker.pid) {
                p->scanning = ends[0];
                return;
        }
        close(ends[0]);
        note_done(h, p, 0);
}

static struct incoming_ranges ranges(const struct search_range *from, uint32_t count)
{
        struct ledger_range *all = heap_zero(count, sizeof *all);

        for (uint32_t i = 0; i < count; i++)
                all[i] = (struct ledger_range){ from[i].start, from[i].end };
        return (struct incoming_ranges){ all, count };
}

static void tell_facts(struct tracked *p)
{
        struct held_facts f;
        struct incoming_facts to;

        held_facts(p->held, &f);
        to = (struct incoming_facts){ .allocator = f.allocator, .scan_sp = f.scan_sp,
                                      .scan_context = f.scan_context,
                                      .own = ranges(f.own, f.own_count),
                                      .told = ranges(f.told, f.told_count) };
        incoming_tell(p->in, &to);
        free((void *)(uintptr_t)to.own.at);
        free((void *)(uintptr_t)to.told.at);
}

/* What is held is the worker's from then on. */
static void search_held(struct tracked_house *h, struct tracked *p)
{
        struct scan_far far = { .context = p->held, .hold = held_freeze };

        tell_facts(p);
        search(h, p, &far);
        held_forget(p->held);
        p->held = NULL;
}

/* Nobody held it: whoever asked is told WHY. */
static void search_not(struct tracked_house *h, struct tracked *p, const char *why)
{
        char text[1024];
        struct scan_far far = { .context = text, .hold = hold_nothing };

        snprintf(text, sizeof text, "%.1000s", why);
        held_close(p->held);
        p->held = NULL;
        search(h, p, &far);
}

/* If somebody wants a search and none is under way: ask for the process to be held. */
static void begin(struct tracked_house *h, struct tracked *p)
{
        uint32_t flags = p->scanner.asker_count ? p->scanner.askers[0].flags : 0;
        struct held_order o = { .link = h->link, .root = h->wishes->root, .pid = p->pid,
                                .ticket = h->next_ticket + 1,
                                .still = p->asked || (flags & WIRE_SCAN_HOLD) };
        struct err e = { 0 };

        if (p->held || p->scanner.worker.pid || !p->in ||
            (!p->asked && !p->scanner.asker_count))
                return;
        p->ticket = o.ticket;
        h->next_ticket++;
        p->held = held_open(&o, &e);
        if (!p->held)
                search_not(h, p, e.text);
}

void tracked_ask_scan(struct tracked_house *h, struct tracked *p, const struct wire_request *ask,
                      int fd)
{
        scanner_ask(&p->scanner, &(struct scanner_asker){ fd, ask->flags, ask->number });
        begin(h, p);
}

void tracked_asks(struct tracked_house *h, struct tracked *p, const struct protocol_asks *a)
{
        p->asked = a->asked;
        p->reason = a->reason;
        tracked_began(h, p);
}

void tracked_began(struct tracked_house *h, struct tracked *p)
{
        if (!p->in || !p->asked)
                return;
        incoming_asks(p->in, p->asked, p->reason);
        begin(h, p);
}

void tracked_moment(struct tracked_house *h, struct tracked *p, uint32_t ticket)
{
        struct err e = { 0 };

        if (!p->held || p->ticket != ticket || !p->in)
                return;
        if (held_is_answered(p->held) || held_answer(p->held, &e))
                search_held(h, p);
        else
                search_not(h, p, e.text);
}

void tracked_lost(struct tracked_house *h, struct tracked *p)
{
        if (p->held && p->in)
                search_not(h, p, "the connection to the target is lost");
        p->asked = 0;
}

static void scan_done(struct tracked_house *h, struct tracked *p)
{
        struct scanner_words words;

        close_end(&p->scanning);
        scanner_done(&p->scanner, incoming_view(p->in), worker_wait(&p->scanner.worker), &words);
        note_done(h, p, words.blocks[PROFILE_LEAK_DEFINITE]);
        begin(h, p);
}

/* ---- snapshots ---- */

struct reporting {
        const struct tracked_house *h;
        struct tracked *p;
        struct reports_order order;
};

static bool write_report(void *context, int results)
{
        const struct reporting *k = context;
        struct reports_place place = { (char *)(uintptr_t)k->h->folder,
                                       open(k->h->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                       incoming_program(k->p->in), k->p->pid };
        struct reports_result result;
        struct profile p;

        incoming_look(k->p->in, &p);
        reports_write(&k->h->wishes->author, &place, &p, &k->order, &result);
        return io_write(results, &result, sizeof result);
}

static void answer_moment(const struct tracked *p, int fd, const struct reports_result *r)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = p->moment.seq,
                                    .live_bytes = p->moment.live_bytes,
                                    .live_blocks = p->moment.live_blocks };

        if (r && !r->written)
                reply.status = ERR_EXIT_FINDINGS;
        if (r)
                snprintf(reply.text, sizeof reply.text, "%s", r->written ? r->path : r->why);
        listener_reply(fd, &reply);
}

void tracked_ask_snapshot(struct tracked_house *h, struct tracked *p,
                          const struct wire_request *ask, int fd)
{
        bool tag = ask->flags & WIRE_SNAPSHOT_TAG;
        struct reporting k = { h, p, { 0, p->reported_seq } };
        int ends[2];

        if (!tag && p->reporter.pid) {
                listener_refuse(fd, "another snapshot of process %u is under way; try again",
                                p->pid);
                return;
        }
        incoming_mark(p->in, tag ? LEDGER_MARK_TAG : LEDGER_MARK_OUTSIDE, ask->label, &p->moment);
        if (tag) {
                answer_moment(p, fd, NULL);
                return;
        }
        k.order.seq = p->reported_seq = p->moment.seq;
        if (pipe2(ends, O_CLOEXEC) != 0 ||
            !worker_start(&p->reporter, &(struct worker_order){ .work = write_report,
                                                                .context = &k,
                                                                .file = "seep-report" })) {
                listener_refuse(fd, "no process can be started for it: %s", strerror(errno));
                return;
        }
        close(ends[1]);
        p->reporting = ends[0];
        p->asker = fd;
}

static void report_done(struct tracked *p)
{
        struct reports_result result = { 0 };

        close_end(&p->reporting);
        if (worker_wait(&p->reporter) != 0 ||
            !worker_read(&p->reporter, 0, &result, sizeof result))
                snprintf(result.why, sizeof result.why, "the process that wrote it ended early");
        answer_moment(p, p->asker, &result);
        p->asker = -1;
        worker_close(&p->reporter);
}

/* ---- status and control ---- */

static void answer_status(const struct tracked *p, int fd, uint64_t pause_ns)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 1 };
        struct wire_status s = { .depth = p->depth, .pause_ns = pause_ns };

        control_status(incoming_view(p->in), &s);
        snprintf(s.engine, sizeof s.engine, "journal");
        snprintf(s.program, sizeof s.program, "%s", incoming_program(p->in));
        reply.live_bytes = s.live_bytes;
        reply.live_blocks = s.live_blocks;
        memcpy(reply.text, &s, sizeof s);
        listener_reply(fd, &reply);
}

void tracked_ask_status(const struct tracked *p, int fd)
{
        answer_status(p, fd, 0);
}

/* The agent there is told; what it does from then on comes by the journal. */
static bool turn(struct tracked_house *h, struct tracked *p, uint32_t what, uint64_t *pause_ns,
                 struct err *e)
{
        struct held_order o = { .link = h->link, .root = "", .pid = p->pid };
        bool was_off = incoming_view(p->in)->head.off, off = what == WIRE_CONTROL_STOP;
        struct incoming_moment unused;

        if (!held_control(&o, what, pause_ns, e))
                return false;
        incoming_off(p->in, off);
        if (was_off != off)
                incoming_mark(p->in, off ? LEDGER_MARK_DISABLE : LEDGER_MARK_ENABLE, "", &unused);
        return true;
}

void tracked_ask_control(struct tracked_house *h, struct tracked *p,
                         const struct wire_request *ask, int fd)
{
        uint64_t pause_ns = 0;
        struct err e = { 0 };
        bool good = true;

        switch (ask->flags) {
        case WIRE_CONTROL_DEPTH:
                p->depth = ask->number;
                incoming_depth(p->in, p->depth);
                break;
        case WIRE_CONTROL_RESET:
                p->reported_seq = 0;
                good = p->scanner.worker.pid
                               ? err_set(&e, ERR_EXIT_CANNOT_TRACE,
                                         "its ledger is being read; try again")
                               : incoming_reset(p->in, &e);
                break;
        case WIRE_CONTROL_START:
        case WIRE_CONTROL_STOP:
                good = turn(h, p, ask->flags, &pause_ns, &e);
                break;
        default:
                good = err_set(&e, ERR_EXIT_CANNOT_TRACE, "this seep does not know the request");
        }
        if (good)
                answer_status(p, fd, pause_ns);
        else
                listener_refuse(fd, "the recording of process %u cannot be changed so: %s",
                                ask->pid, e.text);
}

/* ---- what is waited for ---- */

void tracked_waits(const struct tracked *p, int out[TRACKED_WAITS])
{
        out[0] = p->scanning;
        out[1] = p->reporting;
        out[2] = p->held ? held_wait_at(p->held) : -1;
}

/* An answer that is no process to search: its journal will not come to any moment. */
static void look_at_held(struct tracked_house *h, struct tracked *p)
{
        struct pollfd w = { .fd = p->held ? held_wait_at(p->held) : -1, .events = POLLIN };
        struct err e = { 0 };

        if (w.fd >= 0 && poll(&w, 1, 0) == 1 && !held_answer(p->held, &e))
                search_not(h, p, e.text);
}

void tracked_look(struct tracked_house *h, struct tracked *p)
{
        if (!p->in)
                return;
        if (has_ended(p->scanning))
                scan_done(h, p);
        if (has_ended(p->reporting))
                report_done(p);
        look_at_held(h, p);
}

void tracked_finish(struct tracked_house *h, struct tracked *p, struct profile *out)
{
        struct searching k = { p, -1 };
        struct scanner_order order = order_of(&k, NULL);

        if (p->held)
                search_not(h, p, "the process ended before it could be stopped");
        incoming_profile(p->in, out);
        if ((p->late || incoming_is_left(p->in)) && !p->scanner.last_trouble[0])
                snprintf(p->scanner.last_trouble, sizeof p->scanner.last_trouble, "%s",
                         incoming_is_left(p->in) ? LEFT : LATE);
        scanner_keep(&p->scanner, out);
        scanner_finish(&p->scanner, &order, out);
        tracked_free(p);
}
