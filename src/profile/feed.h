/* SPDX-License-Identifier: MIT */
/*
 * feed.h -- events that did not come from hooks, put into a book with a ledger of our own.
 *
 * Keeps:  events have an order, so there is one writer, and all sums and the peak are exact to the
 *         byte, however many threads there were.  Sites are those of whoever names them; beyond
 *         LEDGER_SITES_MAX they share 0.
 * Cost:   a few ns an event; 64 bytes for each site.
 */
#ifndef SEEP_PROFILE_FEED_H
#define SEEP_PROFILE_FEED_H

#include "book/count.h"

struct feed {
        struct book book;
        struct book_writer writer;
};

struct feed *feed_new(void);
void feed_free(struct feed *f);

/* Whatever a log says, a ledger has no larger blocks. */
static inline struct count_blocks feed_bounded(struct count_blocks n)
{
        n.size = n.size < LEDGER_SIZE_MAX ? n.size : LEDGER_SIZE_MAX;
        return n;
}

static inline struct ledger_counter *feed_counter(struct feed *f, uint32_t site, uint32_t ms)
{
        f->book.head->tick_ms = ms;
        return book_counter(&f->book, &f->writer, site < LEDGER_SITES_MAX ? site : 0);
}

/* N came at SITE, at MS; went; did not go after all. */
BOOK_INLINE void feed_add(struct feed *f, uint32_t site, struct count_blocks n, uint32_t ms)
{
        count_add(&f->book, &f->writer, feed_counter(f, site, ms), feed_bounded(n));
}

BOOK_INLINE void feed_remove(struct feed *f, uint32_t site, struct count_blocks n, uint32_t ms)
{
        count_remove(&f->book, &f->writer, feed_counter(f, site, ms), feed_bounded(n));
}

BOOK_INLINE void feed_undo(struct feed *f, uint32_t site, struct count_blocks n, uint32_t ms)
{
        count_undo(&f->book, &f->writer, feed_counter(f, site, ms), feed_bounded(n));
}

/* count_carve(), and the event is over. */
BOOK_INLINE void feed_carve(struct feed *f, uint32_t site, int64_t bytes, uint32_t ms)
{
        count_carve(&f->book, &f->writer, feed_counter(f, site, ms), bytes);
        peak_after_alloc(&f->book, &f->writer);
}

/* BYTES were mapped, which is no part of the heap. */
BOOK_INLINE void feed_map(struct feed *f, uint32_t site, uint64_t bytes, uint32_t ms)
{
        count_map(&f->book, feed_counter(f, site, ms), bytes);
}

/* The counters of SITE, to read; zeros for one that never was. */
const struct ledger_counter *feed_site(const struct feed *f, uint32_t site);

/* Live bytes and blocks of all sites. */
static inline uint64_t feed_live_bytes(const struct feed *f)
{
        return f->writer.slot->alloc_bytes - f->writer.slot->free_bytes;
}

static inline uint64_t feed_live_blocks(const struct feed *f)
{
        return f->writer.slot->allocs - f->writer.slot->frees;
}

#endif
