/* SPDX-License-Identifier: MIT */
/*
 * shell_edit.h -- lines from a terminal: with editing, history and completion by libedit
 * (shell_edit.c), or without (shell_edit_plain.c).
 */
#ifndef SEEP_CLI_SHELL_EDIT_H
#define SEEP_CLI_SHELL_EDIT_H

#include "cli/shell.h"

#define SHELL_PROMPT "seep> "
#define SHELL_LINE_MAX (1u << 20)

enum shell_edited { SHELL_EDITED, SHELL_INTERRUPTED, SHELL_OVER };

/* S outlives it. */
struct shell_editor *shell_edit_open(struct shell *s);
void shell_edit_close(struct shell_editor *e);

/* Wait until there is something to read, or a signal came (SHELL_INTERRUPTED, or SHELL_OVER when it
 * was to end us). */
enum shell_edited shell_edit_wait(void);

/* The next line into OUT, without its end. */
enum shell_edited shell_edit_line(struct shell_editor *e, struct str *out);

/* LINE worked. */
void shell_edit_remember(struct shell_editor *e, const char *line);

#endif
