/* SPDX-License-Identifier: MIT */
/*
 * requests.c -- what commands in other processes ask of the observer.
 *
 * Room:   outside.
 */
#include "session/requests.h"

#include <stdio.h>

#include "base/clock.h"
#include "session/answers.h"
#include "session/greeter.h"

/* As many as the answer has room for. */
static void tell_processes(const struct requests_among *among, int fd)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = among->count };
        size_t length = 0;

        for (uint32_t i = 0; i < among->count && length + 12 < sizeof reply.text; i++)
                length += (size_t)snprintf(reply.text + length, sizeof reply.text - length, "%u ", among->recordings[i]->pid);
        greeter_reply(fd, &reply);
}

static struct recording *find(const struct requests_among *among, uint32_t pid)
{
        for (uint32_t i = 0; i < among->count; i++)
                if (among->recordings[i]->pid == pid)
                        return among->recordings[i];
        return NULL;
}

void requests_serve(const struct requests_among *among, const struct wire_request *ask, int fd)
{
        struct recording *r = find(among, ask->pid);

        if (!among->allowed)
                answers_refuse(fd, "process %u is recorded by another user; only that user and root may ask", ask->pid);
        else if (ask->type == WIRE_REQUEST_PROCESSES)
                tell_processes(among, fd);
        else if (ask->type != WIRE_REQUEST_SNAPSHOT && ask->type != WIRE_REQUEST_SCAN && ask->type != WIRE_REQUEST_LOOK)
                answers_refuse(fd, "the seep that records process %u does not know this request: it is another version", ask->pid);
        else if (!r)
                answers_refuse(fd, "process %u is not among those recorded there (see --follow)", ask->pid);
        else if (ask->type == WIRE_REQUEST_SCAN)
                recording_ask_scan(r, ask->flags, fd);
        else if (ask->type == WIRE_REQUEST_LOOK)
                recording_ask_look(r, ask->flags, fd);
        else
                recording_ask(r, ask->label, fd, clock_now_ns());
}
