/* SPDX-License-Identifier: MIT */
/*
 * journal.h -- the journal of a program: events, and the meaning of their numbers, as bytes for a
 * file or a network.
 *
 * Room:   both sides.  docs/JOURNAL.md describes every byte; this is the same in C, and the model
 *         of what will probably come next, which writer and reader share.
 * Keeps:  a packet is a head of JOURNAL_HEAD bytes and a body of records.  Fixed numbers of the
 *         head are little-endian; all else are bytes and varints, so nothing depends on the order
 *         of bytes or the size of words, which the head tells for whoever reads memory.
 */
#ifndef SEEP_WIRE_JOURNAL_H
#define SEEP_WIRE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#define JOURNAL_MAGIC "\x89SJRN\r\n\x1a"
#define JOURNAL_MAGIC_BYTES 8u
#define JOURNAL_VERSION 1u
#define JOURNAL_HEAD 32u
#define JOURNAL_BODY_MAX 65536u
#define JOURNAL_DATAGRAM 1400u /* head and body: fits any network without being divided */
#define JOURNAL_TEXT_MAX 1000u
#define JOURNAL_FRESH 1u       /* flag: the model begins anew with this packet */
#define JOURNAL_FRESH_EVERY 64u

/* Where things are in the head. */
enum journal_at {
        JOURNAL_AT_VERSION = 8,
        JOURNAL_AT_WORD = 9,   /* bytes of a word */
        JOURNAL_AT_ORDER = 10, /* of bytes in memory: 1 the low one first, 2 the high one */
        JOURNAL_AT_FLAGS = 11,
        JOURNAL_AT_BYTES = 12, /* of the body */
        JOURNAL_AT_NUMBER = 16, /* of the packet, from 0 */
        JOURNAL_AT_SUM = 20,   /* of the body: FNV-1a */
        JOURNAL_AT_PID = 24,
        JOURNAL_AT_STREAM = 28 /* tells processes apart that have the same number in turn */
};

/* The first byte of a record.  Below JOURNAL_OTHER it is an event of the heap:
 *
 *   alloc        00 amm s z r   m: how the address is told, s: the site, z: the size, r: realloc
 *   by place     01 n r hhhh    the block at this place of the model: h and the next byte
 *   by address   10 n r 0000    n: the stack of the release follows; r: realloc takes it */
#define JOURNAL_BY_PLACE 0x40u
#define JOURNAL_BY_ADDRESS 0x80u
#define JOURNAL_OTHER 0xc0u

#define JOURNAL_MOVED 1u
#define JOURNAL_SIZE 2u
#define JOURNAL_SITE 4u
#define JOURNAL_HOW 8u /* times one of: */

/* The last one freed of this size, or (realloc) the one taken; the cursor; as far from it as told;
 * the one freed as many before the last as told. */
enum journal_how { JOURNAL_LAST_FREED, JOURNAL_CURSOR, JOURNAL_DELTA, JOURNAL_FREED };

#define JOURNAL_TAKEN 0x10u
#define JOURNAL_NODE 0x20u

enum journal_record {
        JOURNAL_MOMENT = 0xc0, /* thread, zigzag ms */
        JOURNAL_TIME,          /* zigzag ms */
        JOURNAL_THREAD,        /* thread */
        JOURNAL_EVENT,         /* type, kind, site, zigzag address, size */
        JOURNAL_HELD,          /* inherited: JOURNAL_HELD_*, thread, birth, site, zigzag address,
                                * size */
        JOURNAL_PROCESS = 0xd0,
        JOURNAL_TEXT,
        JOURNAL_NODES,
        JOURNAL_SITES,
        JOURNAL_MODULE,
        JOURNAL_TYPE,
        JOURNAL_MARK,
        JOURNAL_ERROR,
        JOURNAL_COUNTS,
        JOURNAL_END,
        JOURNAL_AGAIN, /* 1: what follows may be known already, or over; 0: no more */
        JOURNAL_GONE,  /* blocks of a site that came and went before: site, blocks, bytes, ms that
                        * they lived, temporary ones */
        JOURNAL_PEAK,  /* the maximum so far: bytes, ms, bytes that it may be too low */
        JOURNAL_PART   /* of the last PEAK: site, bytes, blocks */
};

#define JOURNAL_HELD_POOL 1u
#define JOURNAL_HELD_IGNORED 2u

enum journal_text { JOURNAL_TEXT_EXE, JOURNAL_TEXT_COMMAND, JOURNAL_TEXT_CWD, JOURNAL_TEXT_HOST };

enum journal_end { JOURNAL_END_EXIT = 1, JOURNAL_END_SIGNAL, JOURNAL_END_EXEC,
                   JOURNAL_END_UNKNOWN,
                   JOURNAL_END_LEFT /* its recording ended, and the process goes on */ };

/* Sums of the ledger's head, in the order of a record COUNTS. */
#define JOURNAL_COUNTS_OF(X)                                                            \
        X(lost_events) X(truncated_captures) X(untracked_blocks) X(faults_not_kept)     \
        X(forks_not_followed) X(missed_frees) X(unseen_blocks) X(modules_not_kept)      \
        X(threads_not_kept) X(regions_not_kept) X(handles_not_kept) X(marks_not_kept)   \
        X(strings_not_kept) X(shut_out) X(namespaces) X(older) X(own_malloc) X(stop_reason) X(off) \
        X(own_module)

