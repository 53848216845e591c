/* SPDX-License-Identifier: MIT */
/*
 * peak.c -- the maximum of live bytes when several threads allocate.
 *
 * Keeps:  live_bytes is the sum of all slots' flushed_bytes; what a slot counted beyond that is
 *         at most a batch, up or down, so all together are at most `unseen`.  `unseen` is never
 *         more than the distance from live_bytes to the maximum, or than the least that is
 *         worth the trouble: what is not in live_bytes cannot have been a maximum that is
 *         higher by more than that.
 * Cost:   two atomic operations per batch.  Each time when the distance has become half, a look at
 *         all slots; not before four times as many batches as there are slots, so that it does not
 *         matter how many there are.
 */
#include "book/peak.h"

#define LOAD(place) __atomic_load_n(place, __ATOMIC_RELAXED)
#define STORE(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)

/* Near the maximum PEAK all threads together may hold back so much.  The maximum found may be too
 * high or too low by it, and what counters save is between, so twice as much is what is not
 * known: 0.08 % of the peak. */
static uint64_t least_for(const struct book *k, uint64_t peak)
{
        uint64_t batches = (uint64_t)PEAK_TINY_BATCH * LOAD(&k->head->slot_count);

        if (peak >= PEAK_TINY)
                return peak / PEAK_PART;
        return batches < PEAK_TINY_LEAST ? batches : PEAK_TINY_LEAST;
}

/* Add what slot S counted since the last time.  Anyone may, for any slot: each exchange takes the
 * difference to the one before it. */
static uint64_t add_slot(struct book *k, struct ledger_slot *s)
{
        uint64_t own = LOAD(&s->alloc_bytes) - LOAD(&s->free_bytes);

        return __atomic_add_fetch(&k->head->live_bytes,
                                  own - __atomic_exchange_n(&s->flushed_bytes, own,
                                                            __ATOMIC_ACQ_REL),
                                  __ATOMIC_ACQ_REL);
}

static void add_all(struct book *k)
{
        uint32_t slots = LOAD(&k->head->slot_count);

        for (uint32_t i = 0; i < slots; i++) {
                struct ledger_slot *s = book_slot(k, i);

                if (LOAD(&s->alloc_bytes) - LOAD(&s->free_bytes) != LOAD(&s->flushed_bytes))
                        add_slot(k, s);
        }
}

/* Divide `unseen` among the slots; whoever changes it meanwhile does so too, and the last one is
 * right. */
static void set_batch(struct book *k)
{
        struct ledger_head *h = k->head;
        uint64_t unseen;

        do {
                unseen = __atomic_load_n(&h->unseen, __ATOMIC_SEQ_CST);
                __atomic_store_n(&h->batch, (int64_t)(unseen / LOAD(&h->slot_count)),
                                 __ATOMIC_SEQ_CST);
        } while (__atomic_load_n(&h->unseen, __ATOMIC_SEQ_CST) != unseen);
}

static void set_unseen(struct book *k, uint64_t was, uint64_t is)
{
        if (__atomic_compare_exchange_n(&k->head->unseen, &was, is, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
                set_batch(k);
}

static uint64_t distance(const struct book *k, uint64_t live)
{
        uint64_t peak = LOAD(&k->head->peak_bytes);

        return (int64_t)(peak - live) > 0 ? peak - live : 0;
}

/* How far LIVE is from the maximum decides how much may be held back.  When it must become less,
 * threads begin to add smaller batches first; then what they, the idle and the dead still hold is
 * added, and only then is the sum what a maximum is judged by. */
static uint64_t settle(struct book *k, uint64_t live)
{
        struct ledger_head *h = k->head;
        uint64_t unseen = LOAD(&h->unseen), far = distance(k, live),
                 least = least_for(k, LOAD(&h->peak_bytes)), is;

        while (unseen > least && unseen > far) {
                is = far / 2 > least ? far / 2 : least;
                __atomic_store_n(&h->batch, (int64_t)(is / LOAD(&h->slot_count)), __ATOMIC_SEQ_CST);
                add_all(k);
                set_unseen(k, unseen, is);
                live = LOAD(&h->live_bytes);
                unseen = LOAD(&h->unseen);
                far = distance(k, live);
        }
        is = far / 2 > least ? far / 2 : least;
        if (unseen < least - least / 8 ||
            (unseen < is / 2 && LOAD(&h->flushes) > 4ull * LOAD(&h->slot_count))) {
                STORE(&h->flushes, 0);
                set_unseen(k, unseen, is);
        }
        return live;
}

static void take_peak(struct book *k, uint64_t live)
{
        struct ledger_head *h = k->head;
        uint64_t peak = LOAD(&h->peak_bytes), least = least_for(k, live);

        while ((int64_t)(live - peak) > 0) {
                if (!__atomic_compare_exchange_n(&h->peak_bytes, &peak, live, false,
                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        continue;
                STORE(&h->peak_tick_ms, book_now_ms(k));
                STORE(&h->peak_error_bytes, least); /* of this maximum, not of earlier ones */
                if (LOAD(&h->at_peak)) /* a thread that thought that it was alone */
                        STORE(&h->at_peak, 0);
                __atomic_add_fetch(&h->epoch, 1, __ATOMIC_RELAXED);
                return;
        }
        /* With what is not seen it may have been more. */
        if (peak - live < least && LOAD(&h->peak_error_bytes) < least)
                STORE(&h->peak_error_bytes, least);
}

void peak_thread_joined(struct book *k)
{
        struct ledger_head *h = k->head;

        if (LOAD(&h->slot_count) < 2)
                return;
        if (!LOAD(&h->several)) {
                /* What the first thread gains after this look it will add itself,
                 * as the difference to it. */
                add_all(k);
                take_peak(k, settle(k, LOAD(&h->live_bytes)));
                __atomic_store_n(&h->several, 1, __ATOMIC_RELEASE);
                if (__atomic_exchange_n(&h->at_peak, 0, __ATOMIC_RELAXED))
                        __atomic_add_fetch(&h->epoch, 1, __ATOMIC_RELAXED);
        }
        set_batch(k);
}

void peak_flush(struct book *k, struct book_writer *w)
{
        struct ledger_head *h = k->head;

        STORE(&h->flushes, LOAD(&h->flushes) + 1);
        take_peak(k, settle(k, add_slot(k, w->slot)));
}

void peak_forked(struct book *k)
{
        struct ledger_head *h = k->head;

        h->live_bytes = 0;
        for (uint32_t i = 0; h->several && i < h->slot_count; i++)
                h->live_bytes += book_slot(k, i)->flushed_bytes;
}
