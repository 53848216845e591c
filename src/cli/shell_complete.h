/* SPDX-License-Identifier: MIT */
/*
 * shell_complete.h -- completion of a line of `seep shell`: commands, words, options and values,
 * processes, functions, sites and files.
 */
#ifndef SEEP_CLI_SHELL_COMPLETE_H
#define SEEP_CLI_SHELL_COMPLETE_H

#include "cli/shell.h"

struct shell_offers {
        char **at; /* words that begin with what is typed, in order */
        uint32_t count;
        size_t typed; /* bytes at the end of the line that they stand for */
};

/* Words for the end of LINE, which ends at the cursor. */
void shell_complete(struct shell *s, const char *line, struct shell_offers *out);
void shell_complete_free(struct shell_offers *o);

#endif
