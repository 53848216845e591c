/* SPDX-License-Identifier: MIT */
#include "session/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/helper.h"
#include "profile/file.h"
#include "session/listener.h"
#include "wire/hello.h"

static void close_image(struct looks *l)
{
        if (l->image >= 0)
                close(l->image);
        l->image = -1;
}

void looks_init(struct looks *l)
{
        *l = (struct looks){ .image = -1 };
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
        close_image(l);
}

void looks_ask(struct looks *l, int asker, uint32_t flags)
{
        l->askers = heap_grow(l->askers, l->count + 1, sizeof *l->askers);
        l->askers[l->count++] = (struct looks_asker){ asker, flags };
}

/* In a process of its own, which ends here. */
static void make(const struct looks *l, const struct looks_order *o)
{
        struct profile p;
        struct err e;

        helper_begin(o->pid, NULL, NULL);
        o->collect(o->context, l->askers[0].flags, &p);
        _exit(file_put(&p, l->image, &e) ? 0 : 1);
}

void looks_start(struct looks *l, const struct looks_order *o)
{
        if (l->worker || !l->count)
                return;
        for (l->served = 1; l->served < l->count && l->askers[l->served].flags == l->askers[0].flags; l->served++)
                ;
        l->image = memfd_create("seep-look", MFD_CLOEXEC);
        l->worker = l->image >= 0 ? fork() : -1;
        if (l->worker == 0)
                make(l, o);
        if (l->worker > 0)
                return;
        l->worker = 0;
        refuse(l, l->count, strerror(errno));
        close_image(l);
}

void looks_done(struct looks *l, int status)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 1 };

        l->worker = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                refuse(l, l->served, "the inspecting process ended early; out of memory?");
        } else {
                for (uint32_t i = 0; i < l->served; i++)
                        listener_reply_file(l->askers[i].fd, &reply, l->image);
                forget(l, l->served);
        }
        close_image(l);
}
