/* SPDX-License-Identifier: MIT */
/*
 * cmd_top.c -- `seep top PID|FILE`: a process as it runs, or a recording moment by moment.
 *
 * Keeps:  options that `seep report` has too mean the same here: they are handed to it by name.
 */
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/offer.h"
#include "cli/pager.h"
#include "cli/report.h"
#include "session/ask.h"
#include "top/top.h"

#define TOP_OPTIONS(X)                                                                          \
        X(TOP_HEAD_SCRIPT, NULL, 0, NULL, "for scripts:")                                       \
        X(TOP_BATCH, "batch", 0, "N",                                                           \
          "print N screens as text and exit; for a recording: N moments, the last one its end") \
        X(TOP_HEAD_WHEN, NULL, 0, NULL, "when:")                                                \
        OFFER_OPTION(X, TOP)                                                                    \
        X(TOP_INTERVAL, "interval", 0, "TIME", "time between two updates (1s)")                 \
        X(TOP_AT, "at", 0, "WHEN",                                                              \
          "for a recording: start at peak, end, a time, a snapshot's number, or a label",       \
          "peak|end|...")                                                                       \
        FILTER_OPTIONS(X, TOP)                                                                  \
        THREAD_OPTION(X, TOP)                                                                   \
        X(TOP_HEAD_SHAPE, NULL, 0, NULL, "how it is shown:")                                    \
        X(TOP_SORT, "sort", 's', "KEY",                                                         \
          "live-bytes (default) change live-blocks allocs (per second) age",                    \
          "live-bytes|change|live-blocks|allocs|age")                                           \
        X(TOP_GROUP_BY, "group-by", 0, "KIND",                                                  \
          "stack (default), function, file, module, thread or size",                            \
          "stack|function|file|module|thread|size")                                             \
        X(TOP_LIMIT, "limit", 'n', "N", "at most N lines (--batch: 10000)")                     \
        WRAPPER_OPTIONS(X, TOP)                                                                 \
        COLOR_OPTION(X, TOP)                                                                    \
        NAMES_OPTIONS(X, TOP)                                                                   \
        X(TOP_HEAD_SAID, NULL, 0, NULL, "messages:")                                            \
        X(TOP_QUIET, "quiet", 'q', NULL, "no warnings")                                         \
        LAST_OPTIONS(X, TOP)

enum { TOP_OPTIONS(OPTION_ENUM) TOP_COUNT };
const struct option_entry top_options[] = { TOP_OPTIONS(OPTION_ENTRY) OPTION_END };

enum { TOP_WORDS = 64, TOP_COLUMNS = 80, TOP_COLUMNS_LEAST = 20, TOP_COLUMNS_MOST = 1000,
       TOP_INTERVAL_LEAST_MS = 100 };

/* What was asked for. */
struct top_command {
        struct report asked; /* names, wrappers, limit, groups */
        struct top_options top;
        struct top_word words[TOP_WORDS];
        struct str filter, thread; /* expressions joined: one of them has to match */
        const char *at_word;
        uint32_t batch; /* 0: in the terminal */
        bool attach;
};

static int say_help(void)
{
        return command_help(
                COMMAND_top,
                "Show where a process that is being recorded holds its memory, as it runs: live\n"
                "bytes by call stack, how they changed in the last 60 seconds, blocks, calls per\n"
                "second, age. PID is its own, or that of the seep that started it. A recording\n"
                "(FILE, the newest *.seep here) is shown moment by moment. h lists the keys.\n",
                "\nexamples:\n"
                "  seep top 4711                        a server that 'seep record' started\n"
                "  seep top -s change $(pidof server)   what grew first\n"
                "  seep top --batch 1 -n 10 4711        ten lines for a script\n"
                "  seep top run.seep                    replay; space lets time run\n"
                "\nExit status: 0 success, 2 usage error, 3 the process is not recorded, 4 the "
                "file\n"
                "cannot be read.\n");
}

/* ---- words ---- */

static int take_number(const char *option, const char *value, uint32_t *out)
{
        uint64_t number;

        if (!quantity_number(value, &number) || !number || number > UINT32_MAX)
                return message_usage("top", "--%s '%s': a number from 1 on is expected", option,
                                     value);
        *out = (uint32_t)number;
        return 0;
}

static int take_interval(struct top_command *w, const char *value)
{
        if (!quantity_time(value, &w->top.interval_ms) ||
            w->top.interval_ms < TOP_INTERVAL_LEAST_MS || w->top.interval_ms > INT_MAX)
                return message_usage("top",
                                     "--interval needs a time like 2s, at least %d ms, not '%s'",
                                     TOP_INTERVAL_LEAST_MS, value);
        return 0;
}

/* Wrong ones are reported here, where the caret below the fault has room. */
static int take_filter(struct top_command *w, enum filter_kind kind, const char *option,
                       const char *value)
{
        struct str *joined = kind == FILTER_INCLUDE  ? &w->filter
                             : kind == FILTER_THREAD ? &w->thread
                                                     : NULL;
        struct filter tried = { 0 };
        struct err e = { 0 };
        bool good = filter_add(&tried, kind, value, &e);

        filter_free(&tried);
        if (!good)
                return message_usage("top", "--%s: %s", option, e.text);
        if (joined)
                str_format(joined, "%s%s", joined->length ? "|" : "", value);
        else if (w->top.word_count == TOP_WORDS)
                return message_usage("top", "more than %d expressions", TOP_WORDS);
        else
                w->words[w->top.word_count++] = (struct top_word){ kind, value };
        return 0;
}

