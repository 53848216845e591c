/* SPDX-License-Identifier: MIT */
/*
 * str.h -- text and bytes that grow.
 *
 * Keeps:  `data` is always NUL-terminated (the NUL is not counted).  Memory that cannot be had ends
 *         the process with a message (base/heap.h).
 */
#ifndef SEEP_BASE_STR_H
#define SEEP_BASE_STR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
        char *data; /* NULL while empty and never used */
        size_t length, room;
        struct str_sink *sink; /* NULL: all of it stays here */
};

/* The destination of a text that may be larger than memory: TAKE writes out a long S and leaves it
 * empty. */
struct str_sink {
        void (*take)(struct str_sink *sink, struct str *s);
};

#define STR_AT_ONCE (1u << 20)

/* Write out what S has so far, between two parts of a long text. */
static inline void str_drain(struct str *s)
{
        if (s->sink && s->length >= STR_AT_ONCE)
                s->sink->take(s->sink, s);
}

void str_free(struct str *s);
void str_clear(struct str *s);

/* Make room for MORE bytes and the NUL. */
void str_reserve(struct str *s, size_t more);

/* Inline: large reports make hundreds of millions of these calls. */
static inline void str_bytes(struct str *s, const void *bytes, size_t count)
{
        if (s->room <= s->length + count)
                str_reserve(s, count);
        if (count)
                memcpy(s->data + s->length, bytes, count);
        s->length += count;
        s->data[s->length] = 0;
}

static inline void str_text(struct str *s, const char *text)
{
        str_bytes(s, text, strlen(text));
}

static inline void str_char(struct str *s, char c)
{
        if (s->room <= s->length + 1)
                str_reserve(s, 1);
        s->data[s->length++] = c;
        s->data[s->length] = 0;
}

void str_format(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text; "" when nothing was ever added.  Valid until the next change. */
const char *str_get(const struct str *s);

/* The digits of VALUE. */
void str_number(struct str *s, uint64_t value);

/* Unsigned integer in base 128, low bits first (LEB128). */
#define STR_VARINT_MAX 10u
void str_varint(struct str *s, uint64_t value);

/* For many small writes: the end of S, with space for MORE bytes; and, when they are written, the
 * new END. */
char *str_room(struct str *s, size_t more);
void str_end(struct str *s, char *end);

static inline char *str_varint_at(char *at, uint64_t value)
{
        for (; value >= 0x80; value >>= 7)
                *at++ = (char)(value | 0x80);
        *at++ = (char)value;
        return at;
}

#endif
