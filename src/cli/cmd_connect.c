/* SPDX-License-Identifier: MIT */
/*
 * cmd_connect.c -- `seep connect ADDR`: what `seep serve` records elsewhere, as if it were recorded
 * here.
 */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/fetch.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/receive.h"
#include "cli/record.h"
#include "cli/suggest.h"
#include "remote/light.h"
#include "words/text.h"

#define CONNECT_OPTIONS(X)                                                                         \
        X(CONNECT_TOKEN, "token-file", 0, "FILE",                                                  \
          "the token that 'seep serve' was started with is in FILE")                               \
        X(CONNECT_PID, "pid", 'p', "PID",                                                          \
          "the process that COMMAND is about (the one that was started)")                          \
        X(CONNECT_OUTPUT, "output", 'o', "FILE",                                                   \
          "where to write recordings (%p pid, %e program, %n number; PROGRAM.PID.seep)")           \
        X(CONNECT_FORCE, "force", 'f', NULL, "replace FILE if it exists")                          \
        X(CONNECT_RECEIVE, "receive", 0, NULL,                                                     \
          "ADDR is where to listen for journals, or the file of one ('seep help journal')")        \
        X(CONNECT_ONCE, "once", 0, NULL,                                                           \
          "with --receive: end when all journals received have ended, not at Ctrl-C")              \
        X(CONNECT_NO_SUMMARY, "no-summary", 0, NULL, "no summary at the end")                      \
        X(CONNECT_QUIET, "quiet", 'q', NULL, "print errors only")                                  \
        NAMES_OPTIONS(X, CONNECT)                                                                  \
        LAST_OPTIONS(X, CONNECT)

enum { CONNECT_OPTIONS(OPTION_ENUM) CONNECT_COUNT };
const struct option_entry connect_options[] = { CONNECT_OPTIONS(OPTION_ENTRY) OPTION_END };

enum { CONNECT_PASSED_MAX = 2 * NAMES_DEBUG_PATHS + 4 };

struct connect {
        const char *address, *token_file;
        uint32_t pid; /* 0: not given */
        bool receive, once;
        struct fetch fetch;
        struct names names;
        struct link link;
        char *passed[CONNECT_PASSED_MAX]; /* words about names, for the command */
        int passed_count;
};

/* What commands can be about: each has its process first. */
static const char *const commands[] = { "report", "leaks",  "why",  "top",    "html",
                                        "export", "snapshot", "control", "sql", "info",
                                        "events", "check",  "diff", "ps" };
enum { COMMANDS = sizeof commands / sizeof *commands };

static int say_help(void)
{
        return command_help(COMMAND_connect,
                "Without COMMAND: stay connected until the programs that 'seep serve' records\n"
                "at ADDR have ended, or Ctrl-C; then write their recordings here and print a\n"
                "summary, as 'seep attach' does. The programs go on. With COMMAND: run it for one\n"
                "process of the target as it is now (seep connect ADDR report --flat): report,\n"
                "leaks, why, top, html, export, snapshot, control, sql, info, events, check,\n"
                "diff or ps.\n\n"
                "ADDR: HOST:PORT (4576), [IPv6]:PORT, a path with a slash, . (your own socket\n"
                "here), or ssh:HOST, which runs 'seep serve --stdio' there.\n\n",
                "\nExit status: 0 done, 2 usage error, 3 the target cannot be reached or inspected;"
                "\nwith COMMAND that of the command.\n");
}

/* ---- words ---- */

static void pass_on(struct connect *c, const char *name, const char *value)
{
        struct str word = { 0 };

        str_format(&word, "--%s%s%s", name, value ? "=" : "", value ? value : "");
        if (c->passed_count < CONNECT_PASSED_MAX)
                c->passed[c->passed_count++] = heap_text(str_get(&word));
        str_free(&word);
}

