/* SPDX-License-Identifier: MIT */
#include "session/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/freeze.h"
#include "attach/procfs.h"
#include "base/io.h"
#include "collect/counters.h"
#include "collect/reset.h"
#include "collect/turn.h"
#include "session/listener.h"

#define CONTROL_TRIES 200u
#define CONTROL_NAP_NS 5000000l

/* What the worker tells. */
struct answer {
        bool good;
        uint64_t pause_ns;
        struct err err;
};

struct work {
        enum wire_control what;
        uint32_t pid;
        struct view *view;
};

void control_init(struct control *c)
{
        *c = (struct control){ .worker = WORKER_NONE, .asker = -1 };
}

void control_free(struct control *c)
{
        if (c->asker >= 0)
                listener_refuse(c->asker, "the process ended, or its recording did");
        c->asker = -1;
        worker_close(&c->worker);
}

/* ---- in the worker ---- */

static struct ledger_module own_module(const struct view *v)
{
        struct ledger_module own = { 0 };

        if (v->head.own_module)
                view_read(v, LEDGER_MODULES, (uint64_t)(v->head.own_module - 1) * sizeof own, &own,
                          sizeof own);
        return own;
}

/* Whether a thread is in the agent's code, where an event may be half done. */
static bool is_in_agent(const struct view *v, const struct freeze *f)
{
        struct ledger_module own = own_module(v);

        for (uint32_t i = 0; i < f->thread_count; i++)
                if (f->threads[i].pc >= own.start && f->threads[i].pc < own.end)
                        return true;
        return false;
}

/* The word of the agent that each event looks at.  (An emulator may have it elsewhere than the
 * program says.) */
static bool turn(const struct work *k, struct freeze *f, bool on, struct err *e)
{
        uint64_t at = k->view->head.special_at;
        int mem = process_open_memory(k->pid);
        uint32_t word = 0, bit = turn_32(k->view->turned, LEDGER_SPECIAL_OFF);
        bool good = at && mem >= 0;

        if (view_is_emulated(k->view)) {
                freeze_emulated(f, own_module(k->view).start, "/libseep.so");
                at += f->base;
        }
        good = good && pread(mem, &word, sizeof word, (off_t)at) == (ssize_t)sizeof word;
        word = on ? word & ~bit : word | bit;
        good = good && pwrite(mem, &word, sizeof word, (off_t)at) == (ssize_t)sizeof word;
        if (!good)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "its memory cannot be written");
        if (mem >= 0)
                close(mem);
        if (good)
                view_off(k->view, !on);
        return good;
}

/* One try, while all stands still.  BUSY: it is in the middle of something. */
static bool try_once(const struct work *k, bool *busy, struct answer *out)
{
        struct freeze f;
        bool good;

        *busy = false;
        if (k->what == WIRE_CONTROL_RESET && view_is_emulated(k->view))
                return err_set(&out->err, ERR_EXIT_CANNOT_TRACE,
                               "an emulator runs it: whether one of its threads is in the middle "
                               "of an allocation cannot be seen, so its recording cannot be reset");
        if (!freeze_stop(&f, (pid_t)k->pid, &out->err))
                return false;
        f.wait_offset = view_is_emulated(k->view) ? 0 : k->view->head.wait_offset;
        good = view_refresh(k->view, &out->err);
        *busy = good && k->what == WIRE_CONTROL_RESET &&
                (is_in_agent(k->view, &f) || reset_must_wait(k->view));
        if (good && !*busy)
                good = k->what == WIRE_CONTROL_RESET
                               ? reset_ledger(k->view, &out->err)
                               : turn(k, &f, k->what == WIRE_CONTROL_START, &out->err);
        freeze_release(&f);
        out->pause_ns = f.pause_ns;
        freeze_close(&f);
        return good;
}

static bool work(void *context, int fd)
{
        const struct timespec nap = { .tv_nsec = CONTROL_NAP_NS };
        const struct work *k = context;
        struct answer out = { 0 };
        bool busy = true;

        for (uint32_t i = 0; i < CONTROL_TRIES && busy; i++) {
                if (i)
                        nanosleep(&nap, NULL);
                out.good = try_once(k, &busy, &out);
        }
        if (busy)
                out.good = err_set(&out.err, ERR_EXIT_CANNOT_TRACE,
                                   "a thread of it was in the middle of an allocation at each of "
                                   "%u looks; try again",
                                   CONTROL_TRIES);
        return io_write(fd, &out, sizeof out);
}

/* ---- in the observer ---- */

void control_ask(struct control *c, const struct control_order *o)
{
        struct view own = *o->view;
        struct work k = { o->what, o->pid, &own };

        if (c->worker.pid) {
                listener_refuse(o->asker,
                                "another 'seep control' of process %u is under way; try again",
                                o->pid);
                return;
        }
        c->what = o->what;
        if (!worker_start(&c->worker, &(struct worker_order){ .work = work,
                                                              .context = &k,
                                                              .file = "seep-control" })) {
                listener_refuse(o->asker, "no process can be started for it: %s", strerror(errno));
                return;
        }
        c->asker = o->asker;
}

bool control_done(struct control *c, int status, uint64_t *pause_ns)
{
        struct answer out = { 0 };

        worker_reaped(&c->worker);
        if (status || !worker_read(&c->worker, 0, &out, sizeof out))
                err_set(&out.err, ERR_EXIT_CANNOT_TRACE,
                        "the process that was to do it ended early");
        if (!out.good) {
                listener_refuse(c->asker, "%s", out.err.text);
                c->asker = -1;
        }
        worker_close(&c->worker);
        *pause_ns = out.pause_ns;
        return out.good;
}

void control_status(const struct view *v, struct wire_status *out)
{
        uint32_t slots = counters_slots(v);
        uint64_t free_bytes = 0;

        for (uint32_t i = 0; i < slots; i++) {
                struct counters_slot slot;

                counters_slot(v, i, &slot);
                out->allocations += slot.allocs;
                out->frees += slot.frees;
                out->live_bytes += slot.alloc_bytes;
                free_bytes += slot.free_bytes;
        }
        out->live_bytes -= free_bytes < out->live_bytes ? free_bytes : out->live_bytes;
        out->live_blocks = out->allocations > out->frees ? out->allocations - out->frees : 0;
        out->lost = v->head.lost_events;
        out->older = v->head.older;
        out->start_realtime_ns = v->head.start_realtime_ns;
        out->off = v->head.off != 0;
}
