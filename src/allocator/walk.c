/* SPDX-License-Identifier: MIT */
#include "allocator/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
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

void walk_add_inner(struct walk_blocks *b, uint64_t start, uint64_t end)
{
        add(&b->inner, b->inner_count++, start, end);
}

bool walk_is_inner(const struct walk_blocks *b, uint64_t start)
{
        uint32_t i = (uint32_t)FIND_FIRST(b->inner_count, k, b->inner[k].start <= start);

        return i && start < b->inner[i - 1].end;
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

void walk_ends(struct walk_blocks *b, uint64_t at, const char *what)
{
        walk_trouble(b, "the heap cannot be walked to its end: 0x%llx is no %s",
                     (unsigned long long)at, what);
}

ORDER_BY(by_start, struct search_range, start)

void walk_sort(struct walk_blocks *b)
{
        if (b->count)
                qsort(b->at, b->count, sizeof *b->at, by_start);
        if (b->own_count)
                qsort(b->own, b->own_count, sizeof *b->own, by_start);
        if (b->inner_count)
                qsort(b->inner, b->inner_count, sizeof *b->inner, by_start);
}

/* The page at ADDRESS; NULL: it is not there, or not all of it. */
static const uint8_t *cached_page(const struct walk_input *in, uint64_t address)
{
        uint64_t number = address / WALK_PAGE;
        uint32_t slot = (uint32_t)(number % WALK_PAGES);
        struct walk_cache *c = in->cache;

        if (c->number[slot] == number + 1)
                return c->bytes[slot];
        c->number[slot] = 0;
        if (in->memory.read(in->memory.context, number * WALK_PAGE, c->bytes[slot], WALK_PAGE) !=
            WALK_PAGE)
                return NULL;
        c->number[slot] = number + 1;
        return c->bytes[slot];
}

bool walk_read(const struct walk_input *in, uint64_t address, void *to, size_t bytes)
{
        uint64_t into = address % WALK_PAGE;
        const uint8_t *page = in->cache && into + bytes <= WALK_PAGE ? cached_page(in, address)
                                                                     : NULL;

        if (page)
                memcpy(to, page + into, bytes);
        return page || in->memory.read(in->memory.context, address, to, bytes) == bytes;
}

uint64_t walk_number(const struct walk_input *in, const void *from, uint32_t bytes)
{
        uint16_t half;

        if (bytes != sizeof half)
                return search_word(from, bytes == 4, in->memory.turned);
        memcpy(&half, from, sizeof half);
        return in->memory.turned ? __builtin_bswap16(half) : half;
}

bool walk_read_words(const struct walk_input *in, uint64_t address, uint64_t *to, uint32_t count)
{
        uint32_t width = walk_width(in);
        uint8_t bytes[64];

        if (!walk_read(in, address, bytes, (size_t)count * width))
                return false;
        for (uint32_t i = 0; i < count; i++)
                to[i] = walk_number(in, bytes + (size_t)i * width, width);
        return true;
}

void walk_blocks_free(struct walk_blocks *b)
{
        free(b->at);
        free(b->own);
        free(b->inner);
        *b = (struct walk_blocks){ 0 };
}

uint64_t *walk_words(const struct walk_input *in, const struct search_range *data, uint64_t most,
                     size_t *count)
{
        uint64_t bytes = data->end - data->start, *words;
        uint32_t width = walk_width(in);

        *count = 0;
        if (bytes > most)
                return NULL;
        words = heap_zero(bytes / width + 1, sizeof *words);
        *count = in->memory.read(in->memory.context, data->start, words, bytes / width * width) /
                 width;
        for (size_t i = *count; i-- > 0;) /* last first: they may need more room now */
                words[i] = walk_number(in, (const uint8_t *)words + width * i, width);
        return words;
}
