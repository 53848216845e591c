/* SPDX-License-Identifier: MIT */
#include "scan/arena.h"

#include <stdlib.h>

#include "base/heap.h"

#define ARENA_BYTES (64ull << 20)
#define ARENA_BYTES_NARROW (1ull << 20) /* with words of 4 bytes */
#define ARENA_DATA_MAX (1u << 20)       /* libc's data is not larger */
#define ARENA_BINS_LEAST 32u            /* so many empty bins tell an arena */
/* Words of it: */
#define ARENA_BINS 254u
#define ARENA_BEFORE_BINS 14u /* lock, fast bins, top, last remainder: so many, or one more */
#define ARENA_BEHIND_BINS 8u

uint64_t arena_bytes(const struct freeze *f)
{
        return f->narrow ? ARENA_BYTES_NARROW : ARENA_BYTES;
}

/* glibc's malloc keeps the list heads of its bins in its data.  Those of empty bins point to
 * themselves: each pair of words is the address of the pair before it. */
static uint64_t last_bin(const struct freeze *f, const struct search_range *data, uint64_t width)
{
        uint64_t most = (data->end - data->start) / width;
        uint64_t *words = heap_zero(most + 2, sizeof *words), found = 0, bins = 0;
        size_t count = freeze_words(f, data->start, words, most);

        for (size_t i = 0; i + 1 < count; i++)
                if (words[i] == data->start + width * i - 2 * width && words[i + 1] == words[i]) {
                        found = data->start + width * i;
                        bins++;
                }
        free(words);
        return bins >= ARENA_BINS_LEAST ? found : 0;
}

bool arena_in_data(const struct freeze *f, const struct search_range *data,
                   struct search_range *found)
{
        uint64_t width = search_width(f->narrow);
        uint64_t before = ARENA_BEFORE_BINS + (f->narrow ? 2 : 0);
        uint64_t last = data->end - data->start < ARENA_DATA_MAX ? last_bin(f, data, width) : 0;

        *found = (struct search_range){ last - (ARENA_BINS + before - 2) * width,
                                        last + (2 + ARENA_BEHIND_BINS) * width };
        return last != 0;
}
