/* SPDX-License-Identifier: MIT */
/*
 * stream.h -- the journal for a reader elsewhere (SEEP_OPTIONS="--journal=..."): no tool runs
 * beside the program.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE, or before the program's end.
 * Keeps:  events go through a ring (journal.h); the thread that finds it half full, or the last
 *         packet older than a second, writes it out, with all its signals blocked.  No other waits
 *         for it unless the ring is full and --overflow=block holds, and then for
 *         a bounded time.  A file is opened, appended to and closed; a socket stays open, high up
 *         among the descriptors, and is used only while it is still the one that we made.
 *
 * With --journal=target:PATH the ledger, and the ring in it, are shared with seep-target (target/),
 * which reads the ring and packs it: no thread of the program writes anything out, and there is no
 * descriptor.
 * Cost:   per event 32 bytes of the ring, a look at the clock, some 30 ns to encode it.
 */
#ifndef SEEP_AGENT_STREAM_H
#define SEEP_AGENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_EVENTS 8192u /* of the ring ... */
#define STREAM_EVENTS_SHARED 65536u /* ... that seep-target reads */
#define STREAM_FLUSH 4096u  /* ... written out when so many are there, ... */
#define STREAM_SLACK 1024u  /* ... full when there is only room for events that are under way */
#define STREAM_FLUSH_MS 1000u

/* Take the words of SEEP_OPTIONS.  False: --journal is not among them, or something is wrong, which
 * was said (*SAID). */
bool stream_options(const char *options, bool *said);

/* The recording begins, with the ledger in that file; the same in a forked child, whose ledger is a
 * copy.  False: there is no way
 * to write. */
bool stream_start(long ledger);
bool stream_forked(long ledger);

/* Whether the ledger is shared with seep-target, which has others search this program for leaks. */
bool stream_is_shared(void);

/* Entries of the ring. */
uint32_t stream_events(void);

/* It is about the time of an event: the clock, and the ring if it should be written out. */
void stream_tick(void);

/* Room for one more event in the ring.  False: there is none, and it is counted. */
bool stream_has_room(void);

/* The program is about to end (enum journal_end), with STATUS; all that is there is written. */
void stream_end(uint32_t how, uint32_t status);

#endif
