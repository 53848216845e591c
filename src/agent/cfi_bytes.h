/* SPDX-License-Identifier: MIT */
/*
 * cfi_bytes.h -- reading numbers out of unwind tables and expressions, never behind their end.
 *
 * Room:   inside; any context.  For cfi.c and expression.c.
 * Keeps:  once something was not there, `bad` stays set and every further number is 0:
 *         who reads asks at the end.
 */
#ifndef SEEP_AGENT_CFI_BYTES_H
#define SEEP_AGENT_CFI_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/arch/arch.h"

struct cfi_bytes {
        const uint8_t *p, *end;
        bool bad;
};

static inline bool cfi_has(struct cfi_bytes *b, uint64_t count)
{
        if (!b->bad && count <= (uint64_t)(b->end - b->p))
                return true;
        b->bad = true;
        b->p = b->end;
        return false;
}

static inline void cfi_skip(struct cfi_bytes *b, uint64_t count)
{
        if (cfi_has(b, count))
                b->p += count;
}

/* The next COUNT bytes by themselves. */
static inline struct cfi_bytes cfi_part(struct cfi_bytes *b, uint64_t count)
{
        struct cfi_bytes part = { .p = b->p, .end = b->p };

        if (cfi_has(b, count))
                part.end = b->p += count;
        part.bad = b->bad;
        return part;
}

/* A number of COUNT bytes, at most 8. */
static inline uint64_t cfi_fixed(struct cfi_bytes *b, unsigned count)
{
        uint64_t value = 0;

        if (cfi_has(b, count)) {
                __builtin_memcpy((uint8_t *)&value + (LEDGER_BIG_ENDIAN ? sizeof value - count : 0),
                                 b->p, count);
                b->p += count;
        }
        return value;
}

/* LEB128; *SHIFT is set to the number of bits that were there. */
static inline uint64_t cfi_leb(struct cfi_bytes *b, unsigned *shift)
{
        uint64_t value = 0;
        uint8_t byte = 0x80;

        for (*shift = 0; byte & 0x80 && cfi_has(b, 1); *shift += *shift < 64 ? 7 : 0) {
                byte = *b->p++;
                if (*shift < 64)
                        value |= (uint64_t)(byte & 0x7f) << *shift;
        }
        return value;
}

static inline uint64_t cfi_uleb(struct cfi_bytes *b)
{
        unsigned shift;

        return cfi_leb(b, &shift);
}

static inline int64_t cfi_sleb(struct cfi_bytes *b)
{
        unsigned shift;
        uint64_t value = cfi_leb(b, &shift);

        if (shift && shift < 64 && value >> (shift - 1) & 1)
                value |= ~0ull << shift;
        return (int64_t)value;
}

#endif
