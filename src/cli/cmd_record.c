/* SPDX-License-Identifier: MIT */
/*
 * cmd_record.c -- `seep record PROGRAM`: run a program, record it, sum up at the end.
 *
 * Room:   outside, cli/ only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/program.h"
#include "attach/spawn.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/roster.h"
#include "observe/output.h"
#include "observe/session.h"
#include "report/summary.h"
#include "symbol/symbol.h"
#include "wire/hello.h"

#define RECORD_OPTIONS(X)                                                                                       \
        X(RECORD_OUTPUT, "output", 'o', "FILE",                                                                 \
          "where to (%p pid, %e program, %n number; PROGRAM.PID.seep)")                                         \
        X(RECORD_FORCE, "force", 'f', NULL, "replace FILE when it exists")                                      \
        X(RECORD_DEPTH, "depth", 'd', "N", "keep the N innermost frames of each stack; 0 none (all)")           \
        X(RECORD_FOLLOW, "follow", 0, "WHICH",                                                                  \
          "child processes: none, exec (those that run a program) or all (exec)", "none|exec|all")              \
        X(RECORD_NO_MMAP, "no-mmap", 0, NULL, "do not record mmap, munmap and mremap")                          \
        X(RECORD_NO_CXX, "no-cxx", 0, NULL, "see new and delete as the malloc and free that they call")         \
        X(RECORD_USER, "user", 0, "NAME", "run the program as this user (for root)")                            \
        X(RECORD_NO_SUMMARY, "no-summary", 0, NULL, "no numbers at the end")                                    \
        X(RECORD_QUIET, "quiet", 'q', NULL, "say nothing but errors")                                           \
        X(RECORD_VERBOSE, "verbose", 'v', NULL, "say what is done")                                             \
        X(RECORD_HELP, "help", 'h', NULL, "this text")

enum { RECORD_OPTIONS(OPTION_ENUM) RECORD_COUNT };
const struct option_entry record_options[] = { RECORD_OPTIONS(OPTION_ENTRY) OPTION_END };

struct record {
        const char *pattern, *user;
        char **program_argv;
        enum session_follow follow;
        uint32_t flags, depth;
        bool force, quiet, verbose, no_summary;

        struct roster roster; /* filled while recording */
};

static int say_help(void)
{
        struct str out = { 0 };

        str_text(&out, "usage: seep record [OPTIONS] [--] PROGRAM [ARG...]\n\n"
                       "Run PROGRAM, record every allocation with its stack, and sum up on stderr at\n"
                       "the end. The word record may be left out.\n\n");
        option_help(record_options, &out);
        str_text(&out, "\nOptions stand before PROGRAM; what follows it belongs to the program.\n"
                       "Exit status: the program's own, 128+N when signal N killed it; 2 wrong use,\n"
                       "3 cannot be recorded, 126 not executable, 127 not found.\n");
        fputs(str_get(&out), stdout);
        str_free(&out);
        return 0;
}

/* ---- options ---- */

static bool parse_follow(const char *text, enum session_follow *out)
{
        static const char *const words[] = { "none", "exec", "all" };

        for (int i = 0; i < 3; i++)
                if (strcmp(text, words[i]) == 0) {
                        *out = (enum session_follow)i;
                        return true;
                }
        return false;
}

static bool parse_depth(const char *text, struct record *r)
{
        uint64_t depth;

        if (!option_number(text, &depth) || depth > UINT32_MAX)
                return false;
        r->depth = (uint32_t)depth;
        r->flags = depth ? r->flags & ~WIRE_F_NO_STACKS : r->flags | WIRE_F_NO_STACKS;
        return true;
}

/* 0, or the status to exit with. */
static int take_option(struct record *r, int which, const char *value)
{
        switch (which) {
        case RECORD_OUTPUT:
                r->pattern = value;
                break;
        case RECORD_FORCE:
                r->force = true;
                break;
        case RECORD_DEPTH:
                if (!parse_depth(value, r))
                        return message_usage("record", "--depth needs a number, not '%s'", value);
                break;
        case RECORD_FOLLOW:
                if (!parse_follow(value, &r->follow))
                        return message_usage("record", "--follow is none, exec or all, not '%s'", value);
                break;
        case RECORD_NO_MMAP:
                r->flags |= WIRE_F_NO_MMAP;
                break;
        case RECORD_NO_CXX:
                r->flags |= WIRE_F_NO_CXX;
                break;
        case RECORD_USER:
                r->user = value;
                break;
        case RECORD_NO_SUMMARY:
                r->no_summary = true;
                break;
        case RECORD_QUIET:
                r->quiet = true;
                break;
        case RECORD_VERBOSE:
                r->verbose = true;
                break;
        }
        return 0;
}

