/* SPDX-License-Identifier: MIT */
/* message.h -- messages to the user: on stderr, each beginning "seep: "; short results. */
#ifndef SEEP_CLI_MESSAGE_H
#define SEEP_CLI_MESSAGE_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print TEXT as one line, whatever characters the names in it have. */
void message_sentence(const char *text);

/* Append "seep: ", TEXT and a newline to what will be written to stderr, in lines that
 * fit if it is a terminal. */
void message_line(const char *text, size_t length, struct str *out);

/* Print a short result to stdout; control characters in names are made harmless.  Long results go
 * through deliver.h. */
void message_result(struct str *text);

/* Print E and return the status to exit with (e->exit_code, or 1 when none was chosen). */
int message_error(const struct err *e);

/* A usage error: print the text, then "seep: 'seep help COMMAND' lists the options"; returns
 * ERR_EXIT_USAGE. */
int message_usage(const char *command, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* From now on message_usage() adds that options came from these PLACES too. */
void message_usage_also(const char *places);

#endif
