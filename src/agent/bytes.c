/* SPDX-License-Identifier: MIT */
/*
 * bytes.c -- copying and comparing, as the compiler expects it without a libc.
 *
 * Room:   inside; any context.
 * Keeps:  built with -fno-tree-loop-distribute-patterns, or the loops below would call themselves.
 */
#include "agent/bytes.h"

#include "agent/guest.h"

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
        unsigned char *t = to;
        const unsigned char *f = from;

        while (count--)
                *t++ = *f++;
        return to;
}

void *memmove(void *to, const void *from, size_t count)
{
        unsigned char *t = to;
        const unsigned char *f = from;

        if (t <= f || t >= f + count)
                return memcpy(to, from, count);
        while (count--)
                t[count] = f[count];
        return to;
}

void *memset(void *to, int byte, size_t count)
{
        uint64_t word = 0x0101010101010101ull * (unsigned char)byte;
        unsigned char *t = to;

        for (; count >= sizeof word; count -= sizeof word, t += sizeof word)
                __builtin_memcpy(t, &word, sizeof word); /* one store */
        while (count--)
                *t++ = (unsigned char)byte;
        return to;
}

int memcmp(const void *a, const void *b, size_t count)
{
        const unsigned char *x = a, *y = b;

        for (size_t i = 0; i < count; i++)
                if (x[i] != y[i])
                        return x[i] - y[i];
        return 0;
}

size_t strlen(const char *text)
{
        size_t n = 0;

        while (text[n])
                n++;
        return n;
}

bool bytes_same_text(const char *a, const char *b)
{
        while (*a && *a == *b) {
                a++;
                b++;
        }
        return *a == *b;
}

const char *bytes_find(const char *text, char byte)
{
        while (*text && *text != byte)
                text++;
        return *text == byte ? text : NULL;
}

const char *bytes_after(const char *text, const char *prefix)
{
        while (*prefix)
                if (*text++ != *prefix++)
                        return NULL;
        return text;
}

uint64_t bytes_hex(const char **text)
{
        uint64_t value = 0;

        for (;; ++*text) {
                char c = **text;

                if (c >= '0' && c <= '9')
                        value = value << 4 | (uint64_t)(c - '0');
                else if (c >= 'a' && c <= 'f')
                        value = value << 4 | (uint64_t)(c - 'a' + 10);
                else
                        return value;
        }
}
