/* SPDX-License-Identifier: MIT */
/*
 * answers.c -- words about snapshots: for the user, and for commands that asked for one.
 *
 * Room:   outside.
 */
#include "session/answers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/signals.h"
#include "session/greeter.h"
#include "wire/hello.h"

static const char *limit_consequence(uint32_t flags)
{
        if (flags & WIRE_F_LIMIT_ENOMEM)
                return "allocations beyond it fail";
        return flags & WIRE_F_LIMIT_SNAPSHOT ? "it goes on" : "stopped";
}

bool answers_word(const struct session_options *o, const struct recording *r, const struct snapshots_due *due,
                  const struct reports_result *result, char *out, size_t room)
{
        if (due->type == LEDGER_MARK_LIMIT)
                snprintf(out, room, "%s (pid %u) passed --limit-heap %s: %s; %s%s", r->program, r->pid, o->limit_text,
                         limit_consequence(o->flags), result->written ? "report in " : "no report: ",
                         result->written ? result->path : result->why);
        else if (!result->written)
                snprintf(out, room, "no report about snapshot %u of %s (pid %u): %s", result->seq, r->program, r->pid, result->why);
        return due->type == LEDGER_MARK_LIMIT || !result->written;
}

void answers_signal(const struct session_options *o, const struct recording *r, char *out, size_t room)
{
        char name[SIGNALS_NAME_BYTES];
        const char *program = o->attended && strrchr(r->program, '/') ? strrchr(r->program, '/') + 1 : r->program;

        signals_name(o->signal, name);
        if (r->view.head.signal_state == LEDGER_SIGNAL_BEFORE)
                snprintf(out, room, "%s was started with %s ignored or blocked", program, name);
        else
                snprintf(out, room, "%s handles %s itself", program, name);
        snprintf(out + strlen(out), room - strlen(out),
                 "; reports by signal are off (choose another: %s--signal=..., or: seep snapshot %u)",
                 o->attended ? "SEEP_OPTIONS=" : "", r->pid);
}

void answers_scan(const struct recording *r, const struct scanner_words *words, char *out, size_t room)
{
        uint64_t blocks = words->blocks[PROFILE_LEAK_DEFINITE] + words->blocks[PROFILE_LEAK_INDIRECT];
        uint64_t bytes = words->bytes[PROFILE_LEAK_DEFINITE] + words->bytes[PROFILE_LEAK_INDIRECT];

        if (!words->good)
                snprintf(out, room, "leak check in %s (pid %u): %s", r->program, r->pid, words->trouble);
        else
                snprintf(out, room, "leak check in %s (pid %u): %" PRIu64 " bytes in %" PRIu64 " blocks are lost, %" PRIu64
                                    " of these blocks definitely",
                         r->program, r->pid, bytes, blocks, words->blocks[PROFILE_LEAK_DEFINITE]);
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
        greeter_reply(due->asker, &reply);
}

void answers_refuse(int fd, const char *format, ...)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .status = ERR_EXIT_CANNOT_TRACE };
        va_list ap;

        va_start(ap, format);
        vsnprintf(reply.text, sizeof reply.text, format, ap);
        va_end(ap);
        greeter_reply(fd, &reply);
}
