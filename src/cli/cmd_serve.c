/* SPDX-License-Identifier: MIT */
/* cmd_serve.c -- `seep serve`: record here, and let another machine inspect it. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/own_folder.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/pids.h"
#include "cli/record.h"
#include "cli/run.h"
#include "cli/serve_light.h"
#include "remote/bridge.h"
#include "remote/server.h"

#define SERVE_HOLD_MS 60000u

#define SERVE_OWN_OPTIONS(X)                                                                       \
        X(SERVE_LISTEN, "listen", 0, "ADDR",                                                       \
          "where hosts connect: HOST:PORT, a path with a slash, or . (your own socket) (.)")       \
        X(SERVE_PID, "pid", 'p', "PID",                                                            \
          "record a process that is running already (may be repeated)")                            \
        X(SERVE_TOKEN, "token-file", 0, "FILE",                                                    \
          "hosts must have the token in FILE, too; needed for addresses of other machines")        \
        X(SERVE_HOLD, "hold", 0, "TIME",                                                           \
          "at the end, wait at most TIME for a host that fetches the recordings (60s)")            \
        X(SERVE_STDIO, "stdio", 0, NULL,                                                           \
          "connect stdin and stdout to the seep serve that listens at ADDR: for seep connect "     \
          "ssh:HOST")                                                                              \
        X(SERVE_LIGHT, "light", 0, NULL,                                                           \
          "keep no ledger here: send events, and the host keeps it (as seep-target does)")         \
        X(SERVE_OVERFLOW, "overflow", 0, "MODE",                                                   \
          "with --light, when the host is too slow: block (the program waits, ten seconds at "     \
          "most) or drop (events are left out, and counted) (block)")                              \
        X(SERVE_HEAD_RECORD, NULL, 0, NULL, "options of seep record:")

#define SERVE_OPTIONS(X)                                                                           \
        SERVE_OWN_OPTIONS(X)                                                                       \
        RECORD_FIRST_OPTIONS(X)                                                                    \
        X(SERVE_WAIT, "wait", 0, "[WHOM]",                                                         \
          "start the program when a host has connected; with WHOM: what to wait for when it has "  \
          "ended, as for seep record")                                                             \
        RECORD_LAST_WHAT_OPTIONS(X)                                                                \
        RECORD_ENGINE_OPTIONS(X)                                                                   \
        RECORD_START_OPTIONS(X)

enum { SERVE_OWN_OPTIONS(OPTION_ENUM) SERVE_OWN_COUNT };
const struct option_entry serve_options[] = { SERVE_OPTIONS(OPTION_ENTRY) OPTION_END };

struct serve {
        const char *listen, *token_file;
        uint64_t hold_ms;
        struct pids pids; /* none: a program is started */
        bool wait, stdio, light, no_scan;
        const char *overflow, *follow; /* of --light; NULL: not given */
        const char *heavy; /* an option that needs a ledger here; NULL none */
        struct record wishes;
        struct run run;
        int lock; /* on: */
        char folder[400]; /* of recordings that are kept only until they are fetched; "" none */
        struct str pattern;
};

static int say_help(void)
{
        return command_help(COMMAND_serve,
                "Record PROGRAM, or the process PID, as 'seep record' and 'seep attach' do, and\n"
                "let 'seep connect ADDR' on another machine inspect it while it runs. The program\n"
                "never waits for a host, and goes on when one leaves. Finished recordings are\n"
                "kept until a host has fetched them; with -o FILE they stay here.\n\n",
                "\nExit status: the program's own (128+N when signal N killed it), 2 usage error,\n"
                "3 cannot be recorded, 126 not executable, 127 not found.\n");
}

/* ---- words ---- */

static int take_hold(struct serve *s, const char *value)
{
        if (strcmp(value, "0") == 0 || quantity_time(value, &s->hold_ms)) {
                s->hold_ms = strcmp(value, "0") == 0 ? 0 : s->hold_ms;
                return 0;
        }
        return message_usage("serve", "--hold needs a time like 60s, not '%s'", value);
}

