/* SPDX-License-Identifier: MIT */
/*
 * verbose.h -- messages about recorded processes as things happen (record -v, -vv): forks, execs,
 * exits, libraries, threads.
 *
 * Room:   outside, the rooms of session.h only.
 * Cost:   a table is read when the head of the ledger says that it has grown; those
 *         that may shrink at -vv only.
 */
#ifndef SEEP_SESSION_VERBOSE_H
#define SEEP_SESSION_VERBOSE_H

#include <stdint.h>

#include "session/options.h"
#include "session/recording.h"

/* R has just said hello; FORKED: it is a child that goes on where its parent was. */
void verbose_begin(const struct session_options *o, const struct recording *r, bool forked);

/* What is new in the ledger of R, as its head was read last. */
void verbose_look(const struct session_options *o, struct recording *r);

/* The program has taken the signal that asks for snapshots: say so, once. */
void verbose_signal(const struct session_options *o, struct recording *r, bool is_main);

/* R has ended; its last look is done. */
void verbose_end(const struct session_options *o, struct recording *r,
                 const struct recording_end *end);

#endif
