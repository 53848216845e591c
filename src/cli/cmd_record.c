/* SPDX-License-Identifier: MIT */
/* cmd_record.c -- `seep record PROGRAM`: run a program, record it, sum up at the end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/plain.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/record.h"
#include "cli/roster.h"
#include "cli/run.h"
#include "names/symbol.h"
#include "report/summary.h"
#include "session/output.h"
#include "session/session.h"

static int say_help(void)
{
        return command_help(COMMAND_record,
                            "Run PROGRAM, record every allocation with its stack, and print a summary on\n"
                            "stderr at the end. The word record may be omitted.\n\n",
                            "\nOptions go before PROGRAM; what follows it belongs to the program.\n"
                            "Exit status: the program's own; when a signal killed it, seep ends by the same\n"
                            "one, after its report (--exit-code: 128+N). 2 usage error, 3 cannot be recorded,\n"
                            "126 not executable, 127 not found.\n");
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
        summary_write(choice->profile, symbols,
                      &(struct summary_options){ choice->path, want_color(), r->wishes->suppressions }, &out);
        symbols_free(symbols);
        roster_list(&r->roster, &out);
        roster_list_reports(&r->roster, &out);
        plain_output(&out, 0, true);
        io_write(STDERR_FILENO, str_get(&out), out.length);
        str_free(&out);
}

static void conclude(struct run *r, const struct session_end *end)
{
        const struct record *wishes = r->wishes;
        struct roster_choice choice;

        if (wishes->session.verbose && !wishes->quiet) {
                struct rusage own;

                getrusage(RUSAGE_SELF, &own);
                message("recording took %.2f s of CPU time and %ld MiB of memory outside the program",
                        (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                                (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6,
                        own.ru_maxrss / 1024);
        }
        if (end->recordings == 0)
                message("nothing was recorded: %s", end->diagnosis);
        if (!roster_choose(&r->roster, &choice))
                return;
        if (r->roster.count > 1)
                output_make_newest(choice.path);
        if (!wishes->quiet && !wishes->no_summary)
                summarize(r, &choice);
}

/* By the signal that killed the program, so that whoever waits for us sees what it would have seen.  The core is the program's.
 * Comes back where a signal cannot end us: as the first process of a container. */
static void end_by(int number)
{
        struct rlimit none = { 0, 0 };
        sigset_t only;

        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_DUMPABLE, 0); /* a core that goes to a program knows no limit */
        signal(number, SIG_DFL);
        sigemptyset(&only);
        sigaddset(&only, number);
        raise(number);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
}

int cmd_record(int argc, char **argv)
{
        struct record wishes;
        struct run r = { .wishes = &wishes, .recorded = conclude };
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
        status = run_program(&r);
        roster_free(&r.roster);
        record_free(&wishes);
        if (r.killed_by && !wishes.exit_code)
                end_by(r.killed_by);
        return status;
}
