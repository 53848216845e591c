/* SPDX-License-Identifier: MIT */
/* cmd_record.c -- `seep record PROGRAM`: run a program, record it, print a summary at the end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/pids.h"
#include "cli/record.h"
#include "cli/roster.h"
#include "cli/run.h"

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

/* By the signal that killed the program, so that whoever waits for us sees what it would
 * have seen.  The core is the program's.  Comes back where a signal cannot end us: as the
 * first process of a container. */
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

/* --pid */
static int run_with_others(struct run *r)
{
        struct pids pids = { 0 };
        int status = 0;

        for (uint32_t i = 0; i < r->wishes->process_count && !status; i++)
                status = pids_add(&pids, "record", r->wishes->processes[i]);
        if (!status)
                status = pids_check(pids.count + (r->program_argv != NULL), "record",
                                       r->wishes->pattern);
        if (!status)
                status = pids_record(r, &pids);
        pids_free(&pids);
        return status;
}

int cmd_record(int argc, char **argv)
{
        struct record wishes;
        struct run r = { .wishes = &wishes, .recorded = run_conclude };
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
        if (parser.first_operand >= argc && !wishes.process_count)
                return message_usage("record", "which program? seep record PROGRAM [ARG...]");
        status = record_settle(&wishes);
        if (status)
                return status;
        r.program_argv = parser.first_operand < argc ? argv + parser.first_operand : NULL;
        status = wishes.process_count ? run_with_others(&r) : run_program(&r);
        roster_free(&r.roster);
        record_free(&wishes);
        if (r.killed_by && !wishes.exit_code)
                end_by(r.killed_by);
        return status;
}
