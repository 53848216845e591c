/* SPDX-License-Identifier: MIT */
/*
 * shell_history.h -- the history of `seep shell`: lines that worked, each once, in a file of the
 * user.
 *
 * Keeps:  $XDG_STATE_HOME/seep/history (or ~/.local/state/seep/history), for the user alone.
 *         Several shells share it; what cannot be kept is not told.
 */
#ifndef SEEP_CLI_SHELL_HISTORY_H
#define SEEP_CLI_SHELL_HISTORY_H

#include <stdint.h>

struct shell_history {
        char **lines; /* oldest first */
        uint32_t count;
        int fd; /* -1: it is kept nowhere */
};

void shell_history_open(struct shell_history *h);
void shell_history_close(struct shell_history *h);

/* LINE is the newest; an equal one goes. */
void shell_history_add(struct shell_history *h, const char *line);

#endif