static int take(void *to, int which, const char *value)
{
        struct top_command *w = to;

        switch (which) {
        case TOP_BATCH:
                return take_number("batch", value, &w->batch);
        case TOP_INTERVAL:
                return take_interval(w, value);
        case TOP_AT:
                w->at_word = value;
                return 0;
        case TOP_ATTACH:
                w->attach = true;
                return 0;
        case TOP_INCLUDE:
                return take_filter(w, FILTER_INCLUDE, "include", value);
        case TOP_EXCLUDE:
                return take_filter(w, FILTER_EXCLUDE, "exclude", value);
        case TOP_MODULE:
                return take_filter(w, FILTER_MODULE, "module", value);
        case TOP_NOT_MODULE:
                return take_filter(w, FILTER_NOT_MODULE, "exclude-module", value);
        case TOP_THREAD:
                return take_filter(w, FILTER_THREAD, "thread", value);
        case TOP_SORT:
                rows_column_named(value, &w->top.sort); /* one of the table's values */
                return 0;
        default:
                return report_take(&w->asked, report_option(top_options[which].name), value);
        }
}

/* A script has a width of its own; COLUMNS is what shells tell. */
static uint32_t script_columns(void)
{
        const char *word = getenv("COLUMNS");
        uint64_t columns;

        if (!word || !quantity_number(word, &columns) || columns < TOP_COLUMNS_LEAST ||
            columns > TOP_COLUMNS_MOST)
                return TOP_COLUMNS;
        return (uint32_t)columns;
}

static bool print(const struct str *text, struct err *e)
{
        if (io_write(STDOUT_FILENO, str_get(text), text->length))
                return true;
        return err_sys(e, ERR_EXIT_FINDINGS, "cannot write to stdout");
}

static void settle(struct top_command *w)
{
        struct report *r = &w->asked;

        setlocale(LC_CTYPE, "");
        names_settle(&r->names, true); /* sentences would disturb the screen */
        w->top.names = &r->names.options;
        w->top.wrappers = &r->wrappers;
        w->top.all_frames = r->all_frames;
        w->top.words = w->words;
        w->top.filter = str_get(&w->filter);
        w->top.thread = str_get(&w->thread);
        w->top.group = r->group;
        w->top.limit = r->limit;
        w->top.color = pager_color(r->color, STDOUT_FILENO);
        w->top.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        w->top.columns = script_columns();
        w->top.print = print;
}

/* ---- files and processes ---- */

static int show(struct top_command *w)
{
        struct err e = { 0 };
        int ended_by = 0;
        bool good = w->batch ? top_batch(&w->top, w->batch, &e)
                             : top_view(&w->top, &ended_by, &e);

        offer_end();
        if (!good)
                return message_error(&e);
        if (ended_by) { /* the terminal is as it was: end as the signal wants it */
                signal(ended_by, SIG_DFL);
                raise(ended_by);
        }
        return 0;
}

static int of_file(struct top_command *w, const char *file)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        int status;

        if (!load_recording(&p, file, w->asked.quiet ? LOAD_QUIET : 0, &e))
                return message_error(&e);
        w->top.recording = &p;
        if (w->at_word && !moment_find(&p, w->at_word, &w->top.at, &e))
                status = message_error(&e);
        else
                status = show(w);
        profile_free(&p);
        return status;
}

static int of_process(struct top_command *w)
{
        struct err e = { 0 };

        if (w->at_word)
                return message_usage("top",
                                     "--at is for a recording: a process is shown as it is now");
        return ask_program(&w->top.pid, &e) &&
                               offer_attach(w->top.pid,
                                            (w->attach ? OFFER_WANTED : 0) |
                                                    (w->batch ? 0 : OFFER_ASKS) | OFFER_ENDS,
                                            &e)
                       ? show(w)
                       : message_error(&e);
}

static int of_operand(struct top_command *w, int count, char **words)
{
        char *newest = NULL;
        struct err e = { 0 };
        int status;

        if (count > 1)
                return message_usage("top", "one process or recording at a time, not also '%s'",
                                     words[1]);
        settle(w);
        if (newest_is_process(count ? words[0] : NULL, &w->top.pid))
                return of_process(w);
        if (!count && !newest_recording(&newest, &e))
                return message_error(&e);
        status = of_file(w, count ? words[0] : newest);
        free(newest);
        return status;
}

int cmd_top(int argc, char **argv)
{
        struct top_command w = { .asked = { .command = "top" },
                                 .top = { .interval_ms = TOP_INTERVAL_MS } };
        struct option_parser parser;
        int status;

        option_start(&parser, "top", top_options, argc, argv);
        status = option_take(&parser, take, &w);
        if (!status)
                status = of_operand(&w, argc - parser.first_operand, argv + parser.first_operand);
        report_free(&w.asked);
        str_free(&w.filter);
        str_free(&w.thread);
        return status == OPTION_HELP ? say_help() : status;
}