static int take(struct connect *c, int which, const char *value)
{
        uint64_t pid;
        int status;

        if (names_take(&c->names, "connect", connect_options[which].name, value, &status)) {
                pass_on(c, connect_options[which].name, value);
                return status;
        }
        switch (which) {
        case CONNECT_TOKEN:
                c->token_file = value;
                break;
        case CONNECT_OUTPUT:
                c->fetch.pattern = value;
                break;
        case CONNECT_PID:
                if (!quantity_number(value, &pid) || pid == 0 || pid > INT_MAX)
                        return message_usage("connect", "'%s' is not a process id", value);
                c->pid = (uint32_t)pid;
                break;
        }
        c->receive |= which == CONNECT_RECEIVE;
        c->once |= which == CONNECT_ONCE;
        c->fetch.force |= which == CONNECT_FORCE;
        c->fetch.quiet |= which == CONNECT_QUIET;
        c->fetch.no_summary |= which == CONNECT_NO_SUMMARY;
        return 0;
}

/* Options up to the next operand, whose place is *AT then.  OPTION_DONE, OPTION_HELP, or the status
 * to exit with. */
static int take_options(struct connect *c, int argc, char **argv, int *at)
{
        struct option_parser parser;
        int which, status;

        option_start_program(&parser, "connect", connect_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == CONNECT_HELP)
                        return OPTION_HELP;
                status = take(c, which, parser.value);
                if (status)
                        return status;
        }
        *at = parser.first_operand;
        return which == OPTION_WRONG ? ERR_EXIT_USAGE : OPTION_DONE;
}

/* ---- the processes ---- */

static void add_text(const struct link_list *l, struct str *out)
{
        str_format(out, "%7s  %-6s  %-10s %10s  %s\n", "PID", "STATE", "ENGINE", "HEAP", "PROGRAM");
        for (uint32_t i = 0; i < l->count; i++) {
                const struct protocol_process *p = &l->at[i];
                bool ended = p->flags & PROTOCOL_PROCESS_ENDED;
                struct str heap = { 0 };

                if (ended)
                        str_char(&heap, '-');
                else
                        text_size(&heap, (int64_t)p->live_bytes);
                str_format(out, "%7" PRIu32 "  %-6s  %-10s %10s  %s\n", p->pid,
                           ended                              ? "ended"
                           : p->flags & PROTOCOL_PROCESS_OFF ? "off"
                                                              : "on",
                           p->engine[0] ? p->engine : "-", str_get(&heap), p->program);
                str_free(&heap);
        }
}

static void add_json(const struct link_list *l, struct str *out)
{
        str_text(out, "{\"seep\": 1, \"processes\": [");
        for (uint32_t i = 0; i < l->count; i++) {
                const struct protocol_process *p = &l->at[i];
                bool ended = p->flags & PROTOCOL_PROCESS_ENDED;

                str_format(out, "%s\n  {\"pid\": %" PRIu32 ", \"state\": \"%s\", \"program\": ",
                           i ? "," : "", p->pid,
                           ended ? "ended" : p->flags & PROTOCOL_PROCESS_OFF ? "off" : "on");
                json_text(out, p->program);
                if (ended)
                        str_text(out, ", \"live_bytes\": null}");
                else
                        str_format(out, ", \"live_bytes\": %" PRIu64 "}", p->live_bytes);
        }
        str_text(out, "]}\n");
}

/* What runs there, and what has ended. */
static bool find_processes(struct connect *c, struct link_list *out, struct err *e)
{
        struct link_connection *to = heap_zero(1, sizeof *to);
        bool good = link_connect(&c->link, to, e);

        if (good) {
                good = link_list(to, out, NULL, e);
                link_disconnect(to);
        }
        free(to);
        return good;
}

static int list_processes(struct connect *c, int count, char **words)
{
        bool json = count > 1 && strcmp(words[1], "--json") == 0;
        struct link_list l = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        int status = 0;

        if (count > (json ? 2 : 1))
                return message_usage("connect", "ps takes --json only: '%s'",
                                     words[json ? 2 : 1]);
        if (!find_processes(c, &l, &e))
                status = message_error(&e);
        else if (json)
                add_json(&l, &out);
        else if (l.count)
                add_text(&l, &out);
        else
                message("no process is recorded at %s now", c->address);
        if (json)
                fputs(str_get(&out), stdout);
        else
                message_result(&out);
        link_list_free(&l);
        str_free(&out);
        return status;
}

/* ---- a command ---- */

