/* SPDX-License-Identifier: MIT */
/* cmd_check.c -- `seep check`: does a run keep within its budgets?  For CI. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/check.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/message.h"
#include "export/report_json.h"
#include "report/views.h"

enum { CHECK_STACKS = 10 }; /* told unless -n says otherwise */
enum { CHECK_TOLERATED = 10 }; /* per cent that a known leak may grow */

static int say_help(void)
{
        return command_help(COMMAND_check,
                "Check recordings, or processes that are being recorded (PID) as they are now, or\n"
                "run a program and check it and the programs it starts.\n"
                "Each budget that a process breaks is a line on stdout. Budgets, per process\n"
                "(default: --max-leaks 0 --max-bad-frees 0; if some are given, these only):\n\n",
                "\nexamples:\n"
                "  seep check -- ./unit-tests               fails when something leaks\n"
                "  seep check --max-peak 200M --no-alloc-in '^audio_' -- ./player song\n"
                "  seep check --write-baseline known.txt -- ./unit-tests\n"
                "  seep check --baseline known.txt --sarif leaks.sarif -- ./unit-tests\n"
                "\nExit status: 0 all kept, 1 (or --error-exitcode) a budget is broken or not all\n"
                "memory was seen; else that of the program, 128+N when signal N killed it. 2\n"
                "usage error, 3 cannot be recorded, 4 a file cannot be read, 126 not executable,\n"
                "127 not found.\n");
}

static bool show(const struct check *c, struct err *e)
{
        struct deliver how = { .plain = true, .raw = c->json };
        struct findings_text_options options = { c->limit, pager_columns(), c->quiet,
                                                 deliver_color(&how, c->color) };
        struct str out = { 0 };
        bool good;

        if (c->json)
                findings_json(&c->findings, &out);
        else
                findings_text(&c->findings, &options, &out);
        good = deliver_text(&how, &out, e);
        str_free(&out);
        return good;
}

/* What to do about it: look at it, or take it for known. */
static void tell_next(const struct check *c)
{
        const struct findings *f = &c->findings;
        const char *recording = NULL;
        bool leaks = false;

        for (uint32_t i = findings_broken(f); i--;) {
                leaks |= finding_is_leak(f->all[i].kind);
                recording = f->processes[f->all[i].process].recording;
        }
        if (c->quiet || c->json || !recording)
                return;
        message("next: seep %s %s", leaks ? "leaks" : "report", recording);
        if (!leaks)
                return;
        message("to accept what there is: --write-baseline FILE once, then --baseline FILE; or "
                "rules for --suppressions FILE: seep leaks --gen-suppressions %s", recording);
        if (c->program_argv && !c->keep)
                message("in CI, --keep DIR keeps such recordings, to be uploaded as artifacts");
}

/* Tests of others may want such an end (death tests), so it breaks nothing. */
static void tell_crashes(const struct findings *f)
{
        for (uint32_t i = 0; i < f->process_count; i++) {
                const struct findings_process *p = &f->processes[i];

                if (p->crashed && !p->is_main)
                        message("%s (pid %u) was ended by %s", p->program, p->pid, p->ended);
        }
}

static int check(struct check *c)
{
        int status = check_settle(c), program = 0;
        struct err e = { 0 }, later = { 0 };
        bool good;

        if (!status)
                status = check_prepare(c);
        if (status)
                return status;
        if (!check_run(c, &program))
                return program;
        good = show(c, &e);
        if (!check_write_files(c, good ? &e : &later) || !good) /* others may read those */
                return message_error(&e);
        tell_next(c);
        if (!c->quiet)
                tell_crashes(&c->findings);
        /* Nothing but the program's own failure is left to tell. */
        if (c->killed_by && !c->quiet)
                message("%s itself was killed by signal %d", c->program_argv[0], c->killed_by);
        else if (program && !c->quiet)
                message("%s itself ended with status %d", c->program_argv[0], program);
        return findings_failed(&c->findings) && c->error_status ? c->error_status : program;
}

/* What stands behind "--" is the program's; "--" as an option's value is not meant. */
static int split(struct check *c, int argc, char **argv)
{
        for (int i = 1; i < argc; i++)
                if (strcmp(argv[i], "--") == 0) {
                        c->program_argv = argv + i + 1;
                        return i;
                }
        return argc;
}

int cmd_check(int argc, char **argv)
{
        struct check c = { .limit = CHECK_STACKS, .baseline.tolerance = CHECK_TOLERATED };
        struct option_parser parser;
        int status;

        record_start(&c.record);
        record_guard(&c.record);
        c.record.session.follow = SESSION_FOLLOW_ALL; /* a test that forks is no less a test */
        argc = split(&c, argc, argv);
        option_start(&parser, "check", check_options, argc, argv);
        status = option_take(&parser, check_take, &c);
        if (!status) {
                c.recordings = argv + parser.first_operand;
                c.recording_count = argc - parser.first_operand;
                status = check(&c);
        }
        check_free(&c);
        return status == OPTION_HELP ? say_help() : status;
}
