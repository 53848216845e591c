/* SPDX-License-Identifier: MIT */
/*
 * answers.h -- words about snapshots: for the user, and for commands that asked for one.
 *
 * Room:   outside.
 */
#ifndef SEEP_SESSION_ANSWERS_H
#define SEEP_SESSION_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "session/recording.h"
#include "session/session.h"

/* What the user must know about a report: that there is none, or that a limit was passed.  false: nothing. */
bool answers_word(const struct session_options *o, const struct recording *r, const struct snapshots_due *due,
                  const struct reports_result *result, char *out, size_t room);

/* The program has taken the signal for itself. */
void answers_signal(const struct session_options *o, const struct recording *r, char *out, size_t room);

/* What SEEP_LEAK_CHECK found. */
void answers_scan(const struct recording *r, const struct scanner_words *words, char *out, size_t room);

/* Answer who asked for DUE, and close the connection. */
void answers_reply(const struct snapshots_due *due, const struct reports_result *result);

/* Answer that it cannot be done, and close FD. */
void answers_refuse(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
