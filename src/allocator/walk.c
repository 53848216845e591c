/* SPDX-License-Identifier: MIT */
#include "allocator/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"

static void add(struct search_range **list, uint64_t count, uint64_t start, uint64_t end)
{
        *list = heap_next(*list, count, sizeof **list);
        (*list)[count] = (struct search_range){ start, end };
}

void walk_add_block(struct walk_blocks *b, uint64_t start, uint64_t end)
{
        add(&b->at, b->count++, start, end);
}

void walk_add_own(struct walk_blocks *b, uint64_t start, uint64_t end)
{
        add(&b->own, b->own_count++, start, end);
}

void walk_trouble(struct walk_blocks *b, const char *format, ...)
{
        va_list ap;

        if (b->trouble[0])
                return;
        va_start(ap, format);
        vsnprintf(b->trouble, sizeof b->trouble, format, ap);
        va_end(ap);
}

ORDER_BY(by_start, struct search_range, start)

void walk_sort(struct walk_blocks *b)
{
        if (b->count)
                qsort(b->at, b->count, sizeof *b->at, by_start);
        if (b->own_count)
                qsort(b->own, b->own_count, sizeof *b->own, by_start);
}

void walk_blocks_free(struct walk_blocks *b)
{
        free(b->at);
        free(b->own);
        *b = (struct walk_blocks){ 0 };
}

uint64_t *walk_words(const struct walk_input *in, const struct search_range *data, uint64_t most,
                     size_t *count)
{
        uint64_t bytes = data->end - data->start, *words;

        *count = 0;
        if (bytes > most)
                return NULL;
        words = heap_zero(bytes / 8 + 1, sizeof *words);
        *count = in->memory.read(in->memory.context, data->start, words, bytes / 8 * 8) / 8;
        return words;
}