/* ---- what the session tells ---- */

static void on_say(void *context, enum session_level level, const char *text)
{
        const struct record *r = context;
        bool wanted = level == SESSION_TROUBLE || r->verbose || (level == SESSION_NOTE && isatty(STDERR_FILENO));

        if (wanted && (!r->quiet || level == SESSION_TROUBLE))
                message("%s", text);
}

static void on_done(void *context, struct profile *p, const char *path, bool written, bool is_main)
{
        struct record *r = context;

        (void)written; /* told through on_say() */
        roster_add(&r->roster, p, path, is_main);
}

static void on_moved(void *context, const char *from, const char *to)
{
        struct record *r = context;

        roster_rename(&r->roster, from, to);
}

/* ---- the end ---- */

static bool want_color(void)
{
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(STDERR_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static void summarize(const struct record *r, const struct roster_choice *choice)
{
        struct symbol_options options = { .no_debuginfod = true }; /* the end of a run must not wait for a server */
        struct symbols *symbols = symbols_new(choice->profile, &options);
        struct str out = { 0 };

        roster_explain(&r->roster, r->program_argv[0], &out);
        summary_write(choice->profile, symbols, choice->path, want_color(), &out);
        symbols_free(symbols);
        roster_list(&r->roster, &out);
        io_write(STDERR_FILENO, str_get(&out), out.length);
        str_free(&out);
}

static void say_own_cost(void)
{
        struct rusage own;

        getrusage(RUSAGE_SELF, &own);
        message("observing took %.2f s of processor time and %ld MiB of memory",
                (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                        (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6,
                own.ru_maxrss / 1024);
}

static void conclude(struct record *r, const struct session_end *end)
{
        struct roster_choice choice;

        if (r->verbose && !r->quiet)
                say_own_cost();
        if (end->recordings == 0)
                message("nothing was recorded: %s", end->silence);
        if (!roster_choose(&r->roster, &choice))
                return;
        if (r->roster.count > 1)
                output_make_newest(choice.path);
        if (!r->quiet && !r->no_summary)
                summarize(r, &choice);
}

static int exit_status(int status)
{
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the run ---- */

static int run(struct record *r, const struct session_options *options, const char *file, const char *agent)
{
        struct spawn_request request = { .file = file, .argv = r->program_argv, .user = r->user };
        struct session_end end;
        struct err e = { 0 };
        struct session *s = session_open(options, &e);
        pid_t pid;

        if (!s)
                return message_error(&e);
        request.agent = session_agent(s, agent, &e);
        request.session = session_environment(s);
        request.signals = session_signals(s);
        pid = request.agent ? spawn_start(&request, &e) : -1;
        if (pid < 0) {
                session_close(s);
                return message_error(&e);
        }
        session_run(s, pid, &end);
        conclude(r, &end);
        session_close(s);
        return exit_status(end.status);
}

static int prepare_and_run(struct record *r)
{
        uint32_t verify = getenv("SEEP_TEST_VERIFY") ? WIRE_F_VERIFY : 0; /* for tests: stacks checked as they are taken */
        struct session_options options = { .follow = r->follow, .flags = r->flags | verify, .depth = r->depth, .context = r,
                                           .say = on_say, .done = on_done, .moved = on_moved,
                                           .program = r->program_argv[0] };
        struct program_user user;
        struct output output = { 0 };
        struct err e = { 0 };
        char *file = NULL, *agent = NULL;
        int status = -1;

        if (spawn_user(r->user, &user, &e) && (file = program_find(r->program_argv[0], &e)) &&
            program_check(file, &user, &e) && (agent = spawn_find_agent(&e)) &&
            output_prepare(&output, r->pattern, r->force, &e)) {
                if (e.text[0])
                        message("%s", e.text);
                options.uid = user.uid;
                options.output = &output;
                status = run(r, &options, file, agent);
        }
        if (status < 0)
                status = message_error(&e);
        output_free(&output);
        free(agent);
        free(file);
        return status;
}

int cmd_record(int argc, char **argv)
{
        struct record r = { .pattern = OUTPUT_DEFAULT, .follow = SESSION_FOLLOW_EXEC };
        struct option_parser parser;
        int which, status;

        option_start_program(&parser, "record", record_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == RECORD_HELP)
                        return say_help();
                status = take_option(&r, which, parser.value);
                if (status)
                        return status;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (parser.first_operand >= argc)
                return message_usage("record", "which program? seep record PROGRAM [ARG...]");
        r.program_argv = argv + parser.first_operand;
        status = prepare_and_run(&r);
        roster_free(&r.roster);
        return status;
}