/* Of a PROCESS. */
#define JOURNAL_PROCESS_OF(X)                                                          \
        X(pid) X(ppid) X(flags) X(word_bytes) X(machine) X(page_bytes) X(start_realtime_ns)

/* ---- the model ---- */

#define JOURNAL_PLACES 4096u
#define JOURNAL_SITES_KNOWN 1024u
#define JOURNAL_CLASSES 64u
#define JOURNAL_FREED_MAX 8u

struct journal_block {
        uint64_t address, size; /* address 0: none */
};

struct journal_freed {
        uint64_t address[JOURNAL_FREED_MAX]; /* the last one last */
        uint32_t count, reserved;
};

/* What both sides know of the events so far; all zero when it is fresh. */
struct journal_model {
        uint32_t thread, ms;
        uint64_t cursor; /* behind the block that came last */
        struct journal_block taken; /* by the last realloc */
        uint64_t last;   /* the last address that was told as a difference, of a release ... */
        uint64_t other;  /* ... or of another event */
        uint32_t site, node; /* of the last allocation; the last one that was told */
        uint64_t pc;
        uint32_t next[JOURNAL_SITES_KNOWN]; /* by site: what came after it the last time */
        uint64_t size[JOURNAL_SITES_KNOWN]; /* ... and its last size */
        struct journal_freed freed[JOURNAL_CLASSES];
        struct journal_block place[JOURNAL_PLACES];
};

static inline uint64_t journal_chunk(uint64_t size)
{
        return size < 24 ? 32 : (size + 23) & ~15ull;
}

static inline struct journal_freed *journal_freed(struct journal_model *m, uint64_t size)
{
        return &m->freed[journal_chunk(size) / 16 % JOURNAL_CLASSES];
}

static inline uint32_t journal_place(uint64_t address)
{
        return (uint32_t)(address >> 4) * 0x9e3779b1u >> 20;
}

static inline uint32_t *journal_next(struct journal_model *m)
{
        return &m->next[m->site % JOURNAL_SITES_KNOWN];
}

static inline uint64_t *journal_size(struct journal_model *m, uint32_t site)
{
        return &m->size[site % JOURNAL_SITES_KNOWN];
}

/* Take entry AT, counted from the last one, out of F. */
static inline void journal_reuse(struct journal_freed *f, uint32_t at)
{
        for (uint32_t i = f->count - 1 - at; i + 1 < f->count; i++)
                f->address[i] = f->address[i + 1];
        f->count--;
}

/* A block of SIZE bytes came at ADDRESS, at SITE; how its address was told has been dealt with. */
static inline void journal_came(struct journal_model *m, uint32_t site, uint64_t address,
                                uint64_t size)
{
        *journal_next(m) = site;
        m->site = site;
        *journal_size(m, site) = size;
        m->cursor = address + journal_chunk(size);
        m->place[journal_place(address)] = (struct journal_block){ address, size };
}

static inline void journal_free_for(struct journal_model *m, struct journal_block b)
{
        struct journal_freed *f = journal_freed(m, b.size);

        if (f->count == JOURNAL_FREED_MAX)
                journal_reuse(f, JOURNAL_FREED_MAX - 1);
        f->address[f->count++] = b.address;
}

/* The block at ADDRESS went, or (TAKEN) realloc has it. */
static inline void journal_went(struct journal_model *m, uint64_t address, int taken)
{
        struct journal_block *b = &m->place[journal_place(address)];
        struct journal_block known = *b;

        if (taken)
                m->taken = (struct journal_block){ address, 0 };
        if (known.address != address)
                return;
        b->address = 0;
        if (taken)
                m->taken = known;
        else
                journal_free_for(m, known);
}

/* Realloc gave ADDRESS for what it took. */
static inline void journal_moved(struct journal_model *m, uint64_t address)
{
        if (m->taken.address != address && m->taken.size)
                journal_free_for(m, m->taken);
        m->taken = (struct journal_block){ 0, 0 };
}

/* ---- numbers ---- */

static inline uint64_t journal_zigzag(uint64_t difference)
{
        return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t journal_unzigzag(uint64_t value)
{
        return value >> 1 ^ (0 - (value & 1));
}

/* A difference of addresses: most are multiples of 16. */
static inline uint64_t journal_far(uint64_t difference)
{
        int64_t d = (int64_t)difference;

        return d % 16 ? journal_zigzag(difference) << 1 | 1
                      : journal_zigzag((uint64_t)(d / 16)) << 1;
}

static inline uint64_t journal_unfar(uint64_t value)
{
        uint64_t d = journal_unzigzag(value >> 1);

        return value & 1 ? d : d * 16;
}

static inline uint32_t journal_sum(const uint8_t *bytes, size_t count)
{
        uint32_t sum = 0x811c9dc5u;

        for (size_t i = 0; i < count; i++)
                sum = (sum ^ bytes[i]) * 0x01000193u;
        return sum;
}

static inline void journal_store(uint8_t *to, uint32_t value)
{
        for (int i = 0; i < 4; i++)
                to[i] = (uint8_t)(value >> 8 * i);
}

static inline uint32_t journal_load(const uint8_t *from)
{
        return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

#endif
