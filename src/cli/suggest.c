/* SPDX-License-Identifier: MIT */
#include "cli/suggest.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 63

static size_t smaller(size_t a, size_t b)
{
        return a < b ? a : b;
}

/* Optimal string alignment: three rows of the usual table, the oldest one for swaps. */
size_t suggest_distance(const char *a, const char *b)
{
        size_t rows[3][LONGEST + 1];
        size_t a_length = smaller(strlen(a), LONGEST), b_length = smaller(strlen(b), LONGEST);

        for (size_t j = 0; j <= b_length; j++)
                rows[0][j] = j;
        for (size_t i = 1; i <= a_length; i++) {
                size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

                now[0] = i;
                for (size_t j = 1; j <= b_length; j++) {
                        now[j] = smaller(last[j] + 1, now[j - 1] + 1);
                        now[j] = smaller(now[j], last[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                now[j] = smaller(now[j], before[j - 2] + 1);
                }
        }
        return rows[a_length % 3][b_length];
}

const char *suggest_nearest(const char *typed, const char *const *words, size_t count)
{
        const char *best = NULL;
        size_t length = strlen(typed);
        /* The first distance that is too far: 2 for a word of two letters, 4 for one of six. */
        size_t limit = length / 3 + 2;

        for (size_t i = 0; i < count; i++) {
                size_t distance = suggest_distance(typed, words[i]);
                /* "max-leak" is rather the beginning of "max-leaks" than a slip of "max-peak". */
                bool better = distance < limit ||
                              (best && distance == limit && !strncmp(words[i], typed, length) &&
                               strncmp(best, typed, length) != 0);

                if (better && distance <= strlen(words[i]) / 2) {
                        /* "ls" is not a slip of "help". */
                        best = words[i];
                        limit = distance;
                }
        }
        return best;
}
