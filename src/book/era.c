/* SPDX-License-Identifier: MIT */
/*
 * era.c -- marks, and blocks born and freed between them.
 *
 * Keeps:  an entry of DEATHS once taken keeps its key; sums are added to by atomic instructions.
 */
#include "book/era.h"

#define DEATH_PROBES 64u

static const struct ledger_mark *marks(const struct book *k)
{
        return book_part(k, LEDGER_MARKS);
}

/* Raise the clock by one at least.  Marks that come faster than milliseconds make it run ahead of
 * time, by one minute at most (LEDGER_MARKS_MAX), until time has caught up. */
static uint32_t raise_clock(struct book *k, uint32_t now)
{
        uint32_t old = book_now_ms(k), next;

        do
                next = old + 1 > now ? old + 1 : now;
        while (!__atomic_compare_exchange_n(&k->head->tick_ms, &old, next, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED));
        return next;
}

/* What comes often must leave room for what asks for a report. */
static uint32_t marks_max(uint32_t type)
{
        switch (type) {
        case LEDGER_MARK_ENABLE:
        case LEDGER_MARK_DISABLE:
                return LEDGER_MARKS_MAX / 16;
        case LEDGER_MARK_TAG:
                return LEDGER_MARKS_MAX / 4 * 3;
        case LEDGER_MARK_LIMIT:
        case LEDGER_MARK_EXIT:
                return LEDGER_MARKS_MAX;
        default:
                return LEDGER_MARKS_MAX - 16;
        }
}

uint32_t era_mark(struct book *k, const struct ledger_mark *m, uint32_t now_ms)
{
        uint32_t *count = &k->head->mark_count, index = __atomic_load_n(count, __ATOMIC_RELAXED);
        struct ledger_mark *to;

        do {
                if (index >= marks_max(m->type) ||
                    !book_commit(k, LEDGER_MARKS, (index + 1ull) * sizeof *m)) {
                        __atomic_add_fetch(&k->head->marks_not_kept, 1, __ATOMIC_RELAXED);
                        return ERA_NO_MARK;
                }
        } while (!__atomic_compare_exchange_n(count, &index, index + 1, false, __ATOMIC_ACQ_REL,
                                              __ATOMIC_RELAXED));
        to = (struct ledger_mark *)book_part(k, LEDGER_MARKS) + index;
        to->type = m->type;
        to->thread = m->thread;
        to->label = m->label;
        to->flags = m->flags | LEDGER_MARK_EXACT;
        to->ms = raise_clock(k, now_ms);
        __atomic_store_n(&to->ready, 1, __ATOMIC_RELEASE);
        return index;
}

uint32_t era_now(const struct book *k)
{
        return __atomic_load_n(&k->head->mark_count, __ATOMIC_ACQUIRE);
}

uint32_t era_of(const struct book *k, uint32_t birth_ms)
{
        uint32_t low = 0, high = era_now(k);

        if (high && marks(k)[high - 1].ready && marks(k)[high - 1].ms <= birth_ms)
                return high;
        while (low < high) {
                uint32_t middle = (low + high) / 2;

                if (marks(k)[middle].ready && marks(k)[middle].ms <= birth_ms)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static struct ledger_death *find_death(const struct book *k, uint64_t key)
{
        struct ledger_death *all = book_part(k, LEDGER_DEATHS);
        uint64_t at = key * 0x9e3779b97f4a7c15ull >> 44;

        for (uint32_t i = 0; i < DEATH_PROBES; i++) {
                struct ledger_death *d = &all[(at + i) % LEDGER_DEATHS_MAX];
                uint64_t there = __atomic_load_n(&d->key, __ATOMIC_RELAXED);

                if (!there)
                        __atomic_compare_exchange_n(&d->key, &there, key, false, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED);
                if (!there || there == key) /* 0: it is ours now */
                        return d;
        }
        return NULL;
}

void era_death(struct book *k, const struct ledger_block *b, uint64_t blocks)
{
        uint32_t birth = era_of(k, LEDGER_BLOCK_BIRTH_MS(*b));
        struct ledger_death *d = NULL;

        if (!birth)
                return;
        if (book_commit(k, LEDGER_DEATHS, LEDGER_DEATHS_MAX * sizeof *d))
                d = find_death(k, LEDGER_DEATH_KEY(LEDGER_BLOCK_SITE(*b), birth, era_now(k)));
        if (!d) {
                __atomic_add_fetch(&k->head->deaths_not_kept, 1, __ATOMIC_RELAXED);
                return;
        }
        __atomic_add_fetch(&d->blocks, blocks, __ATOMIC_RELAXED);
        __atomic_add_fetch(&d->bytes, blocks * LEDGER_BLOCK_SIZE(*b), __ATOMIC_RELAXED);
}
