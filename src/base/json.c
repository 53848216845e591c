/* SPDX-License-Identifier: MIT */
/*
 * json.c -- text and numbers inside JSON.
 *
 * Room:   outside; any layer.
 */
#include "base/json.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of the UTF-8 character at P (up to its NUL); 0 when it is none: overlong, surrogate, above U+10FFFF, cut. */
static unsigned utf8_bytes(const unsigned char *p)
{
        static const struct {
                unsigned char low, high, second_low, second_high, bytes;
        } forms[] = { { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
                      { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
                      { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 } };

        if (*p < 0x80)
                return 1;
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
                if (*p < forms[i].low || *p > forms[i].high)
                        continue;
                if (p[1] < forms[i].second_low || p[1] > forms[i].second_high)
                        return 0;
                for (unsigned k = 2; k < forms[i].bytes; k++)
                        if ((p[k] & 0xc0) != 0x80)
                                return 0;
                return forms[i].bytes;
        }
        return 0;
}

static void put_ascii(struct str *out, char c)
{
        if (c == '"' || c == '\\')
                str_format(out, "\\%c", c);
        else if (c == '\n')
                str_text(out, "\\n");
        else if (c == '\t')
                str_text(out, "\\t");
        else if ((unsigned char)c < 0x20 || c == 0x7f)
                str_format(out, "\\u%04x", c);
        else
                str_char(out, c);
}

void json_text(struct str *out, const char *text)
{
        if (!text) {
                str_text(out, "null");
                return;
        }
        str_char(out, '"');
        while (*text) {
                unsigned bytes = utf8_bytes((const unsigned char *)text);

                if (bytes == 1)
                        put_ascii(out, *text);
                else if (bytes)
                        str_bytes(out, text, bytes);
                else
                        str_text(out, "\xef\xbf\xbd");
                text += bytes ? bytes : 1;
        }
        str_char(out, '"');
}

void json_number(struct str *out, uint64_t value)
{
        char digits[24];
        size_t at = sizeof digits;

        do
                digits[--at] = (char)('0' + value % 10);
        while (value /= 10);
        str_bytes(out, digits + at, sizeof digits - at);
}

void json_field(struct str *out, const char *before, const char *name, uint64_t value)
{
        str_text(out, before);
        str_text(out, name);
        str_text(out, "\": ");
        json_number(out, value);
}

void json_signed_field(struct str *out, const char *before, const char *name, uint64_t value)
{
        bool negative = (int64_t)value < 0;

        str_text(out, before);
        str_text(out, name);
        str_text(out, negative ? "\": -" : "\": ");
        json_number(out, negative ? -value : value);
}
