/* SPDX-License-Identifier: MIT */
/*
 * book.h -- what an event does to the ledger: one set of functions for all that records or replays.
 *
 * Room:   both sides.  Freestanding, without locks.  Inside it is written by the hooks
 *         (agent/record.h), outside by whoever learns of events in another way: a log that is
 *         replayed (profile/replay.c) or written.
 *
 *     hooks      --- capture -->  book  -->  ledger in shared memory  -->  observer, looks, reports
 *     event log  --- decoded -->  book  -->  ledger of a reader (profile/feed.h)
 *
 * Keeps:  the book knows addresses, sizes, sites and times.  Whose stack it is, what the real call
 *         said, and how memory for a ledger is got are the affair of those who call it.
 *
 *   book.h    counters of sites and threads         era.h     marks, and blocks that died between
 *   peak.h    the maximum, what it was made of      error.h   invalid frees
 *   shadow.h  address to live block                 tree.h    stacks and sites, with numbers
 *   count.h   blocks come and go
 */
#ifndef SEEP_BOOK_BOOK_H
#define SEEP_BOOK_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/arch/arch.h"
#include "ledger/ledger.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define compiler_barrier() __asm__ volatile("" ::: "memory")
#define BOOK_INLINE static inline __attribute__((always_inline))

/* P, of which the compiler could not know that it is never NULL. */
#define book_never_null(p)                       \
        ({                                       \
                __auto_type p_ = (p);            \
                if (!p_)                         \
                        __builtin_unreachable(); \
                p_;                              \
        })

/* How an address is taken apart by the shadow: its place in a chunk, in a middle table, in the top
 * one. */
#define SHADOW_LOW_BITS 22 /* of LEDGER_SHADOW_SPAN */
#define SHADOW_MIDDLE_BITS 12
#define SHADOW_TOP_AT (SHADOW_LOW_BITS + SHADOW_MIDDLE_BITS)
#define SHADOW_TOP_BITS \
        (LEDGER_ADDRESS_BITS > SHADOW_TOP_AT ? LEDGER_ADDRESS_BITS - SHADOW_TOP_AT : 0)
#define SHADOW_MIDDLE(address) ((address) >> SHADOW_LOW_BITS & ((1u << SHADOW_MIDDLE_BITS) - 1))

typedef struct ledger_block *shadow_middle[1u << SHADOW_MIDDLE_BITS];
typedef shadow_middle *shadow_top[1u << SHADOW_TOP_BITS];

/* A ledger that is being written, and the private tables for it.  All zero before book_begin(). */
struct book {
        struct ledger_head *head; /* also the address of the whole ledger */
        struct ledger_node *nodes;
        struct ledger_site *sites;
        uint8_t *slots;    /* struct ledger_slot, committed one by one */
        uint8_t *counters; /* chunks */
        uint8_t *shadow;   /* chunks */
        uint32_t spread;   /* the allocator may put two blocks into 32 bytes (shadow.h) */
        uint32_t tree_lock, stacks_lock;
        struct tree *tree;          /* tree.c */
        struct tree_stacks *stacks; /* tree.h */
        shadow_top *planes[LEDGER_PLANES]; /* NULL: never used, except 1 to 4 with SPREAD */
        shadow_top plain;                  /* of plane 0 */
};

/* Somebody who writes: a thread of the program, or what stands for one. */
struct book_writer {
        struct ledger_slot *slot;
        uint64_t last; /* address of the last allocation if nothing happened since */
        uint64_t span; /* the part of the address space last looked up, and its chunk */
        struct ledger_block *span_chunk;
        uint32_t record;   /* index into THREADS */
        uint32_t index;    /* of the slot */
        uint32_t reclaims; /* head->reclaims when it last looked, if nothing was being taken away */
};

/* ---- asked of whoever keeps the ledger: agent/book_host.c, profile/book_host.c ---- */

/* Make sure that the first BYTES of PART are writable.  False: the part is full, or there is no
 * memory. */
