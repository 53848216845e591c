/* SPDX-License-Identifier: MIT */
/* cmd_shell.c -- `seep shell [PID...|FILE | -- PROGRAM]`: a prompt for many questions to one
 * program. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "cli/shell.h"

#define SHELL_OPTIONS(X)                                                                       \
        X(SHELL_COMMAND, "command", 'c', "COMMANDS",                                           \
          "do COMMANDS, separated by ';', instead of reading them (may be repeated)")          \
        LAST_OPTIONS(X, SHELL)

enum { SHELL_OPTIONS(OPTION_ENUM) SHELL_COUNT };
const struct option_entry shell_options[] = { SHELL_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_help(void)
{
        return command_help(COMMAND_shell,
                "Ask many questions to one program: a prompt with commands that are about a\n"
                "process that is being recorded, or a recording (the newest *.seep here). On a\n"
                "terminal lines can be edited, and TAB completes them; else commands are read\n"
                "from standard input. 'help' lists them: those of mtrace-ng (dump, scan, reset,\n"
                "start, stop, status, ...), and report, leaks, why, diff, top, snapshot, tag,\n"
                "sql, export and others of seep without the name of the recording. The program\n"
                "goes on when the shell is left, in whatever way. PROGRAM is started and recorded\n"
                "beside the shell, without input.\n\n",
                "\nexamples:\n"
                "  seep shell 4711                          a process that is being recorded\n"
                "  seep shell -c 'scan new; leaks' 4711     as a script\n"
                "  seep shell run.seep < questions          a recording\n"
                "  seep shell -- ./server --port 80         a program that is started for it\n"
                "\nExit status: 0 success; of commands that are not typed: that of the last one\n"
                "that failed.\n");
}

/* PROGRAM: NULL none. */
static int open_targets(struct shell *s, char **words, char **program)
{
        struct err e = { 0 };
        char *newest;

        for (; *words; words++)
                if (!shell_target_named(s, *words, &e))
                        return message_error(&e);
        if (program)
                return shell_start_program(s, program);
        if (s->count)
                return 0;
        if (!newest_recording(&newest, &e))
                return message_error(&e);
        shell_target_named(s, newest, &e);
        free(newest);
        return s->count ? 0 : message_error(&e);
}

static int run(struct shell *s, const struct str *commands)
{
        if (commands->length)
                return shell_do(s, str_get(commands), NULL);
        if (isatty(STDIN_FILENO)) {
                s->prompts = true;
                shell_prompt(s);
                return 0;
        }
        s->script = true;
        return shell_do_file(s, fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
}

/* What stands behind "--", which is cut off; NULL there is none. */
static char **cut_program(int *argc, char **argv)
{
        for (int i = 1; i < *argc; i++)
                if (strcmp(argv[i], "--") == 0) {
                        argv[i] = NULL;
                        *argc = i;
                        return argv + i + 1;
                }
        return NULL;
}

int cmd_shell(int argc, char **argv)
{
        char **program = cut_program(&argc, argv);
        struct shell s = { .news = -1 };
        struct option_parser parser;
        struct str commands = { 0 };
        int which, status;

        option_start(&parser, "shell", shell_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == SHELL_HELP) {
                        str_free(&commands);
                        return say_help();
                }
                str_format(&commands, "%s\n", parser.value);
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        s.searchpath = heap_text("");
        status = open_targets(&s, argv + parser.first_operand, program);
        if (!status)
                status = run(&s, &commands);
        shell_start_tell(&s);
        shell_target_free(&s);
        free(s.searchpath);
        str_free(&commands);
        return status;
}
