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
#include "cli/record.h"
#include "cli/roster.h"
#include "observe/output.h"
#include "observe/session.h"
#include "report/memlog.h"
#include "report/summary.h"
#include "symbol/symbol.h"
#include "wire/hello.h"

/* One run. */
struct run {
        const struct record *wishes;
        char **program_argv;
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

/* ---- what the session tells ---- */

static void on_say(void *context, enum session_level level, const char *text)
{
        const struct record *r = ((struct run *)context)->wishes;
        bool wanted = level >= SESSION_ADVICE || r->verbose || (level == SESSION_NOTE && isatty(STDERR_FILENO));

        if (wanted && (!r->quiet || level == SESSION_TROUBLE))
                message("%s", text);
}

static void on_done(void *context, struct profile *p, const char *path, bool written, bool is_main)
{
        struct run *r = context;

        (void)written; /* told through on_say() */
        roster_add(&r->roster, p, path, is_main);
}

static void on_reported(void *context, const char *program, uint32_t pid, const char *path)
{
        struct run *r = context;

        (void)program;
        roster_report(&r->roster, pid, path);
}

static void on_moved(void *context, const char *from, const char *to)
{
        struct run *r = context;

        roster_rename(&r->roster, from, to);
}

void record_write_report(void *context, const struct profile *p, uint32_t from, uint32_t to, struct str *out)
{
        struct symbol_options options = { .no_debuginfod = true }; /* the program may be waiting */
        struct symbols *symbols = symbols_new(p, &options);
        struct memlog_range range = { from, to };

        (void)context;
        memlog_write(p, symbols, &range, out);
        symbols_free(symbols);
}

/* ---- the end ---- */

static bool want_color(void)
{
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(STDERR_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static void summarize(const struct run *r, const struct roster_choice *choice)
{
        struct symbol_options options = { .no_debuginfod = true }; /* the end of a run must not wait for a server */
        struct symbols *symbols = symbols_new(choice->profile, &options);
        struct str out = { 0 };

        roster_explain(&r->roster, r->program_argv[0], &out);
        summary_write(choice->profile, symbols, choice->path, want_color(), &out);
        symbols_free(symbols);
        roster_list(&r->roster, &out);
        roster_list_reports(&r->roster, &out);
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

static void conclude(struct run *r, const struct session_end *end)
{
        const struct record *wishes = r->wishes;
        struct roster_choice choice;

        if (wishes->verbose && !wishes->quiet)
                say_own_cost();
        if (end->recordings == 0)
                message("nothing was recorded: %s", end->silence);
        if (!roster_choose(&r->roster, &choice))
                return;
        if (r->roster.count > 1)
                output_make_newest(choice.path);
        if (!wishes->quiet && !wishes->no_summary)
                summarize(r, &choice);
}

static int exit_status(int status)
{
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the run ---- */

static int run(struct run *r, const struct session_options *options, const char *file, const char *agent)
{
        struct spawn_request request = { .file = file, .argv = r->program_argv, .user = r->wishes->user };
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
        if (end.running)
                session_wait(s, &end);
        session_close(s);
        return exit_status(end.status);
}

static struct session_options make_options(struct run *r)
{
        struct session_options o = r->wishes->session;

        if (getenv("SEEP_TEST_VERIFY")) /* for tests: stacks checked as they are taken */
                o.flags |= WIRE_F_VERIFY;
        o.program = r->program_argv[0];
        o.context = r;
        o.say = on_say;
        o.done = on_done;
        o.reported = on_reported;
        o.moved = on_moved;
        o.author.write = record_write_report;
        return o;
}

static int prepare_and_run(struct run *r)
{
        const struct record *wishes = r->wishes;
        struct session_options options = make_options(r);
        struct program_user user;
        struct output output = { 0 };
        struct err e = { 0 };
        char *file = NULL, *agent = NULL;
        int status = -1;

        if (spawn_user(wishes->user, &user, &e) && (file = program_find(r->program_argv[0], &e)) &&
            program_check(file, &user, &e) && (agent = spawn_find_agent(&e)) &&
            output_prepare(&output, wishes->pattern ? wishes->pattern : OUTPUT_DEFAULT, wishes->force, &e)) {
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
        struct record wishes;
        struct run r = { .wishes = &wishes };
        struct option_parser parser;
        int which, status;

        record_start(&wishes);
        option_start_program(&parser, "record", record_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == RECORD_HELP)
                        return say_help();
                status = record_take(&wishes, which, parser.value);
                if (status)
                        return status;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (parser.first_operand >= argc)
                return message_usage("record", "which program? seep record PROGRAM [ARG...]");
        status = record_settle(&wishes);
        if (status)
                return status;
        r.program_argv = argv + parser.first_operand;
        status = prepare_and_run(&r);
        roster_free(&r.roster);
        return status;
}