static int take(struct serve *s, int which, const char *value)
{
        int record = record_option(&serve_options[which]);

        switch (which) {
        case SERVE_LISTEN:
                s->listen = value;
                return 0;
        case SERVE_TOKEN:
                s->token_file = value;
                return 0;
        case SERVE_PID:
                return pids_add(&s->pids, "serve", value);
        case SERVE_HOLD:
                return take_hold(s, value);
        case SERVE_STDIO:
                s->stdio = true;
                return 0;
        case SERVE_LIGHT:
                s->light = true;
                return 0;
        case SERVE_OVERFLOW:
                s->overflow = value;
                return 0;
        }
        if (record == RECORD_FOLLOW)
                s->follow = value;
        else if (record == RECORD_NO_SCAN)
                s->no_scan = true;
        else if (record != RECORD_QUIET && (record != RECORD_WAIT || value))
                s->heavy = serve_options[which].name;
        if (record == RECORD_WAIT && !value) {
                s->wait = true;
                return 0;
        }
        return record_take(&s->wishes, record, value);
}

/* 0, or the status after a message. */
static int check_words(const struct serve *s, bool program)
{
        if (s->stdio && (program || s->pids.count || s->token_file))
                return message_usage("serve", "--stdio joins what is served already: it takes "
                                              "--listen only");
        if (!s->stdio && !program && !s->pids.count)
                return message_usage("serve", "which program? seep serve [--listen ADDR] -- "
                                              "PROGRAM [ARG...], or -p PID");
        if (program && s->pids.count)
                return message_usage("serve", "a program, or -p PID: not both");
        if (s->light && s->heavy)
                return message_usage("serve", "--%s needs a ledger here: not with --light",
                                     s->heavy);
        if (s->overflow && !s->light)
                return message_usage("serve", "--overflow goes with --light");
        return 0;
}

/* ---- without a ledger ---- */

/* The words of seep-target's command line. */
static int serve_without_ledger(const struct serve *s, char **program, int count)
{
        const char **words = heap_zero((size_t)count + 20, sizeof *words);
        struct serve_light light = { .words = words,
                                     .overflow = s->overflow ? s->overflow : "block",
                                     .follow = s->follow ? s->follow : "exec",
                                     .no_scan = s->no_scan };
        char hold[32];
        int n = 0, status;

        words[n++] = "seep-target";
        words[n++] = "--listen";
        words[n++] = s->listen ? s->listen : ".";
        if (s->token_file) {
                words[n++] = "--token-file";
                words[n++] = s->token_file;
        }
        snprintf(hold, sizeof hold, "--hold=%" PRIu64, s->hold_ms / 1000);
        words[n++] = hold;
        words[n++] = "--overflow";
        words[n++] = light.overflow;
        words[n++] = "--follow";
        words[n++] = light.follow;
        if (s->wait)
                words[n++] = "--wait";
        if (s->no_scan)
                words[n++] = "--no-leak-scan";
        if (s->wishes.quiet)
                words[n++] = "--quiet";
        if (count) {
                words[n++] = "--";
                memcpy(words + n, program, (size_t)count * sizeof *words);
        }
        light.count = n;
        status = s->pids.count ? serve_light_attach(&light, &s->pids) : serve_light_become(&light);
        free(words);
        return status;
}

/* ---- the work ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
        interrupted = number;
}

static void say(const char *text)
{
        message_sentence(text);
}

static bool make_folder(struct serve *s, struct err *e)
{
        /* Of one that was killed: recordings that nobody has stay. */
        struct own_folder_kind kind = { .prefix = "seep-serve-", .empty_only = true };
        const char *place = getenv("TMPDIR");

        kind.place = place && *place == '/' && strlen(place) < 360 ? place : "/tmp";
        s->lock = own_folder_make(&kind, s->folder, sizeof s->folder);
        if (s->lock < 0) {
                err_sys(e, ERR_EXIT_USAGE,
                        "no directory for recordings can be made in %s (-o FILE chooses a place)",
                        place ? place : "/tmp");
                s->folder[0] = 0;
                return false;
        }
        for (const char *at = s->folder; *at; at++) {
                if (*at == '%')
                        str_char(&s->pattern, '%');
                str_char(&s->pattern, *at);
        }
        str_text(&s->pattern, "/%e.%p.seep");
        s->wishes.pattern = str_get(&s->pattern);
        return true;
}

/* Until a host is there, or (END) has all recordings; at most PATIENCE_MS, 0 for ever. */
static void await_host(const struct server *server, bool end, uint64_t patience_ms)
{
        struct sigaction action = { .sa_handler = on_signal }, before[3];
        static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
        const struct timespec nap = { .tv_nsec = 20000000 };
        uint64_t end_ns = clock_now_ns() + patience_ms * 1000000u;

        for (int i = 0; i < 3; i++)
                sigaction(numbers[i], &action, &before[i]);
        while (!interrupted && (end ? server_left(server) > 0 : server_clients(server) == 0) &&
               ((!end && !patience_ms) || clock_now_ns() < end_ns))
                nanosleep(&nap, NULL);
        for (int i = 0; i < 3; i++)
                sigaction(numbers[i], &before[i], NULL);
}

