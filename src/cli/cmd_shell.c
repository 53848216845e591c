/* SPDX-License-Identifier: MIT */
/*
 * cmd_shell.c -- `seep shell [PID...|FILE|ADDR | -- PROGRAM]`: a prompt for many commands about one
 * program.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/shell.h"

#define SHELL_OPTIONS(X)                                                                       \
        X(SHELL_COMMAND, "command", 'c', "COMMANDS",                                           \
          "run COMMANDS, separated by ';', instead of reading them (may be repeated)")         \
        X(SHELL_TOKEN, "token-file", 0, "FILE",                                                \
          "for ADDR: the token that 'seep serve' was started with is in FILE")                 \
        NAMES_OPTIONS(X, SHELL)                                                                \
        LAST_OPTIONS(X, SHELL)

enum { SHELL_OPTIONS(OPTION_ENUM) SHELL_COUNT };
const struct option_entry shell_options[] = { SHELL_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_help(void)
{
        return command_help(COMMAND_shell,
                "Inspect one program with many commands: a prompt for a process that is being\n"
                "recorded, or for a recording (the newest *.seep here). On a terminal, lines can\n"
                "be edited and TAB completes them; otherwise commands are read from standard\n"
                "input. 'help' lists them: those of mtrace-ng (dump, scan, reset, start, stop,\n"
                "status, ...), and report, leaks, why, diff, top, snapshot, tag, sql, export and\n"
                "others of seep, without the name of the recording. However the shell ends, the\n"
                "program goes on. PROGRAM is started and recorded beside the shell, without\n"
                "input. ADDR is the address of 'seep serve' or seep-target, as for 'seep\n"
                "connect'; PIDs are then those of its processes.\n\n",
                "\nexamples:\n"
                "  seep shell 4711                          a process that is being recorded\n"
                "  seep shell -c 'scan new; leaks' 4711     as a script\n"
                "  seep shell run.seep < questions          a recording\n"
                "  seep shell -- ./server --port 80         a program that is started for it\n"
                "  seep shell board:4576 --token-file key   what another machine records\n"
                "\nExit status: 0 success; for commands that are not typed, that of the last one\n"
                "that failed.\n");
}

/* What is asked for on the command line. */
struct wish {
        char **words;   /* operands */
        char **program; /* behind "--"; NULL none */
        const char *token_file;
        struct names names;
        struct str commands;
};

/* The target among the operands, before the others: it says what their numbers mean. */
static int open_far(struct shell *s, const struct wish *w)
{
        const char *address = NULL;
        struct err e = { 0 };

        for (char **word = w->words; *word; word++)
                if (shell_far_is_address(*word)) {
                        if (address || w->program)
                                return message_usage("shell", "a shell is for one target%s",
                                                     address ? "" : " or program");
                        address = *word;
                }
        if (!address && w->token_file)
                return message_usage("shell", "--token-file is for the address of a target");
        if (address && !shell_far_open(s, address, w->token_file, &e))
                return message_error(&e);
        return 0;
}

static int open_targets(struct shell *s, const struct wish *w)
{
        struct err e = { 0 };
        uint32_t first = 0;
        char *newest;
        int status = open_far(s, w);

        if (status)
                return status;
        for (char **word = w->words; *word; word++) {
                const struct shell_target *t;

                if (shell_far_is_address(*word))
                        continue;
                t = shell_target_named(s, *word, &e);
                if (!t)
                        return message_error(&e);
                while (!first && s->targets[s->chosen] != t)
                        s->chosen++; /* commands are about the one that was named first */
                first = 1;
        }
        if (w->program)
                return shell_start_program(s, w->program);
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

/* OPTION_DONE, OPTION_HELP, or the status to exit with. */
static int take_options(struct wish *w, int argc, char **argv)
{
        struct option_parser parser;
        int which, status;

        option_start(&parser, "shell", shell_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == SHELL_HELP)
                        return OPTION_HELP;
                if (names_take(&w->names, "shell", shell_options[which].name, parser.value,
                               &status)) {
                        if (status)
                                return status;
                } else if (which == SHELL_TOKEN) {
                        w->token_file = parser.value;
                } else {
                        str_format(&w->commands, "%s\n", parser.value);
                }
        }
        w->words = argv + parser.first_operand;
        return which == OPTION_WRONG ? ERR_EXIT_USAGE : OPTION_DONE;
}

int cmd_shell(int argc, char **argv)
{
        struct wish w = { .program = cut_program(&argc, argv) };
        struct shell s = { .news = -1, .names = &w.names };
        int status;

        names_init(&w.names);
        status = take_options(&w, argc, argv);
        if (status == OPTION_HELP)
                status = say_help();
        else if (status == OPTION_DONE) {
                s.searchpath = heap_text("");
                status = open_targets(&s, &w);
                if (!status)
                        status = run(&s, &w.commands);
                shell_start_tell(&s);
                shell_target_free(&s);
                shell_far_close(&s);
                free(s.searchpath);
        }
        str_free(&w.commands);
        return status;
}
