/* SPDX-License-Identifier: MIT */
/*
 * requests.h -- requests of commands in other processes to the observer, and the answers
 * (session/ask.h is the other end).
 */
#ifndef SEEP_SESSION_REQUESTS_H
#define SEEP_SESSION_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/options.h"
#include "session/recording.h"
#include "wire/hello.h"

/* Who can be asked about. */
struct requests_among {
        struct recording *const *recordings;
        uint32_t count;
        bool allowed; /* whoever asks may do so */
};

/* Do what ASK says, or refuse it.  FD, the connection, is moved. */
void requests_serve(const struct requests_among *among, const struct wire_request *ask, int fd);

/* ---- words about snapshots: for the user, and for commands that asked for one ---- */

/* What the user must know about a report: that there is none, or that a limit was
 * passed.  false: nothing. */
bool answers_word(const struct session_options *o, const struct recording *r,
                  const struct snapshots_due *due, const struct reports_result *result, char *out,
                  size_t room);

/* The program has taken the signal for itself. */
void answers_signal(const struct session_options *o, const struct recording *r, char *out,
                    size_t room);

/* What SEEP_LEAK_CHECK found. */
void answers_scan(const struct recording *r, const struct scanner_words *words, char *out,
                  size_t room);

/* Answer who asked for DUE, and close the connection. */
void answers_reply(const struct snapshots_due *due, const struct reports_result *result);

#endif
