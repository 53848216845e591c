/* SPDX-License-Identifier: MIT */
/*
 * shadow.h -- address to live block, without locks and without hashing.
 *
 * Room:   both sides; any context.
 * Keeps:  an entry is cleared before the real free and set after the real malloc; between the two
 *         nobody else can own the address, so plain stores do.
 * Cost:   some 30 instructions to set, 24 to find (callgrind).
 *
 * Two small private tables lead from the address to a chunk of the ledger (ledger.h): middle by
 * bits 22-33, top by those above (x86-64: 34-46).  Planes that few programs need have theirs
 * made at the first block.
 * A granule of 32 bytes has one entry: glibc never gives two blocks in one.  Allocators with blocks
 * of 8 or 16 bytes (book.spread) have an entry for each of the four places in a granule where a
 * block can start, each in a plane of its own, so that neighbours never share one.
 */
#ifndef SEEP_BOOK_SHADOW_H
#define SEEP_BOOK_SHADOW_H

#include "book/book.h"

#define SHADOW_POOL LEDGER_PLANE_POOL
#define SHADOW_LIVE (1ull << 53)
#define SHADOW_IGNORED (1ull << 52)

/* False: no memory. */
bool shadow_start(struct book *k);

/* Chunk NUMBER of the ledger, which was copied from another one, is where its entry in CHUNKS says.
 * False: no memory.  shadow_end: give all private tables back. */
bool shadow_adopt(struct book *k, uint32_t number);
void shadow_end(struct book *k);

/* The entry for ADDRESS in PLANE, its chunk made if there is none; NULL: the address cannot be
 * kept, or the recording stops. */
struct ledger_block *shadow_make(struct book *k, uint64_t address, uint32_t plane);

/* The entry for a block at ADDRESS of the program's own pools, which may start at any byte.
 * NULL: there is no chunk. */
struct ledger_block *shadow_pool_entry(const struct book *k, uint64_t address);
uint32_t shadow_pool_plane(uint64_t address);

/* Whether blocks of PLANE (of the pools) may be anywhere. */
bool shadow_pool_used(const struct book *k, uint32_t plane);

/* TOP: of the plane. */
static inline struct ledger_block *shadow_below(const shadow_top *top, uint64_t address)
{
        struct ledger_block *chunk;

        if (unlikely(address >> LEDGER_ADDRESS_BITS))
                return NULL;
        chunk = (*(*top)[address >> SHADOW_TOP_AT])[SHADOW_MIDDLE(address)];
        return chunk ? chunk + (address % LEDGER_SHADOW_SPAN / LEDGER_SHADOW_GRANULE) : NULL;
}

static inline struct ledger_block *shadow_entry(const struct book *k, uint64_t address,
                                                uint32_t plane)
{
        const shadow_top *top = __atomic_load_n(&k->planes[plane], __ATOMIC_ACQUIRE);

        return top ? shadow_below(top, address) : NULL;
}

static inline uint32_t shadow_sub(uint64_t address)
{
        return (uint32_t)(address >> 3) & 3u;
}

/* The entry for ADDRESS, in whatever state; NULL: there is no chunk.  The writer
 * remembers its last chunk. */
static inline struct ledger_block *shadow_at(struct book *k, struct book_writer *w,
                                             uint64_t address)
{
        if (unlikely(address / LEDGER_SHADOW_SPAN != w->span)) {
                struct ledger_block *b;

                if (unlikely(k->spread)) /* then nothing is remembered */
                        return shadow_below(k->planes[1 + shadow_sub(address)], address);
                b = shadow_below(&k->plain, address);
                if (!b)
                        return NULL;
                w->span = address / LEDGER_SHADOW_SPAN;
                w->span_chunk = b - address % LEDGER_SHADOW_SPAN / LEDGER_SHADOW_GRANULE;
        }
        return book_never_null(w->span_chunk +
                               address % LEDGER_SHADOW_SPAN / LEDGER_SHADOW_GRANULE);
}

/* The entry that describes (or described last) the block at ADDRESS; NULL: never seen. */
static inline struct ledger_block *shadow_find(struct book *k, struct book_writer *w,
                                               uint64_t address)
{
        struct ledger_block *b = shadow_at(k, w, address);

        /* The place in the granule to the byte: what is inside of a block is no block. */
        return likely(b && b->b && (b->b >> 51 & 24u) == address % LEDGER_SHADOW_GRANULE) ? b
                                                                                          : NULL;
}

/* The kind of B, if it is the entry of the live block at ADDRESS, which has less than 4 GiB and is
 * not ignored; else a number that is no kind of a block, or LEDGER_KIND_NONE: all that an entry
 * says but thread and birth, for one comparison. */
static inline uint64_t shadow_plain_kind(const struct ledger_block *b, uint64_t address)
{
        return unlikely(address & 7u) ? 0
                                      : (b->b >> 48 ^ (address << 3 & 0xc0u)) - (SHADOW_LIVE >> 48);
}

/* The entry to write a new block at ADDRESS into; NULL: cannot be kept. */
static inline struct ledger_block *shadow_new(struct book *k, struct book_writer *w,
                                              uint64_t address)
{
        struct ledger_block *b = shadow_at(k, w, address);

        return likely(b != NULL) ? b
                                 : shadow_make(k, address, k->spread ? 1 + shadow_sub(address) : 0);
}

/* A block has four bits for its kind; the site has the rest. */
static inline uint32_t shadow_kind(uint32_t kind)
{
        if (kind < LEDGER_KIND_SEE_SITE)
                return kind;
        return kind < LEDGER_KIND_TYPE_FIRST ? LEDGER_KIND_ALIGNED_ALLOC : LEDGER_KIND_SEE_SITE;
}

/* Of SIZE as much as an entry can tell. */
static inline uint64_t shadow_size(uint64_t size)
{
        return unlikely(size > LEDGER_SIZE_MAX) ? LEDGER_SIZE_MAX : size;
}

/* What an entry says about a live block at ADDRESS; its site and its thread are to be added. */
static inline struct ledger_block shadow_block(uint64_t address, uint64_t size, uint32_t kind,
                                               uint32_t now_ms)
{
        return (struct ledger_block){ size << 32,
                                      (uint64_t)now_ms | (uint64_t)shadow_kind(kind) << 48 |
                                              1ull << 53 | (uint64_t)shadow_sub(address) << 54 |
                                              size >> 32 << 56 };
}

/* The observer takes shadow away, or has done so since W last looked: make sure that B is
 * and stays what was written. */
__attribute__((cold)) void shadow_keep(struct book *k, struct book_writer *w,
                                       struct ledger_block *b, struct ledger_block what);

/* B is from now on the entry of a live block. */
static inline void shadow_put(struct book *k, struct book_writer *w, struct ledger_block *b,
                              struct ledger_block what)
{
        const struct ledger_head *h = k->head; /* what is written is not there */

        b->a = what.a;
        __atomic_store_n(&b->b, what.b, __ATOMIC_RELEASE); /* who sees it live sees the rest */
        compiler_barrier();
        if (unlikely(h->reclaims != w->reclaims))
                shadow_keep(k, w, b, what);
}

/* ... allocated by W at the site that WHAT has. */
static inline void shadow_write(struct book *k, struct book_writer *w, struct ledger_block *b,
                                struct ledger_block what)
{
        what.b |= (uint64_t)w->record << 32;
        shadow_put(k, w, b, what);
}

/* The block of B is released: its tombstone tells when. */
static inline void shadow_bury(struct ledger_block *b, uint32_t now_ms)
{
        b->b = (b->b & ~(SHADOW_LIVE | 0xffffffffull)) | now_ms;
}

#endif
