/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stddef.h>
#include <stdint.h>

unsigned utf8_bytes(const char *text)
{
        static const struct {
                unsigned char low, high, second_low, second_high, bytes;
        } forms[] = { { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
                      { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
                      { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
                      { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 } };

        const unsigned char *p = (const unsigned char *)text;

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

bool utf8_care(struct str *out, const char **text, const char *care, unsigned *bytes)
{
        const char *end = *text;
        uint64_t is_care[2] = { 0 };

        for (; *care; care++)
                is_care[*care >> 6] |= 1ull << (*care & 63);
        while (*end >= ' ' && *end < 0x7f && !(is_care[*end >> 6] >> (*end & 63) & 1))
                end++;
        str_bytes(out, *text, (size_t)(end - *text));
        *text = end;
        *bytes = utf8_bytes(end);
        return *end != '\0';
}
