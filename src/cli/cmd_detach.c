/* SPDX-License-Identifier: MIT */
/* cmd_detach.c -- `seep detach PID`: end the recording of a process that goes on. */
#include <stdlib.h>

#include "attach/inject.h"
#include "attach/spawn.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/pids.h"
#include "session/ask.h"

#define DETACH_OPTIONS(X) LAST_OPTIONS(X, DETACH)

enum { DETACH_OPTIONS(OPTION_ENUM) DETACH_COUNT };
const struct option_entry detach_options[] = { DETACH_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_help(void)
{
        return command_help(
                COMMAND_detach,
                "End the recording of a process, by 'seep attach' or 'seep record': the file is\n"
                "written, and the process goes on. What a killed seep left in a process is\n"
                "removed as well. PID is that of the program, or of the seep that records it.\n\n",
                "\nExit status: 0 done, 2 usage error, 3 not recorded.\n");
}

/* WHY it could not be asked.  When nobody records it, somebody may have; who is there and is only
 * late keeps what it records. */
static bool take_out(pid_t pid, struct err *why)
{
        struct inject_result r = { 0 };
        struct wire_status status;
        struct err e = { 0 };
        bool left = ask_glance((uint32_t)pid, &status) == ASK_NOT_RECORDED;
        char *image = left ? spawn_find_image(&e) : NULL;
        bool good = image && inject_leave(pid, image, &r, &e) && r.patched;

        if (good)
                message("process %d was recorded by a seep that is gone: it is as before now, and "
                        "there is no recording",
                        (int)pid);
        free(image);
        return good || why->text[0] == 0;
}

static int detach(uint32_t pid)
{
        struct err e = { 0 };

        if (!ask_program(&pid, &e) || (!ask_leave(pid, &e) && !take_out((pid_t)pid, &e)))
                return message_error(&e);
        return 0;
}

int cmd_detach(int argc, char **argv)
{
        struct pids pids = { 0 };
        struct option_parser parser;
        int which, status = 0;

        option_start(&parser, "detach", detach_options, argc, argv);
        while ((which = option_next(&parser)) >= 0)
                if (which == DETACH_HELP)
                        return say_help();
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (parser.first_operand >= argc)
                return message_usage("detach", "which process? seep detach PID...");
        for (int i = parser.first_operand; i < argc; i++)
                if ((status = pids_add(&pids, "detach", argv[i])))
                        return status;
        for (uint32_t i = 0; i < pids.count; i++) {
                int one = detach((uint32_t)pids.list[i]);

                status = status ? status : one;
        }
        pids_free(&pids);
        return status;
}
