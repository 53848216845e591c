/* SPDX-License-Identifier: MIT */
/* cmd_attach.c -- `seep attach PID...`: record processes that are running already. */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/pids.h"
#include "cli/record.h"
#include "cli/run.h"

const struct option_entry attach_options[] = { ATTACH_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_help(void)
{
        return command_help(
                COMMAND_attach,
                "Record a process that is already running, until it ends, Ctrl-C, --duration or\n"
                "'seep detach PID'; then the process goes on as before. Blocks that are older are\n"
                "not counted; the leak search finds them by a walk through the heap (glibc, musl,\n"
                "jemalloc, mimalloc, tcmalloc). A NAME can be given instead of a PID if only one\n"
                "process has it; several processes get one recording each. The recording of a\n"
                "seep that was killed is continued.\n\n",
                "\nExit status: 0 done, 2 usage error, 3 cannot be recorded.\n");
}

int cmd_attach(int argc, char **argv)
{
        struct record wishes;
        struct run r = { .wishes = &wishes, .recorded = run_conclude };
        struct option_parser parser;
        struct pids pids = { 0 };
        int which, status;

        record_start(&wishes);
        option_start(&parser, "attach", attach_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (record_option(&attach_options[which]) == RECORD_HELP)
                        return say_help();
                status = record_take(&wishes, record_option(&attach_options[which]), parser.value);
                if (status)
                        return status;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (parser.first_operand >= argc)
                return message_usage("attach", "which process? seep attach PID...");
        for (int i = parser.first_operand; i < argc; i++)
                if ((status = pids_add(&pids, "attach", argv[i])))
                        return status;
        status = record_settle(&wishes);
        if (!status)
                status = pids_check(pids.count, "attach", wishes.pattern);
        if (status)
                return status;
        status = pids.count == 1 ? run_attached(&r, pids.list[0])
                                    : pids_record(&r, &pids);
        pids_free(&pids);
        roster_free(&r.roster);
        record_free(&wishes);
        return status;
}
