/* SPDX-License-Identifier: MIT */
/*
 * option.h -- the options of a command: one table for parsing and for the help text.
 *
 * A command lists its options once, so that enum and table cannot drift apart:
 *
 *     #define INFO_OPTIONS(X)                                            \
 *             X(INFO_JSON, "json", 0, NULL, "machine-readable output")   \
 *             X(INFO_HELP, "help", 'h', NULL, "this text")
 *     enum { INFO_OPTIONS(OPTION_ENUM) INFO_COUNT };
 *     const struct option_entry info_options[] = { INFO_OPTIONS(OPTION_ENTRY) OPTION_END };
 *
 *     option_start(&parser, "info", info_options, argc, argv);
 *     while ((which = option_next(&parser)) >= 0)
 *             switch (which) { case INFO_JSON: ... parser.value ... }
 *     if (which == OPTION_WRONG)
 *             return ERR_EXIT_USAGE;
 *     operands are argv[parser.first_operand] and what follows
 */
#ifndef SEEP_CLI_OPTION_H
#define SEEP_CLI_OPTION_H

#include <getopt.h>
#include <stdbool.h>

#include "base/str.h"

/* One option, or a heading of the help text (name NULL and letter 0). */
struct option_entry {
        const char *name;     /* long name; NULL: letter only */
        char letter;          /* 0 none */
        const char *argument; /* NULL none; "FILE" needed; "[FILE]" may follow after '=' */
        const char *help;     /* NULL ends the table */
        const char *values;   /* what the argument can be: "none|exec|all"; "peak|end|..."
                               * also others; NULL anything */
};

/* X(id, name, letter, argument, help) or X(id, name, letter, argument, help, values) */
#define OPTION_ENUM(id, ...) id,
#define OPTION_ENTRY(id, name, letter, argument, ...) \
        { name, letter, argument, OPTION_REST(__VA_ARGS__, NULL, NULL) },
#define OPTION_REST(help, values, ...) help, values
#define OPTION_END { NULL, 0, NULL, NULL, NULL }

/* Groups that the tables of several commands have; PREFIX makes the ids. */
#define FILTER_OPTIONS(X, prefix)                                                                  \
        X(prefix##_HEAD_FILTER, NULL, 0, NULL,                                                     \
          "which stacks (extended regular expressions; each may be repeated):")                    \
        X(prefix##_INCLUDE, "include", 'i', "RE", "only stacks with a matching function")          \
        X(prefix##_EXCLUDE, "exclude", 'x', "RE",                                                  \
          "no stacks with a matching function; from the inside, the first frame that matches "     \
          "decides")                                                                               \
        X(prefix##_MODULE, "module", 0, "RE",                                                      \
          "only stacks through a matching library or program")                                     \
        X(prefix##_NOT_MODULE, "exclude-module", 0, "RE",                                          \
          "no stacks through a matching library or program")

#define THREAD_OPTION(X, prefix)                                                                   \
        X(prefix##_THREAD, "thread", 0, "RE", "only threads whose name or number matches")

#define WRAPPER_OPTIONS(X, prefix)                                                                 \
        X(prefix##_ALL_FRAMES, "all-frames", 0, NULL,                                              \
          "also show library code, start code, xmalloc, operator new, other wrappers")             \
        X(prefix##_HIDE, "hide", 0, "RE",                                                          \
          "treat matching functions at the inner end of stacks as wrappers (may be repeated)")

#define RECURSION_OPTION(X, prefix)                                                                \
        X(prefix##_RECURSION, "recursion", 0, NULL,                                                \
          "show a function each time that it calls itself, not once")

#define FILE_OPTIONS(X, prefix)                                                                    \
        X(prefix##_OUTPUT, "output", 'o', "FILE", "write to FILE instead of stdout")               \
        X(prefix##_FORCE, "force", 'f', NULL, "replace an existing FILE")

#define COLOR_OPTION(X, prefix)                                                                    \
        X(prefix##_COLOR, "color", 0, "WHEN", "auto (default), always, never", PAGER_COLORS)

/* Of each command that takes options from configuration files (config.h): option_next()
 * does not return --config. */
#define LAST_OPTIONS(X, prefix)                                                                    \
        X(prefix##_CONFIG, "config", 0, "FILE",                                                    \
          "read options from FILE instead of the configuration files (may be repeated)")           \
        X(prefix##_HELP, "help", 'h', NULL, "show this help")

#define OPTION_MAX 96 /* entries of one table */

enum { OPTION_DONE = -1, OPTION_WRONG = -2, OPTION_HELP = -3 };

struct option_parser {
        const char *command;
        const struct option_entry *entries;
        int argc;
        char **argv;
        const char *value; /* argument of the option just returned; NULL none */
        int first_operand; /* valid after OPTION_DONE */
        bool with_config;  /* to be set after the start: return --config too */
        char letters[2 * OPTION_MAX + 4];
        struct option longs[OPTION_MAX + 1];
};

/* Operands may stand anywhere between options, until "--". */
void option_start(struct option_parser *p, const char *command, const struct option_entry *entries,
                  int argc, char **argv);

/* The same, but the first operand ends the options: what follows belongs to the program to run. */
void option_start_program(struct option_parser *p, const char *command,
                          const struct option_entry *entries, int argc, char **argv);

/* Index of the next option in the table; OPTION_DONE; OPTION_WRONG after a message on stderr: exit
 * with ERR_EXIT_USAGE.  A value that is not among the entry's values is
 * wrong, unless it is the beginning of just one of them: then it is that one. */
int option_next(struct option_parser *p);

/* Hand all options to TAKE, which returns 0 or the exit status after a message.
 * Returns that status, ERR_EXIT_USAGE, 0, or OPTION_HELP when the user asks for help:
 * the caller cleans up first. */
typedef int option_taker(void *to, int which, const char *value);
int option_take(struct option_parser *p, option_taker *take, void *to);

/* Whether WHICH, which option_next() returned, is --config. */
bool option_is_config(const struct option_parser *p, int which);

/* Append one aligned line per entry; no line is wider than 80 columns. */
void option_help(const struct option_entry *entries, struct str *out);

/* Append a text that begins at COLUMN and its end of line: it continues, indented, at each '\n' and
 * where a word would not fit. */
void option_text(const char *text, size_t column, struct str *out);

/* The place of WORD in values such as "none|exec|all"; -1: not there. */
int option_choice(const char *values, const char *word);

#endif