static bool choose_process(struct connect *c, struct err *e)
{
        struct link_list l = { 0 };
        const struct protocol_process *p;
        bool good = find_processes(c, &l, e);

        p = good ? link_main(&l) : NULL;
        if (good && !p)
                good = err_set(e, ERR_EXIT_CANNOT_TRACE, "no process is recorded at %s now",
                               c->address);
        c->pid = p ? p->pid : 0;
        link_list_free(&l);
        return good;
}

/* COMMAND PID OPTIONS..., and `diff OLD` is `diff OLD PID`. */
static int run(struct connect *c, int count, char **words)
{
        char **all = heap_zero((size_t)(count + c->passed_count + 2), sizeof *all), pid[16];
        bool last = strcmp(words[0], "diff") == 0;
        bool shows_names = strcmp(words[0], "snapshot") != 0 && strcmp(words[0], "control") != 0 &&
                           strcmp(words[0], "info") != 0;
        int n = 0, status;

        snprintf(pid, sizeof pid, "%" PRIu32, c->pid);
        all[n++] = words[0];
        if (!last)
                all[n++] = pid;
        for (int i = 0; i < c->passed_count && shows_names; i++)
                all[n++] = c->passed[i];
        for (int i = 1; i < count; i++)
                all[n++] = words[i];
        if (last)
                all[n++] = pid;
        link_route(&c->link);
        status = command_run(command_find(words[0]), n, all);
        ask_through(NULL);
        free(all);
        return status;
}

static int run_command(struct connect *c, int count, char **words)
{
        struct err e = { 0 };
        const char *near;

        for (int i = 0; i < COMMANDS; i++)
                if (strcmp(words[0], commands[i]) == 0) {
                        if (c->fetch.pattern || c->fetch.force)
                                return message_usage("connect",
                                                     "-o and -f of a command stand behind it: seep "
                                                     "connect %s %s -o FILE", c->address,
                                                     words[0]);
                        if (strcmp(words[0], "ps") == 0)
                                return list_processes(c, count, words);
                        if (!c->pid && !choose_process(c, &e))
                                return message_error(&e);
                        return run(c, count, words);
                }
        near = suggest_nearest(words[0], commands, COMMANDS);
        return message_usage("connect", "'%s' cannot be asked of a target%s%s%s", words[0],
                             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Journals, which programs without 'seep serve' beside them send. */
static int receive(const struct connect *c, bool more)
{
        if (more || c->pid || c->token_file)
                return message_usage("connect", "--receive takes ADDR, -o, -f, -q and --once only");
        return receive_journals(&(struct receive_job){ c->address, c->fetch.pattern, c->fetch.force,
                                                       c->fetch.quiet, c->once });
}

static void say(const char *text)
{
        message_sentence(text);
}

/* The target is asked, or (it has no ledger) who keeps it here. */
static int serve_words(struct connect *c, int count, char **words)
{
        const char *sysroot = c->names.options.sysroot;
        struct light_wishes wishes = { .say = say, .root = sysroot ? sysroot : "",
                                       .author = { &c->names.options, record_write_report } };
        struct light light;
        struct err e = { 0 };
        int status;

        if (!link_open(&c->link, c->address, c->token_file, &e) ||
            !light_open(&light, &c->link, &wishes, &e))
                return message_error(&e);
        if (count) {
                status = run_command(c, count, words);
        } else {
                names_settle(&c->names, c->fetch.quiet);
                c->fetch.names = &c->names;
                c->fetch.link = &c->link;
                status = fetch_run(&c->fetch);
        }
        light_close(&light);
        return status;
}

int cmd_connect(int argc, char **argv)
{
        struct connect *c = heap_zero(1, sizeof *c);
        int status, at = 0;

        names_init(&c->names);
        status = take_options(c, argc, argv, &at);
        if (status == OPTION_DONE && at < argc) {
                c->address = argv[at];
                argv += at;
                argc -= at;
                status = take_options(c, argc, argv, &at);
        }
        if (status == OPTION_HELP)
                status = say_help();
        else if (status == OPTION_DONE && !c->address)
                status = message_usage("connect", "where? seep connect HOST:PORT, or the path of a "
                                                  "socket");
        else if (status == OPTION_DONE && c->receive)
                status = receive(c, at < argc);
        else if (status == OPTION_DONE)
                status = serve_words(c, argc - at, argv + at);
        while (c->passed_count)
                free(c->passed[--c->passed_count]);
        free(c);
        return status;
}
