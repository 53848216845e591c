/* SPDX-License-Identifier: MIT */
/*
 * err.h -- one error value: filled where something fails, extended on the way up, printed by cli/
 * only.
 *
 * Keeps:  functions that can fail take `struct err *e` last and return false (or NULL) after
 *         filling it.
 */
#ifndef SEEP_BASE_ERR_H
#define SEEP_BASE_ERR_H

#include <stdbool.h>

/* Exit statuses of commands; the man pages list them. */
enum err_exit {
        ERR_EXIT_FINDINGS = 1,
        ERR_EXIT_USAGE = 2,
        ERR_EXIT_CANNOT_TRACE = 3,
        ERR_EXIT_BAD_FILE = 4,
        ERR_EXIT_NOT_EXECUTABLE = 126,
        ERR_EXIT_NOT_FOUND = 127
};

struct err {
        int exit_code; /* enum err_exit; 0: none was chosen, the command exits with 1 */
        char text[2048];
};

/* Fill E with a message: what failed, the fact seen, what to do.  No final full stop or
 * newline.  Returns false. */
bool err_set(struct err *e, int exit_code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the text of the current errno behind it. */
bool err_sys(struct err *e, int exit_code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Put "CONTEXT: " in front of what is there.  Returns false. */
bool err_context(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
