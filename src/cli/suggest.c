/* SPDX-License-Identifier: MIT */
/*
 * suggest.c -- "did you mean": the known word nearest to a mistyped one.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/suggest.h"

#include <string.h>

enum { SUGGEST_LETTERS = 48 }; /* longer words are not ours */

static unsigned suggest_least(unsigned a, unsigned b, unsigned c)
{
        unsigned least = a < b ? a : b;

        return least < c ? least : c;
}

/* Edits between A and B; two swapped neighbours count as one. */
static unsigned suggest_distance(const char *a, const char *b)
{
        unsigned d[SUGGEST_LETTERS + 1][SUGGEST_LETTERS + 1];
        size_t rows = strlen(a), columns = strlen(b);

        for (size_t i = 0; i <= rows; i++)
                d[i][0] = (unsigned)i;
        for (size_t j = 0; j <= columns; j++)
                d[0][j] = (unsigned)j;
        for (size_t i = 1; i <= rows; i++)
                for (size_t j = 1; j <= columns; j++) {
                        d[i][j] = suggest_least(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                d[i][j] = suggest_least(d[i][j], d[i - 2][j - 2] + 1, d[i][j]);
                }
        return d[rows][columns];
}

const char *suggest_nearest(const char *word, const char *const *words, size_t count)
{
        size_t length = strlen(word);
        unsigned best = length < 4 ? 2 : length < 9 ? 3 : 4; /* one less edit is allowed */
        const char *nearest = NULL;

        if (length == 0 || length > SUGGEST_LETTERS)
                return NULL;
        for (size_t i = 0; i < count; i++) {
                unsigned distance;

                if (strlen(words[i]) > SUGGEST_LETTERS)
                        continue;
                distance = suggest_distance(word, words[i]);
                if (distance < best) {
                        best = distance;
                        nearest = words[i];
                }
        }
        return nearest;
}
