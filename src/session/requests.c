/* SPDX-License-Identifier: MIT */
#include "session/requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#include "session/listener.h"
#include "wire/hello.h"

/* ---- words about snapshots: for the user, and for commands that asked for one ---- */

static const char *limit_consequence(uint32_t flags)
{
        if (flags & WIRE_F_LIMIT_ENOMEM)
                return "allocations beyond it fail";
        return flags & WIRE_F_LIMIT_SNAPSHOT ? "it continues" : "stopped";
}

bool answers_word(const struct session_options *o, const struct recording *r,
                  const struct snapshots_due *due, const struct reports_result *result, char *out,
                  size_t room)
{
        if (due->type == LEDGER_MARK_LIMIT)
                snprintf(out, room, "%s (pid %u) passed --limit-heap %s: %s; %s%s", r->program,
                         r->pid, o->limit_text, limit_consequence(o->flags),
                         result->written ? "report in " : "no report: ",
                         result->written ? result->path : result->why);
        else if (!result->written)
                snprintf(out, room, "no report about snapshot %u of %s (pid %u): %s", result->seq,
                         r->program, r->pid, result->why);
        return due->type == LEDGER_MARK_LIMIT || !result->written;
}

void answers_signal(const struct session_options *o, const struct recording *r, char *out,
                    size_t room)
{
        char name[SIGNALS_NAME_BYTES];
        const char *program = o->carrier->borrowed && strrchr(r->program, '/')
                                      ? strrchr(r->program, '/') + 1
                                      : r->program;

        signals_name(o->signal, name);
        if (r->view.head.signal_state == LEDGER_SIGNAL_BEFORE)
                snprintf(out, room, "%s was started with %s ignored or blocked", program, name);
        else
                snprintf(out, room, "%s handles %s itself", program, name);
        snprintf(out + strlen(out), room - strlen(out),
                 "; reports by signal are off (choose another: %s--signal=..., or: seep snapshot "
                 "%u)", o->carrier->options, r->pid);
}

void answers_scan(const struct recording *r, const struct scanner_words *words, char *out,
                  size_t room)
{
        uint64_t blocks = words->blocks[PROFILE_LEAK_DEFINITE] +
                          words->blocks[PROFILE_LEAK_INDIRECT];
        uint64_t bytes = words->bytes[PROFILE_LEAK_DEFINITE] + words->bytes[PROFILE_LEAK_INDIRECT];

        if (!words->good)
                snprintf(out, room, "leak check in %s (pid %u): %s", r->program, r->pid,
                         words->trouble);
        else
                snprintf(out, room,
                         "leak check in %s (pid %u): %" PRIu64 " bytes in %" PRIu64 " blocks are "
                         "lost, %" PRIu64 " of these blocks definitely", r->program, r->pid, bytes,
                         blocks, words->blocks[PROFILE_LEAK_DEFINITE]);
}

void answers_reply(const struct snapshots_due *due, const struct reports_result *result)
{
        struct wire_reply reply = {
                .magic = WIRE_REQUEST_MAGIC,
                .status = result->written ? 0 : ERR_EXIT_FINDINGS,
                .seq = result->seq,
                .live_bytes = due->live_bytes,
                .live_blocks = due->live_blocks,
        };

        snprintf(reply.text, sizeof reply.text, "%s", result->written ? result->path : result->why);
        listener_reply(due->asker, &reply);
}

/* ---- what commands in other processes ask of the observer ---- */

/* As many as the answer has room for, from the one on that was asked for. */
static void tell_processes(const struct requests_among *among, uint32_t from, int fd)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = among->count };
        size_t length = 0;

        for (uint32_t i = from; i < among->count && length + 12 < sizeof reply.text; i++)
                length += (size_t)snprintf(reply.text + length, sizeof reply.text - length, "%u ",
                                           among->recordings[i]->pid);
        listener_reply(fd, &reply);
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
                listener_refuse(fd,
                                "process %u is recorded by another user; only that user and root "
                                "have access", ask->pid);
        else if (ask->type == WIRE_REQUEST_PROCESSES)
                tell_processes(among, ask->number, fd);
        else if (ask->type < WIRE_REQUEST_SNAPSHOT || ask->type > WIRE_REQUEST_CONTROL)
                listener_refuse(fd,
                                "the seep that records process %u does not know this request: it "
                                "is another version", ask->pid);
        else if (!r)
                listener_refuse(fd, "process %u is not among those recorded there (see --follow)",
                                ask->pid);
        else if (ask->type == WIRE_REQUEST_SCAN)
                recording_ask_scan(r, ask, fd);
        else if (ask->type == WIRE_REQUEST_LOOK)
                recording_ask_look(r, ask->flags, fd);
        else if (ask->type == WIRE_REQUEST_STATUS)
                recording_ask_status(r, fd);
        else if (ask->type == WIRE_REQUEST_CONTROL)
                recording_ask_control(r, ask, fd);
        else
                recording_ask(r, ask, fd, clock_now_ns());
}
