/* SPDX-License-Identifier: MIT */
#include "session/standstill.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attach/freeze.h"
#include "base/io.h"

enum {
        STANDSTILL_TRIES = 50, /* to meet it with no thread inside the agent ... */
        STANDSTILL_NAP_NS = 1000000, /* ... so far apart */
        STANDSTILL_PATIENCE_MS = 3000
};

struct order {
        pid_t pid;
        struct ledger_module agent; /* its code */
        int64_t wait_offset;
};

/* ---- in the worker ---- */

static bool is_in_agent(const struct order *o, const struct freeze *f)
{
        for (uint32_t i = 0; i < f->thread_count; i++)
                if (f->threads[i].pc >= o->agent.start && f->threads[i].pc < o->agent.end)
                        return true;
        return false;
}

static bool stop(const struct order *o, struct freeze *f)
{
        const struct timespec nap = { .tv_nsec = STANDSTILL_NAP_NS };
        struct err unused;

        for (uint32_t i = 0; freeze_stop(f, o->pid, &unused); i++) {
                f->wait_offset = o->wait_offset;
                if (i >= STANDSTILL_TRIES || !is_in_agent(o, f))
                        return true;
                freeze_release(f);
                freeze_close(f);
                nanosleep(&nap, NULL);
        }
        return false;
}

/* Until we are told that it may go on, or nobody is there who could. */
static bool work(void *context, int fd)
{
        struct pollfd told = { .fd = fd, .events = POLLIN };
        struct freeze f;

        if (!stop(context, &f))
                return false;
        if (io_write(fd, "", 1))
                poll(&told, 1, STANDSTILL_MS);
        freeze_release(&f);
        freeze_close(&f);
        return true;
}

/* ---- in the observer ---- */

void standstill_begin(struct standstill *s, const struct view *v, pid_t pid)
{
        struct order o = { .pid = pid,
                           .wait_offset = view_is_emulated(v) ? 0 : v->head.wait_offset };
        struct pollfd stands = { .events = POLLIN };

        if (v->head.own_module)
                view_read(v, LEDGER_MODULES,
                          (uint64_t)(v->head.own_module - 1) * sizeof o.agent, &o.agent,
                          sizeof o.agent);
        if (!worker_start(&s->worker, &(struct worker_order){ .work = work, .context = &o,
                                                              .socket = SOCK_SEQPACKET }))
                return;
        stands.fd = s->worker.fd;
        poll(&stands, 1, STANDSTILL_PATIENCE_MS);
}

void standstill_end(struct standstill *s)
{
        worker_close(&s->worker);
        worker_end(&s->worker, STANDSTILL_PATIENCE_MS);
}
