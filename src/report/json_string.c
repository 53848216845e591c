/* SPDX-License-Identifier: MIT */
/*
 * json_string.c -- any bytes as a valid JSON string.
 *
 * Room:   outside.
 */
#include <stdio.h>

#include "report/json.h"

/* Bytes of the UTF-8 sequence at S, 0 when it is none (too long a form, surrogate, beyond U+10FFFF, cut off). */
static size_t json_sequence(const unsigned char *s)
{
        unsigned char low = 0x80, high = 0xbf;
        size_t more = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : s[0] < 0xf5 ? 3 : 0;

        if (!more)
                return 0;
        if (s[0] == 0xe0)
                low = 0xa0;
        if (s[0] == 0xed)
                high = 0x9f;
        if (s[0] == 0xf0)
                low = 0x90;
        if (s[0] == 0xf4)
                high = 0x8f;
        if (s[1] < low || s[1] > high)
                return 0;
        for (size_t i = 2; i <= more; i++)
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
        return more + 1;
}

static const char *json_escape(unsigned char c)
{
        switch (c) {
        case '"':
                return "\\\"";
        case '\\':
                return "\\\\";
        case '\n':
                return "\\n";
        case '\t':
                return "\\t";
        case '\r':
                return "\\r";
        default:
                return NULL;
        }
}

static void json_ascii(struct str *out, unsigned char c)
{
        const char *escape = json_escape(c);

        if (escape)
                str_text(out, escape);
        else if (c < 0x20 || c == 0x7f)
                str_format(out, "\\u%04x", c);
        else
                str_char(out, (char)c);
}

void json_string(struct str *out, const char *text)
{
        const unsigned char *s = (const unsigned char *)text;

        if (!text) {
                str_text(out, "null");
                return;
        }
        str_char(out, '"');
        while (*s) {
                size_t length = *s < 0x80 ? 0 : json_sequence(s);

                if (*s < 0x80)
                        json_ascii(out, *s++);
                else if (length)
                        str_bytes(out, s, length), s += length;
                else
                        str_text(out, "\xef\xbf\xbd"), s++;
        }
        str_char(out, '"');
}
