/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

enum { STR_USUAL = 40 }; /* bytes of most of what is formatted */

void str_reserve(struct str *s, size_t more)
{
        size_t room = s->room ? s->room : 64;

        while (room < s->length + more + 1)
                room *= 2;
        if (room == s->room)
                return;
        s->data = heap_grow(s->data, room, 1);
        s->room = room;
}

void str_free(struct str *s)
{
        free(s->data);
        *s = (struct str){ 0 };
}

void str_clear(struct str *s)
{
        s->length = 0;
        if (s->data)
                s->data[0] = 0;
}

void str_format(struct str *s, const char *format, ...)
{
        va_list ap;
        int need;

        str_reserve(s, STR_USUAL);
        va_start(ap, format);
        need = vsnprintf(s->data + s->length, s->room - s->length, format, ap);
        va_end(ap);
        if (need >= 0 && (size_t)need >= s->room - s->length) {
                str_reserve(s, (size_t)need);
                va_start(ap, format);
                need = vsnprintf(s->data + s->length, s->room - s->length, format, ap);
                va_end(ap);
        }
        if (need > 0)
                s->length += (size_t)need;
        s->data[s->length] = 0;
}

void str_number(struct str *s, uint64_t value)
{
        static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930"
                                    "313233343536373839404142434445464748"
                                    "49505152535455565758596061626364656667686970717273747576777879"
                                    "80818283848586878889909192939495969798"
                                    "99";
        char digits[20], *at = digits + sizeof digits;

        for (; value >= 100; value /= 100) {
                at -= 2;
                memcpy(at, pairs + value % 100 * 2, 2);
        }
        if (value >= 10) {
                at -= 2;
                memcpy(at, pairs + value * 2, 2);
        } else {
                *--at = (char)('0' + value);
        }
        str_bytes(s, at, (size_t)(digits + sizeof digits - at));
}

const char *str_get(const struct str *s)
{
        return s->data ? s->data : "";
}

void str_varint(struct str *s, uint64_t value)
{
        str_end(s, str_varint_at(str_room(s, STR_VARINT_MAX), value));
}

char *str_room(struct str *s, size_t more)
{
        str_reserve(s, more);
        return s->data + s->length;
}

void str_end(struct str *s, char *end)
{
        s->length = (size_t)(end - s->data);
        *end = 0;
}
