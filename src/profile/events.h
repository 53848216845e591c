/* SPDX-License-Identifier: MIT */
/*
 * events.h -- the events of a recording, a few tenths of a byte to three bytes each.
 *
 * Keeps:  events come back in the order in which they went in, every field of struct ledger_event
 *         as it was; `stamp` is not stored but counted.  A batch continues the one before it:
 *         batches are decoded from the first on.
 * Cost:   encoding 30-110 ns an event, the peak included, decoding less.  Bytes an event: sqlite3
 *         and python3 0.1, python3 without its own allocator 0.3, random work 3.  Memory: 40 bytes
 *         for each live block, and 6 MiB.
 */
#ifndef SEEP_PROFILE_EVENTS_H
#define SEEP_PROFILE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "ledger/ledger.h"
#include "profile/feed.h"

#define EVENTS_BATCH 65536u

/* Why a log has an end.  The text continues "the log ends here: ". */
#define EVENTS_ENDS(X)                                                         \
        X(OPEN, 0, "it was not closed")                                        \
        X(DONE, 1, "so did the recording")                                     \
        X(FULL, 2, "--max-file was reached")                                   \
        X(FAILED, 3, "it could not be written")

enum events_end {
#define EVENTS_END_ENUM(name, number, text) EVENTS_END_##name = number,
        EVENTS_ENDS(EVENTS_END_ENUM)
#undef EVENTS_END_ENUM
        EVENTS_END_COUNT
};

const char *events_end_text(enum events_end end);

struct events_encoder;
struct events_encoder *events_encoder_new(void);
void events_encoder_free(struct events_encoder *c);

/* Add COUNT events; at most EVENTS_BATCH may wait. */
void events_encode(struct events_encoder *c, const struct ledger_event *e, uint32_t count);
uint32_t events_waiting(const struct events_encoder *c);

/* What all events so far add up to, with the exact peak. */
const struct feed *events_sums(const struct events_encoder *c);

/* Append the waiting events, which may be none, as one batch. */
void events_batch(struct events_encoder *c, struct str *out);

/* Append the last batch of a log of COUNT events: it holds none, and tells why there are no
 * more. */
void events_last_batch(uint64_t count, enum events_end end, struct str *out);

struct events_decoder;
struct events_decoder *events_decoder_new(void);
void events_decoder_free(struct events_decoder *d);

/* Take the next batch.  False: it is damaged or not the next one, and nothing after it can be
 * decoded. */
bool events_take(struct events_decoder *d, const uint8_t *batch, size_t bytes);

/* The next event of the batch; false at its end and, with events_damaged(), where its
 * contents stop making sense. */
bool events_next(struct events_decoder *d, struct ledger_event *e);
bool events_damaged(const struct events_decoder *d);

/* How the log ended, as far as batches were taken; OPEN: no last batch yet. */
enum events_end events_ended(const struct events_decoder *d);

/* Events that the taken batches hold. */
uint64_t events_count(const struct events_decoder *d);

#endif