static void say_where(const struct serve *s, const struct server *server)
{
        if (server_is_far(server))
                message("what goes to hosts is not encrypted: on networks that others can read, "
                        "listen at localhost and use ssh -L, or 'seep connect ssh:HOST'");
        if (!s->wishes.quiet)
                message("serving: 'seep connect %s%s' on the host", server_where(server),
                        s->token_file ? " --token-file FILE" : "");
}

/* Recordings that hosts have are removed; others stay, and a message says so. */
static void tidy_up(struct serve *s, const struct server *server)
{
        uint32_t left = server ? server_left(server) : 0;
        const char *file;
        bool stored;

        for (uint32_t i = 0; server && s->folder[0] && (file = server_file(server, i, &stored));
             i++)
                if (stored)
                        unlink(file);
        if (left)
                message("no host has fetched %u recording%s: see %s", left, left == 1 ? "" : "s",
                        s->folder[0] ? s->folder : s->wishes.pattern);
        else if (s->folder[0] && rmdir(s->folder) != 0)
                message("reports of snapshots are in %s", s->folder);
}

static int serve(struct serve *s, struct server *server)
{
        int status;

        say_where(s, server);
        if (s->wait)
                await_host(server, false, 0);
        if (interrupted)
                return 128 + interrupted;
        s->run.server = server;
        if (s->pids.count > 1)
                status = pids_record(&s->run, &s->pids);
        else
                status = s->pids.count ? run_attached(&s->run, s->pids.list[0])
                                       : run_program(&s->run);
        server_ended(server, status);
        if (server_left(server) && s->hold_ms && !s->wishes.quiet)
                message("the recording is finished; waiting for a host to fetch it (at most %u s; "
                        "Ctrl-C ends this)", (unsigned)(s->hold_ms / 1000));
        await_host(server, true, s->hold_ms);
        return status;
}

static int open_and_serve(struct serve *s)
{
        struct server_wishes wishes = { .listen = s->listen ? s->listen : ".",
                                        .token_file = s->token_file, .say = say };
        struct server *server = NULL;
        struct err e = { 0 };
        int status;

        s->wishes.no_summary = true; /* names need files that hosts have */
        if (!s->wishes.pattern && !make_folder(s, &e))
                return message_error(&e);
        wishes.folder = s->folder[0] ? s->folder : NULL;
        server = server_open(&wishes, &e);
        status = server ? serve(s, server) : message_error(&e);
        if (server)
                tidy_up(s, server);
        else if (s->folder[0])
                rmdir(s->folder);
        server_close(server);
        return status;
}

int cmd_serve(int argc, char **argv)
{
        struct serve s = { .hold_ms = SERVE_HOLD_MS };
        struct option_parser parser;
        struct err e = { 0 };
        int which, status = 0;

        record_start(&s.wishes);
        s.run = (struct run){ .wishes = &s.wishes, .recorded = run_conclude };
        option_start_program(&parser, "serve", serve_options, argc, argv);
        while (!status && (which = option_next(&parser)) >= 0) {
                if (record_option(&serve_options[which]) == RECORD_HELP)
                        return say_help();
                status = take(&s, which, parser.value);
        }
        if (status || which == OPTION_WRONG)
                return status ? status : ERR_EXIT_USAGE;
        status = check_words(&s, parser.first_operand < argc);
        if (!status && s.stdio)
                return bridge_run(s.listen ? s.listen : ".", &e) ? 0 : message_error(&e);
        if (!status && s.light)
                return serve_without_ledger(&s, argv + parser.first_operand,
                                            argc - parser.first_operand);
        if (!status)
                status = record_settle(&s.wishes);
        if (!status)
                status = pids_check(s.pids.count, "serve", s.wishes.pattern);
        if (status)
                return status;
        s.run.program_argv = s.pids.count ? NULL : argv + parser.first_operand;
        status = open_and_serve(&s);
        pids_free(&s.pids);
        roster_free(&s.run.roster);
        record_free(&s.wishes);
        str_free(&s.pattern);
        return status;
}
