/* SPDX-License-Identifier: MIT */
/*
 * packets.h -- a journal written by hand, record by record, as docs/JOURNAL.md has them.
 *
 * Room:   tests and fuzzing only.  Knows nothing of the agent's writer.
 */
#ifndef SEEP_TESTS_UNIT_PACKETS_H
#define SEEP_TESTS_UNIT_PACKETS_H

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

struct packets {
        struct str file, body;
        uint32_t number;
};

static inline void packets_byte(struct packets *p, uint32_t value)
{
        str_char(&p->body, (char)value);
}

static inline void packets_number(struct packets *p, uint64_t value)
{
        str_varint(&p->body, value);
}

static inline void packets_text(struct packets *p, const char *text)
{
        packets_number(p, strlen(text));
        str_bytes(&p->body, text, strlen(text));
}

/* A record of COUNT numbers. */
static inline void packets_record(struct packets *p, uint32_t record, int count, ...)
{
        va_list ap;

        packets_byte(p, record);
        va_start(ap, count);
        for (int i = 0; i < count; i++)
                packets_number(p, va_arg(ap, uint64_t));
        va_end(ap);
}

#define PACKETS_U(x) ((uint64_t)(x))

static inline void packets_u32(struct str *to, uint32_t value)
{
        for (int i = 0; i < 4; i++)
                str_char(to, (char)(value >> 8 * i));
}

/* The packet is complete. */
static inline void packets_end(struct packets *p, int fresh)
{
        uint32_t sum = 0x811c9dc5u;

        for (size_t i = 0; i < p->body.length; i++)
                sum = (sum ^ (uint8_t)p->body.data[i]) * 0x01000193u;
        str_bytes(&p->file, "\x89SJRN\r\n\x1a\x01\x08\x01", 11);
        str_char(&p->file, fresh ? 1 : 0);
        packets_u32(&p->file, (uint32_t)p->body.length);
        packets_u32(&p->file, p->number++);
        packets_u32(&p->file, sum);
        packets_u32(&p->file, 4711);
        packets_u32(&p->file, 99);
        str_bytes(&p->file, str_get(&p->body), p->body.length);
        str_clear(&p->body);
}

static inline void packets_free(struct packets *p)
{
        str_free(&p->file);
        str_free(&p->body);
}

#define PACKETS_HEAP 0x10000u

/* Who it is, and the stacks main -> f (malloc, site 1), main -> g (mmap, site 2), f (a resource,
 * site 3). */
static inline void packets_begin(struct packets *p)
{
        packets_record(p, 0xd0, 8, PACKETS_U(7), PACKETS_U(4711), PACKETS_U(1), PACKETS_U(0),
                       PACKETS_U(8), PACKETS_U(62), PACKETS_U(4096), PACKETS_U(1000000000));
        packets_record(p, 0xd1, 2, PACKETS_U(0), PACKETS_U(0));
        packets_text(p, "/bin/target");
        packets_record(p, 0xd2, 4, PACKETS_U(2 * 2), PACKETS_U(2), PACKETS_U(2),
                       PACKETS_U(2 * 0x1000));
        packets_record(p, 0xd2, 4, PACKETS_U(2), PACKETS_U(1), PACKETS_U(2), PACKETS_U(2 * 0x100));
        packets_record(p, 0xd2, 4, PACKETS_U(2), PACKETS_U(2), PACKETS_U(2), PACKETS_U(2 * 0x100));
        packets_record(p, 0xd3, 3, PACKETS_U(1), PACKETS_U(3), PACKETS_U(1));
        packets_record(p, 0xd3, 3, PACKETS_U(2), PACKETS_U(4), PACKETS_U(12));
        packets_record(p, 0xd3, 3, PACKETS_U(3), PACKETS_U(3), PACKETS_U(32));
        packets_record(p, 0xd4, 13, PACKETS_U(0), PACKETS_U(0x400000), PACKETS_U(0x10000),
                       PACKETS_U(0x400000), PACKETS_U(0), PACKETS_U(0), PACKETS_U(8), PACKETS_U(0),
                       PACKETS_U(0), PACKETS_U(0x400000), PACKETS_U(0x10000), PACKETS_U(0),
                       PACKETS_U(0));
        packets_text(p, "/bin/target");
        packets_record(p, 0xd5, 1, PACKETS_U(0));
        packets_text(p, "texture");
        packets_record(p, 0xc0, 2, PACKETS_U(1), PACKETS_U(2 * 5));
        packets_record(p, 0xc3, 5, PACKETS_U(13), PACKETS_U(0), PACKETS_U(0), PACKETS_U(2 * 4711),
                       PACKETS_U(0));
}

/* 3 blocks at site 1: 100, 100 and 200 bytes; the second goes and its address is used again; the
 * last grows in its place. */
static inline void packets_work(struct packets *p)
{
        packets_record(p, 0x16, 3, PACKETS_U(1), PACKETS_U(100),
                       PACKETS_U(2 * 2 * PACKETS_HEAP / 16));
        /* at the cursor, the same size */
        packets_record(p, 0x0c, 1, PACKETS_U(1));
        packets_record(p, 0x80, 1, PACKETS_U(2 * 2 * (PACKETS_HEAP + 112) / 16)); /* by address */
        packets_record(p, 0x00, 0);                                /* where the last one was */
        packets_record(p, 0x0a, 1, PACKETS_U(200));                /* at the cursor, another size */
        packets_record(p, 0x90, 1, PACKETS_U(2 * 2 * 112 / 16));   /* a realloc takes it ... */
        /* ... and it stays where it is */
        packets_record(p, 0x03, 1, PACKETS_U(300));
}

/* A mapping of four pages of which one goes; a resource; a mark; the end. */
static inline void packets_rest(struct packets *p)
{
        packets_record(p, 0xc3, 5, PACKETS_U(6), PACKETS_U(12), PACKETS_U(2),
                       PACKETS_U(2 * (0x7f0000 - 4711)), PACKETS_U(0x4000));
        packets_record(p, 0xc3, 5, PACKETS_U(7), PACKETS_U(0), PACKETS_U(0), PACKETS_U(2 * 0x1000),
                       PACKETS_U(0x1000));
        packets_record(p, 0xc3, 5, PACKETS_U(10), PACKETS_U(32), PACKETS_U(3), PACKETS_U(2 * 5),
                       PACKETS_U(640));
        packets_record(p, 0xd6, 4, PACKETS_U(0), PACKETS_U(1), PACKETS_U(9), PACKETS_U(1));
        packets_text(p, "loaded");
        packets_record(p, 0xc1, 1, PACKETS_U(2 * 10));
        packets_record(p, 0xd8, 2, PACKETS_U(1), PACKETS_U(0));
        packets_record(p, 0xd9, 4, PACKETS_U(1), PACKETS_U(3), PACKETS_U(20), PACKETS_U(11));
}

#endif
