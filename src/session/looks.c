/* SPDX-License-Identifier: MIT */
#include "session/looks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "profile/file.h"
#include "session/listener.h"
#include "wire/hello.h"

void looks_init(struct looks *l)
{
        *l = (struct looks){ .worker = WORKER_NONE };
}

/* The first COUNT have been answered. */
static void forget(struct looks *l, uint32_t count)
{
        l->count -= count;
        if (l->count)
                memmove(l->askers, l->askers + count, l->count * sizeof *l->askers);
        l->served = 0;
}

static void refuse(struct looks *l, uint32_t count, const char *why)
{
        for (uint32_t i = 0; i < count; i++)
                listener_refuse(l->askers[i].fd, "%s", why);
        forget(l, count);
}

void looks_free(struct looks *l)
{
        refuse(l, l->count, "the process ended, or its recording did");
        free(l->askers);
        worker_close(&l->worker);
}

void looks_ask(struct looks *l, int asker, uint32_t flags)
{
        l->askers = heap_grow(l->askers, l->count + 1, sizeof *l->askers);
        l->askers[l->count++] = (struct looks_asker){ asker, flags };
}

struct look {
        const struct looks_order *order;
        uint32_t flags;
};

static bool make(void *context, int image)
{
        const struct look *k = context;
        struct profile p;
        struct err e;

        k->order->collect(k->order->context, k->flags, &p);
        return file_put(&p, image, &e);
}

void looks_start(struct looks *l, const struct looks_order *o)
{
        struct look k = { .order = o };

        if (l->worker.pid || !l->count)
                return;
        k.flags = l->askers[0].flags;
        for (l->served = 1; l->served < l->count && l->askers[l->served].flags == k.flags;
             l->served++)
                ;
        if (!worker_start(&l->worker, &(struct worker_order){ .work = make,
                                                              .context = &k,
                                                              .file = "seep-look",
                                                              .program = o->pid }))
                refuse(l, l->count, strerror(errno));
}

/* Of the observer's own directory, which nobody else knows. */
static void put_path(const char *path, struct wire_reply *reply)
{
        char here[sizeof reply->text - 1] = "";

        if (*path && *path != '/' && !getcwd(here, sizeof here))
                return;
        if ((size_t)snprintf(reply->text, sizeof reply->text, "%s%s%s", here, *here ? "/" : "",
                             path) >= sizeof reply->text)
                *reply->text = 0;
}

void looks_done(struct looks *l, int status, const char *path)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 1 };

        put_path(path, &reply);
        worker_reaped(&l->worker);
        if (status) {
                refuse(l, l->served, "the inspecting process ended early; out of memory?");
        } else {
                for (uint32_t i = 0; i < l->served; i++)
                        listener_reply_file(l->askers[i].fd, &reply, l->worker.fd);
                forget(l, l->served);
        }
        worker_close(&l->worker);
}
