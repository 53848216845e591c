/* SPDX-License-Identifier: MIT */
#include "profile/cursor.h"

#include <string.h>

#include "base/heap.h"

static uint64_t cursor_fail(struct cursor *c)
{
        c->bad = true;
        c->at = c->end;
        return 0;
}

uint64_t cursor_long_varint(struct cursor *c)
{
        uint64_t value = 0;

        for (unsigned shift = 0; c->at < c->end; shift += 7) {
                uint64_t byte = *c->at++;

                if (shift == 63 && byte > 1)
                        break;
                value |= (byte & 0x7f) << shift;
                if (byte < 0x80)
                        return value;
        }
        return cursor_fail(c);
}

const uint8_t *cursor_bytes(struct cursor *c, uint64_t count)
{
        const uint8_t *bytes = c->at;

        if (count > cursor_left(c)) {
                cursor_fail(c);
                return NULL;
        }
        c->at += count;
        return bytes;
}

char *cursor_text(struct cursor *c)
{
        uint64_t length = cursor_varint(c);
        const uint8_t *bytes;
        char *text;

        if (!length--)
                return NULL;
        bytes = cursor_bytes(c, length);
        if (!bytes)
                return NULL;
        if (memchr(bytes, 0, length)) {
                cursor_fail(c);
                return NULL;
        }
        text = heap_zero(length + 1, 1);
        memcpy(text, bytes, length);
        return text;
}
