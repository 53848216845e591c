/* SPDX-License-Identifier: MIT */
/*
 * cmd_control.c -- `seep control PID start|stop|reset|depth N|status`: a recording from outside.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/suggest.h"
#include "session/ask.h"
#include "words/text.h"

#define CONTROL_OPTIONS(X)                                                                         \
        X(CONTROL_JSON, "json", 0, NULL, "machine-readable output")                                \
        X(CONTROL_QUIET, "quiet", 'q', NULL, "print nothing but errors")                           \
        LAST_OPTIONS(X, CONTROL)

enum { CONTROL_OPTIONS(OPTION_ENUM) CONTROL_COUNT };
const struct option_entry control_options[] = { CONTROL_OPTIONS(OPTION_ENTRY) OPTION_END };

#define CONTROL_STATUS 0 /* besides enum wire_control */
#define CONTROL_DEPTH_MAX 1000000u

static const struct {
        const char *word;
        uint32_t what;
} verbs[] = {
        { "start", WIRE_CONTROL_START }, { "stop", WIRE_CONTROL_STOP },
        { "reset", WIRE_CONTROL_RESET }, { "depth", WIRE_CONTROL_DEPTH },
        { "status", CONTROL_STATUS },
};

#define VERBS (sizeof verbs / sizeof *verbs)

struct control_command {
        uint32_t pid, what, depth;
        bool json, quiet;
};

static int say_help(void)
{
        return command_help(
                COMMAND_control,
                "Change how a process is recorded while it runs, or show how it is recorded now.\n"
                "  start    record new blocks, also after --start-off\n"
                "  stop     do not record new blocks; known blocks are still followed\n"
                "  reset    count from zero: blocks from before are left out, and their releases\n"
                "           are no errors\n"
                "  depth N  keep the N innermost frames of each stack in the recording; all\n"
                "  status   print on or off, depth, live blocks and bytes, events, lost events\n"
                "start, stop and reset halt the process for about a millisecond. PID is that of\n"
                "the program, or of the seep that started it.\n\n",
                "\nExit status: 0 done, 2 usage error, 3 not recorded, or not possible now.\n");
}

/* ---- words ---- */

static int take_verb(struct control_command *w, const char *word)
{
        const char *words[VERBS];

        for (size_t i = 0; i < VERBS; i++) {
                words[i] = verbs[i].word;
                if (strcmp(word, verbs[i].word) == 0) {
                        w->what = verbs[i].what;
                        return 0;
                }
        }
        word = suggest_nearest(word, words, VERBS);
        return message_usage("control", "start, stop, reset, depth N or status is expected%s%s%s",
                             word ? "; did you mean " : "", word ? word : "", word ? "?" : "");
}

/* Stacks are stored whole, so that the number may be raised again. */
static int take_depth(struct control_command *w, const char *word)
{
        uint64_t depth;

        if (strcmp(word, "all") == 0)
                return 0;
        if (!quantity_number(word, &depth) || depth > CONTROL_DEPTH_MAX)
                return message_usage("control",
                                     "depth '%s': a number of frames, or all, is expected", word);
        if (!depth)
                return message_usage("control",
                                     "depth 0: stacks are left out from the start only: seep "
                                     "record --depth 0");
        w->depth = (uint32_t)depth;
        return 0;
}

static int take_operands(struct control_command *w, int count, char **words)
{
        uint64_t pid;
        int status;

        if (count < 2)
                return message_usage("control",
                                     "which process, and what? seep control PID "
                                     "start|stop|reset|depth N|status");
        if (!quantity_number(words[0], &pid) || pid == 0 || pid > INT_MAX)
                return message_usage("control",
                                     "'%s' is not a process id; 'seep ps' lists those that are "
                                     "recorded", words[0]);
        w->pid = (uint32_t)pid;
        status = take_verb(w, words[1]);
        if (status)
                return status;
        if (count != (w->what == WIRE_CONTROL_DEPTH ? 3 : 2))
                return w->what == WIRE_CONTROL_DEPTH
                               ? message_usage("control", "depth N: how many frames?")
                               : message_usage("control", "'%s' is one word too many", words[2]);
        return w->what == WIRE_CONTROL_DEPTH ? take_depth(w, words[2]) : 0;
}

/* ---- the answer ---- */

static void add_json(const struct control_command *w, const struct wire_status *s, struct str *out)
{
        str_format(out, "{\"seep\": 1, \"pid\": %" PRIu32 ", \"program\": ", w->pid);
        json_text(out, s->program);
        str_format(out, ", \"engine\": \"%s\", \"on\": %s, \"depth\": ", s->engine,
                   s->off ? "false" : "true");
        if (s->depth)
                str_format(out, "%" PRIu32, s->depth);
        else
                str_text(out, "null");
        str_format(out,
                   ", \"live_blocks\": %" PRIu64 ", \"live_bytes\": %" PRIu64 ", \"allocations\": %"
                   PRIu64 ", \"frees\": %" PRIu64 ", \"events\": %" PRIu64 ", \"lost\": %" PRIu64
                   ", \"older\": %" PRIu64 ", \"pause_us\": %" PRIu64 "}\n", s->live_blocks,
                   s->live_bytes, s->allocations, s->frees, s->allocations + s->frees, s->lost,
                   s->older, s->pause_ns / 1000);
}

static void add_text(const struct control_command *w, const struct wire_status *s, struct str *out)
{
        str_format(out, "process %" PRIu32 ": %s, depth ", w->pid, s->off ? "off" : "on");
        if (s->depth)
                str_format(out, "%" PRIu32, s->depth);
        else
                str_text(out, "all");
        str_text(out, ", ");
        text_size(out, (int64_t)s->live_bytes);
        str_text(out, " in ");
        text_number(out, (int64_t)s->live_blocks);
        str_format(out, " block%s, ", s->live_blocks == 1 ? "" : "s");
        text_number(out, (int64_t)(s->allocations + s->frees));
        str_text(out, " events, ");
        text_number(out, (int64_t)s->lost);
        str_text(out, " lost");
        if (s->older) {
                str_text(out, ", ");
                text_number(out, (int64_t)s->older);
                str_format(out, " release%s of older blocks", s->older == 1 ? "" : "s");
        }
        str_char(out, '\n');
}

static int control(struct control_command *w)
{
        struct ask_change change = { w->what, w->depth };
        struct wire_status s = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };

        if (!ask_program(&w->pid, &e) ||
            !(w->what == CONTROL_STATUS ? ask_status(w->pid, &s, &e)
                                        : ask_control(w->pid, change, &s, &e)))
                return message_error(&e);
        if (w->json) {
                add_json(w, &s, &out);
                fputs(str_get(&out), stdout);
        } else if (!w->quiet) {
                add_text(w, &s, &out);
                message_result(&out);
        }
        str_free(&out);
        return 0;
}

int cmd_control(int argc, char **argv)
{
        struct control_command w = { 0 };
        struct option_parser parser;
        int which, status;

        option_start(&parser, "control", control_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == CONTROL_HELP)
                        return say_help();
                w.json |= which == CONTROL_JSON;
                w.quiet |= which == CONTROL_QUIET;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        status = take_operands(&w, argc - parser.first_operand, argv + parser.first_operand);
        return status ? status : control(&w);
}