bool book_commit(struct book *k, enum ledger_part part, uint64_t bytes);

/* Private memory, zero.  NULL when there is none.  book_empty: it is not needed any more, but may
 * still be read. */
void *book_memory(size_t size);
void book_memory_free(void *p, size_t size);
void book_empty(void *p, size_t size);

/* There is no room for more, for this reason.  The ledger may have become too large. */
void book_full(struct book *k, enum ledger_stop reason);
void book_check(struct book *k);

/* Whoever reads the ledger is just about to take a page away: wait while *STATE is
 * LEDGER_RECLAIM_TAKEN. */
void book_await(uint32_t *state);

/* ---- the layout ---- */

/* The bytes of a ledger whose large parts are 2^SHIFT times smaller than usual; HEAD, if any, is
 * told where each part is.  A part begins at a multiple of BOOK_STEP, one of BOOK_LARGE bytes or
 * more at one of BOOK_HUGE, so that it can be in huge pages (collect/ahead.h). */
#define BOOK_STEP (256ul << 10)
#define BOOK_HUGE (2ul << 20)
#define BOOK_LARGE (1ull << 30)
uint64_t book_layout(struct ledger_head *head, unsigned shift);

/* The ledger at HEAD, which has its layout, is empty: K writes it from now on. */
void book_begin(struct book *k, struct ledger_head *head);

static inline void *book_part(const struct book *k, enum ledger_part part)
{
        return (uint8_t *)k->head + k->head->part[part].offset;
}

/* TEXT's place in STRINGS, where it is put; 0 (the empty text) when there is no room. */
uint32_t book_string(struct book *k, const char *text);

/* ---- counters ---- */

static inline uint32_t book_now_ms(const struct book *k)
{
        return __atomic_load_n(&k->head->tick_ms, __ATOMIC_RELAXED);
}

static inline struct ledger_slot *book_slot(const struct book *k, uint32_t index)
{
        return (struct ledger_slot *)(k->slots + (uint64_t)index * sizeof(struct ledger_slot));
}

/* The counters of SITE in W's slot; NULL when there is no room (book_full). */
struct ledger_counter *book_counter_new(struct book *k, struct book_writer *w, uint32_t site);

/* The same if there are some, else NULL. */
static inline struct ledger_counter *book_counter_known(const struct book *k,
                                                        const struct book_writer *w, uint32_t site)
{
        uint32_t chunk = w->slot->chunk[site / LEDGER_COUNTERS_PER_CHUNK];

        if (unlikely(!chunk))
                return NULL;
        return book_never_null(
                (struct ledger_counter *)(k->counters - LEDGER_COUNTER_CHUNK_BYTES +
                                          (uint64_t)chunk * LEDGER_COUNTER_CHUNK_BYTES) +
                site % LEDGER_COUNTERS_PER_CHUNK);
}

static inline struct ledger_counter *book_counter(struct book *k, struct book_writer *w,
                                                  uint32_t site)
{
        struct ledger_counter *c = book_counter_known(k, w, site);

        return likely(c != NULL) ? c : book_counter_new(k, w, site);
}

/* The class of a size or an age: ledger_slot. */
static inline uint32_t book_class(uint64_t value)
{
        return 63 - (uint32_t)__builtin_clzll(2 * value + 1); /* VALUE is below 2^63 */
}

static inline uint32_t book_family(uint32_t kind)
{
        return kind < LEDGER_KIND_NEW ? LEDGER_FAMILY_C
                                      : kind - LEDGER_KIND_NEW + LEDGER_FAMILY_NEW;
}

/* The kind of block B, as readers know it. */
static inline uint32_t book_kind(const struct book *k, const struct ledger_block *b)
{
        uint32_t kind = LEDGER_BLOCK_KIND(*b);

        if (kind != LEDGER_KIND_SEE_SITE && kind != LEDGER_KIND_THINNED)
                return kind;
        return LEDGER_KIND_PLAIN(k->sites[LEDGER_BLOCK_SITE(*b)].kind);
}

#endif
