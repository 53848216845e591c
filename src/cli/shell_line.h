/* SPDX-License-Identifier: MIT */
/*
 * shell_line.h -- a line of `seep shell` parsed into commands: their words, and where their results
 * go.
 *
 *     WORD... [>FILE | >>FILE | >!FILE | |COMMAND] [; WORD...]
 *     # comment
 *
 * Quotes and backslashes are those of cli/words.h.  What follows | is for sh, up to a ; that is
 * not quoted.
 */
#ifndef SEEP_CLI_SHELL_LINE_H
#define SEEP_CLI_SHELL_LINE_H

#include <stdbool.h>

#include "base/err.h"

enum shell_to { SHELL_TO_STDOUT, SHELL_TO_FILE, SHELL_TO_END, SHELL_TO_REPLACE, SHELL_TO_PIPE };

struct shell_line {
        char **words; /* ended by NULL */
        int count;
        enum shell_to to;
        char *where; /* the file, or the command for sh; NULL: stdout */
};

/* Take the first command of *TEXT, and move *TEXT behind it.  1: LINE is filled, for
 * shell_line_free(); 0: there is no more; -1: E tells why the rest is no command, and is passed
 * over. */
int shell_line_take(const char **text, struct shell_line *line, struct err *e);
void shell_line_free(struct shell_line *line);

#endif
