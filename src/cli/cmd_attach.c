/* SPDX-License-Identifier: MIT */
/* cmd_attach.c -- `seep attach PID`: record a process that is running already. */
#include <limits.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/record.h"
#include "cli/run.h"

const struct option_entry attach_options[] = { ATTACH_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_help(void)
{
        return command_help(
                COMMAND_attach,
                "Record a process that is running already, from now on until it ends, Ctrl-C,\n"
                "--duration or 'seep detach PID'; then the process goes on as before. Blocks that\n"
                "are older than that are in no count; the search for leaks finds them by a walk\n"
                "through the heap (glibc, musl).\n\n",
                "\nExit status: 0 done, 2 usage error, 3 cannot be recorded.\n");
}

int cmd_attach(int argc, char **argv)
{
        struct record wishes;
        struct run r = { .wishes = &wishes, .recorded = run_conclude };
        struct option_parser parser;
        uint64_t pid;
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
        if (parser.first_operand + 1 != argc)
                return message_usage("attach", "which process? seep attach PID");
        if (!quantity_number(argv[parser.first_operand], &pid) || pid == 0 || pid > INT_MAX)
                return message_usage("attach",
                                     "'%s' is not a process id; 'pgrep -a NAME' finds one",
                                     argv[parser.first_operand]);
        status = record_settle(&wishes);
        if (status)
                return status;
        status = run_attached(&r, (pid_t)pid);
        roster_free(&r.roster);
        record_free(&wishes);
        return status;
}
