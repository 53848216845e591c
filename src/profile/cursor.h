/* SPDX-License-Identifier: MIT */
/*
 * cursor.h -- reading the bytes of a section without ever reading past them.
 *
 * Keeps:  after the first wrong byte `bad` stays set and every read gives 0, so a caller
 *         may check once at the end.
 */
#ifndef SEEP_PROFILE_CURSOR_H
#define SEEP_PROFILE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
        const uint8_t *at, *end;
        bool bad;
};

static inline size_t cursor_left(const struct cursor *c)
{
        return (size_t)(c->end - c->at);
}

/* A varint of any length; also the place where errors are found. */
uint64_t cursor_long_varint(struct cursor *c);

static inline uint64_t cursor_varint(struct cursor *c)
{
        const uint8_t *at = c->at;

        if (c->end - at >= 2) { /* nine of ten values take one byte or two */
                if (at[0] < 0x80) {
                        c->at = at + 1;
                        return at[0];
                }
                if (at[1] < 0x80) {
                        c->at = at + 2;
                        return (uint64_t)at[1] << 7 | (at[0] & 0x7f);
                }
        }
        return cursor_long_varint(c);
}

/* COUNT bytes; NULL (and bad) when fewer are left. */
const uint8_t *cursor_bytes(struct cursor *c, uint64_t count);

/* A text as written by FORMAT_TEXT, to be freed; NULL for NULL and when bad (a NUL inside is
 * bad). */
char *cursor_text(struct cursor *c);

#endif
