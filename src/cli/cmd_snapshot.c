/* SPDX-License-Identifier: MIT */
/*
 * cmd_snapshot.c -- `seep snapshot PID [LABEL]`: take a snapshot of a recorded process, with a
 * report.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/plain.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/offer.h"
#include "session/ask.h"
#include "words/text.h"

#define SNAPSHOT_OPTIONS(X)                                                        \
        X(SNAPSHOT_TAG, "tag", 0, NULL,                                            \
          "only give the moment a name, LABEL: no number, no report")              \
        OFFER_OPTION(X, SNAPSHOT)                                                  \
        X(SNAPSHOT_LEAKS, "leaks", 0, NULL,                                        \
          "search for leaks, too; the recording keeps what is found")              \
        X(SNAPSHOT_JSON, "json", 0, NULL, "machine-readable output")               \
        X(SNAPSHOT_QUIET, "quiet", 'q', NULL, "print only the name of the report") \
        LAST_OPTIONS(X, SNAPSHOT)

enum { SNAPSHOT_OPTIONS(OPTION_ENUM) SNAPSHOT_COUNT };
const struct option_entry snapshot_options[] = { SNAPSHOT_OPTIONS(OPTION_ENTRY) OPTION_END };

struct snapshot {
        uint32_t pid;
        const char *label;
        bool tag, json, quiet, leaks, attach;
};

static int say_help(void)
{
        return command_help(
                COMMAND_snapshot,
                "Take a snapshot of a process that is being recorded. It becomes part of the\n"
                "recording, under its number and LABEL, and a report shows what changed since the\n"
                "last one: PROGRAM-PID-N.memlog, beside the recording or where the program was\n"
                "started. With --leaks the process is searched for leaks as well, and 'seep leaks\n"
                "--at N' shows later what was found. PID is that of the program, or of the seep\n"
                "that started it.\n\n",
                "\nExit status: 0 done, 1 there is a snapshot but no report or no search, 2 usage\n"
                "error, 3 not recorded.\n");
}

/* As we would type it. */
static const char *short_name(const char *path)
{
        char here[PATH_MAX];
        size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;

        return length && strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1
                                                                                 : path;
}

/* What another process sent may upset a terminal. */
static void add_plain(struct str *out, const char *text)
{
        char *name = heap_text(text);

        plain_name(name);
        str_text(out, name);
        free(name);
}

static void add_sentence(const struct snapshot *s, const struct wire_reply *reply, struct str *out)
{
        if (s->tag)
                str_text(out, "tag");
        else
                str_format(out, "snapshot %" PRIu32, reply->seq);
        if (*s->label) {
                str_text(out, " '");
                add_plain(out, s->label);
                str_char(out, '\'');
        }
        str_format(out, " of PID %" PRIu32 ": ", s->pid);
        text_size(out, (int64_t)reply->live_bytes);
        str_text(out, " live");
        if (s->tag)
                return;
        str_text(out, "; report in ");
        add_plain(out, short_name(reply->text));
}

static void add_json(const struct snapshot *s, const struct wire_reply *reply, struct str *out)
{
        str_format(out,
                   "{\"seep\": 1, \"pid\": %" PRIu32 ", \"seq\": %" PRIu32 ", \"label\": ", s->pid,
                   reply->seq);
        json_text(out, s->label);
        str_format(out, ", \"live_bytes\": %" PRIu64 ", \"live_blocks\": %" PRIu64 ", \"report\": ",
                   reply->live_bytes, reply->live_blocks);
        if (s->tag)
                str_text(out, "null");
        else
                json_text(out, reply->text);
        str_char(out, '}');
}

static int say_refusal(const struct wire_reply *reply)
{
        struct str why = { 0 };

        add_plain(&why, reply->text);
        if (reply->seq)
                message("snapshot %" PRIu32 " was taken, but there is no report: %s", reply->seq,
                        str_get(&why));
        else
                message("%s", str_get(&why));
        str_free(&why);
        return (int)(reply->status & 0x7f);
}

/* What it finds goes into the recording. */
static int search(const struct snapshot *s, uint32_t seq)
{
        struct ask_image image = { .pid = s->pid, .search = true, .seq = seq, .fd = -1 };
        struct err e = { 0 };
        int status = 0;

        if (!ask_for_image(&image, &e)) {
                message("snapshot %" PRIu32 " was taken, but not searched for leaks: %s", seq,
                        e.text);
                status = ERR_EXIT_FINDINGS;
        }
        ask_image_close(&image);
        return status;
}

static int take_snapshot(struct snapshot *s)
{
        unsigned how = OFFER_ASKS | (s->attach ? OFFER_WANTED : 0) | (s->quiet ? OFFER_QUIET : 0);
        struct wire_reply reply;
        struct str out = { 0 };
        struct err e = { 0 };

        if (!ask_program(&s->pid, &e) || !offer_attach(s->pid, how, &e) ||
            !(s->tag ? ask_tag : ask_snapshot)(s->pid, s->label, &reply, &e))
                return message_error(&e);
        if (reply.status)
                return say_refusal(&reply);
        if (s->json)
                add_json(s, &reply, &out);
        else if (!s->quiet)
                add_sentence(s, &reply, &out);
        else if (!s->tag)
                add_plain(&out, short_name(reply.text));
        if (out.length) {
                str_char(&out, '\n');
                if (s->json)
                        fputs(str_get(&out), stdout);
                else
                        message_result(&out);
        }
        str_free(&out);
        return s->leaks ? search(s, reply.seq) : 0;
}

int cmd_snapshot(int argc, char **argv)
{
        struct snapshot s = { .label = "" };
        struct option_parser parser;
        uint64_t pid;
        int which;

        option_start(&parser, "snapshot", snapshot_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == SNAPSHOT_HELP)
                        return say_help();
                s.tag = s.tag || which == SNAPSHOT_TAG;
                s.json = s.json || which == SNAPSHOT_JSON;
                s.attach = s.attach || which == SNAPSHOT_ATTACH;
                s.leaks = s.leaks || which == SNAPSHOT_LEAKS;
                s.quiet = s.quiet || which == SNAPSHOT_QUIET;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        argv += parser.first_operand;
        argc -= parser.first_operand;
        if (argc < 1 || argc > 2)
                return message_usage("snapshot", "which process? seep snapshot PID [LABEL]");
        if (!quantity_number(argv[0], &pid) || pid == 0 || pid > INT_MAX)
                return message_usage("snapshot",
                                     "'%s' is not a process id; 'pgrep -a NAME' finds one",
                                     argv[0]);
        if (s.tag && argc < 2)
                return message_usage("snapshot",
                                     "--tag: which name? seep snapshot --tag PID LABEL");
        if (s.tag && s.leaks)
                return message_usage("snapshot", "--leaks is for a snapshot, not for a --tag");
        s.pid = (uint32_t)pid;
        s.label = argc > 1 ? argv[1] : "";
        return take_snapshot(&s);
}
