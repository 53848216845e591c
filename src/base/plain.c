/* SPDX-License-Identifier: MIT */
#include "base/plain.h"

#include <string.h>

#include "base/utf8.h"

/* Bytes of the character at TEXT (a NUL follows somewhere) if it is none to be shown; 0: it is. */
static unsigned plain_bad(const unsigned char *c)
{
        if (c[0] < 0x20 || c[0] == 0x7f)
                return 1;
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F: controls */
                return 2;
        if (c[0] == 0xd8 && c[1] == 0x9c) /* U+061C */
                return 2;
        if (c[0] != 0xe2)
                return 0;
        /* U+200E, U+200F, U+2028 to U+202E. */
        if (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae)))
                return 3;
        return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0; /* U+2066 to U+2069 */
}

static bool plain_blank(unsigned char c)
{
        return c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

bool plain_name(char *name)
{
        const unsigned char *from = (const unsigned char *)name;
        char *to = name;
        bool changed = false;

        while (from && *from) {
                unsigned bad = plain_bad(from);

                *to++ = (char)(!bad ? *from : plain_blank(*from) ? ' ' : '?');
                from += bad ? bad : 1;
                changed |= bad;
        }
        if (changed)
                *to = 0;
        return changed;
}

/* Bytes of the colour at TEXT: ESC [ digits and semicolons m; 0: it is none. */
static size_t plain_color(const char *text)
{
        size_t digits = text[0] == '\033' && text[1] == '[' ? strspn(text + 2, "0123456789;") : 0;

        return digits && text[2 + digits] == 'm' ? digits + 3 : 0;
}

/* What to keep at TEXT: its bytes, or 0 and in *BAD those to be replaced. */
static size_t plain_part(const char *text, bool colors, size_t *bad)
{
        const unsigned char *c = (const unsigned char *)text;
        size_t bytes;

        if (colors && (bytes = plain_color(text)))
                return bytes;
        *bad = plain_bad(c);
        if (*bad)
                return 0;
        bytes = utf8_bytes(text);
        *bad = 1;
        return bytes ? bytes : *c >= 0xa0; /* as ISO 8859 has them: letters, and no orders */
}

typedef unsigned char plain_bytes __attribute__((vector_size(16)));
typedef signed char plain_signs __attribute__((vector_size(16)));

/* Of sixteen bytes: those to be kept.  One more, and read with a sign, all but what is printed in
 * ASCII is no more than a space. */
static inline plain_signs plain_kept(const char *text)
{
        plain_bytes c;

        memcpy(&c, text, sizeof c);
        return ((plain_signs)(c + 1) > ' ') | (plain_signs)(c == '\n') | (plain_signs)(c == '\t');
}

/* How many bytes from TEXT on are ASCII to be kept. */
static size_t plain_ascii(const char *text, size_t length)
{
        size_t i = 0;

        for (; i + 64 <= length; i += 64) {
                plain_signs kept = plain_kept(text + i) & plain_kept(text + i + 16) &
                                   plain_kept(text + i + 32) & plain_kept(text + i + 48);
                uint64_t halves[2];

                memcpy(halves, &kept, sizeof kept);
                if ((halves[0] & halves[1]) != UINT64_MAX)
                        break;
        }
        while (i < length &&
               ((text[i] >= ' ' && text[i] < 0x7f) || text[i] == '\n' || text[i] == '\t'))
                i++;
        return i;
}

bool plain_is_line(const char *text)
{
        size_t part = 1, bad;

        for (; *text && part; text += part)
                part = plain_part(text, false, &bad);
        return part;
}

bool plain_is_output(const struct str *text)
{
        size_t part, bad;

        for (size_t i = 0; i < text->length; i += part) {
                part = plain_ascii(text->data + i, text->length - i);
                if (!part && !(part = plain_part(text->data + i, true, &bad)))
                        return false;
        }
        return true;
}

void plain_output(struct str *text, size_t start, bool colors)
{
        size_t to = start, part, bad;

        for (size_t i = start; i < text->length; i += part ? part : bad) {
                part = plain_ascii(text->data + i, text->length - i);
                if (!part)
                        part = plain_part(text->data + i, colors, &bad);
                if (!part)
                        text->data[to++] = '?';
                else if (to != i)
                        memmove(text->data + to, text->data + i, part);
                to += part;
        }
        if (to != text->length) {
                text->length = to;
                text->data[to] = 0;
        }
}
