/* SPDX-License-Identifier: MIT */
/*
 * names.h -- the options about symbol names, and messages about the search for them.
 *
 * Room:   outside, cli/ only.  For every command that shows functions.
 */
#ifndef SEEP_CLI_NAMES_H
#define SEEP_CLI_NAMES_H

#include <stdbool.h>

#include "names/symbol.h"
#include "profile/model.h"

/* For the option table of a command; PREFIX makes the ids. */
#define NAMES_OPTIONS(X, prefix)                                                                   \
        X(prefix##_HEAD_NAMES, NULL, 0, NULL, "where names come from:")                            \
        X(prefix##_SYSROOT, "sysroot", 0, "DIR", "DIR is a copy of the recorded machine's /")      \
        X(prefix##_DEBUG_PATH, "debug-path", 0, "DIR",                                             \
          "unstripped or debug files are in DIR (may be repeated)")                                \
        X(prefix##_NO_DEBUGINFOD, "no-debuginfod", 0, NULL,                                        \
          "do not ask the servers in DEBUGINFOD_URLS")

enum { NAMES_DEBUG_PATHS = 32 };

/* Tells what happens on stderr, shows downloads on a terminal, and lets Ctrl-C end a
 * download instead of the command. */
extern const struct symbol_listener names_listener;

struct names {
        struct symbol_options options;
        const char *debug_paths[NAMES_DEBUG_PATHS];
};

/* Either before names_take(), or names_settle() when all options were taken.  N
 * must not move afterwards. */
void names_init(struct names *n);
void names_settle(struct names *n, bool quiet);

/* Take OPTION ("sysroot", ...) if it is one of ours: *STATUS is then 0, or the exit status after a
 * message. */
bool names_take(struct names *n, const char *command, const char *option, const char *value,
                int *status);

/* When many functions that S was asked for have no name: say which files to find, once as long as
 * the cache of names remembers it.  After the last question. */
void names_hint(struct symbols *s, const struct profile *p);

#endif
