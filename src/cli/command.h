/* SPDX-License-Identifier: MIT */
/*
 * command.h -- what a command of the tool is, and the list of them.
 *
 * Room:   outside, cli/ only.  cli/main.c finds the command in the table and runs it.
 */
#ifndef SEEP_CLI_COMMAND_H
#define SEEP_CLI_COMMAND_H

#include <stddef.h>

/* Each command: arguments without "seep COMMAND" in front (argv[0] is the command's name, as getopt_long wants it);
 * returns the exit status.  Messages to stderr begin with "seep: ", results go to stdout. */
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_help(int argc, char **argv);

struct command {
        const char *name;
        const char *operands; /* as in "seep NAME OPERANDS" */
        const char *purpose;  /* one line of `seep help` */
        int (*run)(int argc, char **argv);
};

#define COMMAND_COUNT 4
extern const struct command command_list[COMMAND_COUNT];

/* NULL: no command has that name. */
const struct command *command_find(const char *name);

/* The name of the command nearest to a mistyped one; NULL when none is near. */
const char *command_suggest(const char *typed);

#endif
