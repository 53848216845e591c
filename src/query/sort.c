/* SPDX-License-Identifier: MIT */
#include "query/sort.h"

#include <string.h>

static const struct {
        const char *word, *text;
        bool bytes;
} sort_keys[] = {
#define SORT_KEY_ROW(id, word, text, bytes) { word, text, bytes },
        SORT_KEYS(SORT_KEY_ROW)
#undef SORT_KEY_ROW
};

bool sort_key_named(const char *word, enum sort_key *key)
{
        for (int i = 0; i < SORT_KEY_COUNT; i++)
                if (strcmp(word, sort_keys[i].word) == 0) {
                        *key = (enum sort_key)i;
                        return true;
                }
        return false;
}

enum sort_key sort_key_of(enum select_cost cost)
{
        static const enum sort_key keys[] = { [SELECT_LIVE] = SORT_LIVE_BYTES,
                                              [SELECT_PEAK] = SORT_PEAK_BYTES,
                                              [SELECT_TOTAL] = SORT_ALLOC_BYTES,
                                              [SELECT_ALLOCS] = SORT_ALLOCS,
                                              [SELECT_TEMPORARY] = SORT_TEMPORARY };

        return keys[cost];
}

const char *sort_key_text(enum sort_key key)
{
        return sort_keys[key].text;
}

bool sort_key_is_bytes(enum sort_key key)
{
        return sort_keys[key].bytes;
}
