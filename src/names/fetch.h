/* SPDX-License-Identifier: MIT */
/*
 * fetch.h -- debug files from the debuginfod servers in DEBUGINFOD_URLS.
 *
 * Keeps:  the client library is loaded only when there is a server to ask.  A server that does not
 *         answer is waited for once, not once per module.
 */
#ifndef SEEP_NAMES_FETCH_H
#define SEEP_NAMES_FETCH_H

#include <stdbool.h>

#include "names/frame.h"
#include "profile/model.h"

struct fetch; /* a session with the servers */

/* NULL when no server is named, or OPTIONS forbid it. */
struct fetch *fetch_new(const struct symbol_options *options);
void fetch_free(struct fetch *f);

enum fetch_what { FETCH_DEBUGINFO, FETCH_EXECUTABLE };

/* Download by the build id of WANTED.  *PATH is a file in the client's cache, the caller's
 * to free.  F may be NULL. */
bool fetch_file(struct fetch *f, const struct profile_module *wanted, enum fetch_what what,
                char **path);

#endif
