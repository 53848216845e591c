/* SPDX-License-Identifier: MIT */
/*
 * command.h -- the commands of the tool, and the list of them.
 */
#ifndef SEEP_CLI_COMMAND_H
#define SEEP_CLI_COMMAND_H

#include <stddef.h>

#include "cli/option.h"

/*
 * The one list: name, operands as in "seep NAME OPERANDS", purpose in one line.  Dispatch, help,
 * manual pages and completion are made from it.  X(name, ...) stands for cmd_name() and the table
 * name_options[], both in cmd_name.c.
 */
#define COMMAND_LIST(X)                                                                            \
        X(record, "[OPTIONS] [--] PROGRAM [ARG...]", "run a program and record its memory")        \
        X(attach, "[OPTIONS] PID...", "record processes that are running already")                 \
        X(detach, "[OPTIONS] PID...", "end the recording of a process; the process goes on")       \
        X(report, "[OPTIONS] [FILE|PID]", "show where the memory of a recorded program went")      \
        X(html, "[OPTIONS] [FILE | OLD NEW | PID]",                                                \
          "show a recording in a browser: one page, or served live")                               \
        X(top, "[OPTIONS] [PID|FILE]",                                                             \
          "show where memory is as a process runs, or replay a recording")                         \
        X(leaks, "[OPTIONS] [FILE|PID]", "show what a program leaked, and its invalid frees")      \
        X(why, "[OPTIONS] [FILE|PID] ADDRESS|#SITE|FUNCTION|FILE:LINE",                            \
          "show what keeps a block of memory alive")                                               \
        X(diff, "[OPTIONS] OLD NEW",                                                               \
          "show what changed between two recordings or two moments of one")                        \
        X(snapshot, "[OPTIONS] PID [LABEL]",                                                       \
          "take a snapshot of a process that is being recorded")                                   \
        X(ps, "[OPTIONS]", "list the processes that are being recorded")                           \
        X(control, "[OPTIONS] PID start|stop|reset|depth N|status",                                \
          "switch a recording on or off, or reset it")                                             \
        X(shell, "[OPTIONS] [PID...|FILE|ADDR | -- PROGRAM [ARG...]]",                             \
          "run many commands about one program, at a prompt")                                      \
        X(serve, "[OPTIONS] [--] PROGRAM [ARG...]",                                                \
          "record here, for another machine to look at")                                           \
        X(connect, "[OPTIONS] ADDR [COMMAND [ARG...]]",                                            \
          "look at what is recorded on another machine")                                           \
        X(check, "[OPTIONS] [FILE|PID... | -- PROGRAM [ARG...]]",                                  \
          "for CI: fail when a run leaks or breaks a budget")                                      \
        X(export, "--to FORMAT [OPTIONS] [FILE|PID]",                                              \
          "convert a recording to the format of another tool")                                     \
        X(sql, "[OPTIONS] [FILE|PID] [QUERY|-]", "query a recording with SQL")                     \
        X(events, "[OPTIONS] [FILE|PID]", "print every event of a recording made with --events")   \
        X(info, "[OPTIONS] [FILE|PID]", "show what a recording contains and whether it is intact") \
        X(doctor, "[OPTIONS] [PID|PROGRAM]",                                                       \
          "check what can be recorded here, and say what to do")                                   \
        X(symbolize, "[OPTIONS] FILE", "store symbol names in a recording, to read it anywhere")   \
        X(help, "[COMMAND|TOPIC]", "explain a command or a topic")

/* Commands for the tool's own use: found by name, listed nowhere. */
#define COMMAND_HIDDEN(X) X(attend, "FD", "record the program that loaded libseep.so")

/* Each command: arguments without "seep COMMAND" in front (argv[0] is the command's name,
 * as getopt_long wants it); returns the exit status.  Messages to stderr begin with "seep:
 * ", results go to stdout. */
#define COMMAND_DECLARE(name, operands, purpose) \
        int cmd_##name(int argc, char **argv);   \
        extern const struct option_entry name##_options[];
#define COMMAND_ENUM(name, operands, purpose) COMMAND_##name,

COMMAND_LIST(COMMAND_DECLARE)
COMMAND_HIDDEN(COMMAND_DECLARE)

struct command {
        const char *name;
        const char *operands;
        const char *purpose;
        int (*run)(int argc, char **argv);
        const struct option_entry *options;
};

enum { COMMAND_LIST(COMMAND_ENUM) COMMAND_COUNT };
extern const struct command command_list[COMMAND_COUNT];

/* Print the help text of COMMAND, an index of the list: usage, what it does (ABOUT), options, and
 * MORE.  Returns 0. */
int command_help(int command, const char *about, const char *more);

/* Run COMMAND with the options of the configuration files in front of those of the command line,
 * so that the latter win. */
int command_run(const struct command *command, int argc, char **argv);

/* The last step of every command; returns the exit status.  Output that could not be written (full
 * disk) is an error, a closed pipe (`| head`) is not. */
int command_close(int status);

/* NULL: no command has that name, hidden ones included. */
const struct command *command_find(const char *name);

bool command_is_hidden(const struct command *command);

/* The name of the command nearest to a mistyped one; NULL when none is near. */
const char *command_suggest(const char *typed);

#endif
