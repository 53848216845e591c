/* SPDX-License-Identifier: MIT */
/*
 * peak.h -- the exact maximum of live bytes and what it was made of, in constant time per event.
 *
 * Room:   both sides; any context.
 * Keeps:  a counter that is about to change and has not done so since the last maximum first saves
 *         itself, so at any time "saved if of the current epoch, live otherwise" is the composition
 *         of the maximum (ledger_counter).
 *
 * An example, with two sites of 10-byte blocks (at each moment: live bytes; "saved" is what the
 * counter keeps for the peak):
 *
 *     event           A live  B live  total  maximum, epoch  A saved  B saved  the peak is
 *     A allocates         10       0     10      10, 0                         A 10 (live)
 *     B allocates         10      10     20      20, 0                         A 10, B 10 (live)
 *     A frees              0      10     10      20, 1       10 of 1           A 10 (saved), B 10
 *     B frees              0       0      0      20, 1       10 of 1  10 of 1  A 10, B 10 (saved)
 *     A allocates 30      30       0     30      30, 1                         A 30 (live)
 *
 * One thread: every allocation is compared with the maximum.  While nothing is freed after a new
 * maximum (`at_peak`), live numbers are the maximum's, and nothing needs saving: a growing heap
 * costs one compare and three stores.
 *
 * Several threads: each adds what it gained or lost to a common total once that is more than a
 * batch, and the total is compared with the maximum then.  Far below the maximum a batch is large;
 * near it all batches together are a small part of the maximum (peak.c).  Then counters save
 * themselves as with one thread, and their sum is what the peak is said to be: what each thread had
 * counted at the moment when the maximum was seen.  The real one may be higher by what batches hid,
 * which head->peak_error_bytes tells.
 */
#ifndef SEEP_BOOK_PEAK_H
#define SEEP_BOOK_PEAK_H

#include "book/book.h"

/* Near the maximum all threads together may hold back this part of it. */
#define PEAK_PART 2500u
/* A heap that never was this large is not worth that many additions; then a batch is so many bytes,
 * and all of them at most so many. */
#define PEAK_TINY (256u << 10)
#define PEAK_TINY_BATCH 512u
#define PEAK_TINY_LEAST 4096u

/* A second slot is in use: from now on totals are compared in batches. */
void peak_thread_joined(struct book *k);

/* In the child of a fork, alone: the copy of the total was made while threads went on, and need not
 * be the sum of what they added. */
void peak_forked(struct book *k);

/* Add what W gained or lost to the common total; take a new maximum if there is one. */
void peak_flush(struct book *k, struct book_writer *w);

/* The barrier: what is read here is not to be read ahead for those who need not come here. */
static inline void peak_save(struct ledger_counter *c, uint32_t epoch)
{
        c->peak_bytes = (int64_t)(c->alloc_bytes - c->free_bytes);
        c->peak_blocks = (int32_t)(c->allocs - c->frees);
        __atomic_store_n(&c->epoch, epoch, __ATOMIC_RELEASE); /* who sees it sees what was saved */
        compiler_barrier();
}

/* What C adds to the peak of H. */
static inline void peak_of(const struct ledger_head *h, const struct ledger_counter *c,
                           uint64_t *bytes, uint64_t *blocks)
{
        bool saved = c->epoch == h->epoch && (h->several || !h->at_peak);

        *bytes += saved ? (uint64_t)c->peak_bytes : c->alloc_bytes - c->free_bytes;
        *blocks += saved ? (uint64_t)(int64_t)c->peak_blocks : c->allocs - c->frees;
}

/* Before counter C of the ledger at H grows by an allocation. */
static inline void peak_before_alloc(const struct ledger_head *h, struct ledger_counter *c)
{
        uint32_t epoch = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED);

        if (unlikely(c->epoch != epoch) && !h->at_peak)
                peak_save(c, epoch);
}

/* After the slot's totals, by which LIVE bytes are left, include an allocation. */
BOOK_INLINE void peak_judge(struct book *k, struct book_writer *w, struct ledger_head *h,
                            uint64_t live)
{
        if (unlikely(h->several)) {
                if ((int64_t)(live - w->slot->flushed_bytes) > h->batch)
                        peak_flush(k, w);
                return;
        }
        if ((int64_t)live > (int64_t)h->peak_bytes) {
                h->peak_bytes = live;
                h->peak_tick_ms = __atomic_load_n(&h->tick_ms, __ATOMIC_RELAXED);
                h->at_peak = 1;
        }
}

static inline void peak_after_alloc(struct book *k, struct book_writer *w)
{
        peak_judge(k, w, k->head, w->slot->alloc_bytes - w->slot->free_bytes);
}

/* Before counter C of the ledger at H shrinks by a release. */
static inline void peak_before_free(struct ledger_head *h, struct ledger_counter *c)
{
        uint32_t epoch = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED);

        if (likely(!(h->at_peak | (epoch ^ c->epoch))))
                return;
        if (h->at_peak) {
                h->at_peak = 0;
                __atomic_store_n(&h->epoch, ++epoch, __ATOMIC_RELAXED);
        }
        peak_save(c, epoch);
}

/* After the slot's totals include a release. */
BOOK_INLINE void peak_after_free(struct book *k, struct book_writer *w, const struct ledger_head *h)
{
        const struct ledger_slot *s = w->slot;

        if (unlikely(h->several) &&
            (int64_t)(s->flushed_bytes - (s->alloc_bytes - s->free_bytes)) > h->batch)
                peak_flush(k, w);
}

#endif
