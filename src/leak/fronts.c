/* SPDX-License-Identifier: MIT */
/* fronts.c -- the first bytes of blocks that pointers to near their start lead to. */
#include "leak/fronts.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "leak/gather.h"

#define FRONTS_AT_8 1u /* known to hold its content from offset 8 on ... */
#define FRONTS_AT_24 2u
#define SMALL 16u

struct fronts *fronts_new(const struct search_input *in)
{
        struct fronts *f = heap_zero(1, sizeof *f);

        f->in = in;
        f->at = heap_dense(in->block_count, sizeof *f->at);
        f->known = heap_zero(in->block_count, sizeof *f->known);
        return f;
}

void fronts_free(struct fronts *f)
{
        free(f->at);
        free(f->known);
        free(f);
}

bool fronts_is_known(const struct fronts *f, uint32_t block, uint32_t offset)
{
        return f->known[block] & (offset == 8 ? FRONTS_AT_8 : offset == 24 ? FRONTS_AT_24 : 0);
}

/* ---- the rules ---- */

/* std::string as it was before C++11: length, capacity, count of owners, text. */
static bool is_string(const uint64_t *words, uint64_t size)
{
        return words[0] <= words[1] && words[1] == size - 25;
}

/* Allocators that keep the size before what they give away, as SQLite's does; new[] of objects with
 * destructors: their number is before them. */
static bool is_counted(uint64_t first, uint64_t size)
{
        return first && (first == size - 8 || (size - 8) % first == 0);
}

/* The length of what follows, as a byte or in the upper five bits of one; a NUL at
 * the end may count or not. */
static bool is_length(uint64_t byte, uint64_t size)
{
        return byte == size - 1 || byte == size - 2 || (byte % 8 == 0 && byte / 8 == size - 2);
}

/* May what is in front of OFFSET be a header?  In counts, sizes, flags and
 * addresses the highest byte is small: the last one, or (TURNED) the first. */
static bool is_header(const uint8_t *bytes, uint32_t offset, uint64_t size, bool turned)
{
        uint32_t width = offset % 8 == 0 ? 8 : offset % 4 == 0 ? 4 : offset % 2 == 0 ? 2 : 1;

        return offset == 1 ? is_length(bytes[0], size)
                           : bytes[offset - (turned ? width : 1)] < SMALL;
}

static void judge(struct fronts *f, uint64_t block, const uint8_t *bytes)
{
        const struct search_block *b = &f->in->blocks[block];
        uint64_t words[2] = { 0 };

        memcpy(words, bytes, b->size < sizeof words ? b->size : sizeof words);
        words[0] = search_word(&f->in->memory, words[0]);
        words[1] = search_word(&f->in->memory, words[1]);
        if (b->address % 8 == 0) { /* words of blocks are looked at where words are */
                if (f->at[block].offsets[0] & 1u << 7 && is_counted(words[0], b->size))
                        f->known[block] |= FRONTS_AT_8;
                if (f->at[block].offsets[0] & 1u << 23 && is_string(words, b->size))
                        f->known[block] |= FRONTS_AT_24;
        }
        for (uint32_t half = 0; half < SEARCH_NEAR / 64; half++)
                for (uint64_t left = f->at[block].offsets[half]; left; left &= left - 1) {
                        uint32_t bit = (uint32_t)__builtin_ctzll(left);

                        if (!is_header(bytes, 64 * half + bit + 1, b->size,
                                       f->in->memory.turned))
                                f->at[block].offsets[half] &= ~(UINT64_C(1) << bit);
                }
}

/* ---- reading ---- */

static bool is_asked(const struct fronts *f, uint64_t block)
{
        return f->at[block].offsets[0] | f->at[block].offsets[1];
}

static uint64_t front_end(const struct search_block *b)
{
        uint64_t end = b->address + (b->size < SEARCH_NEAR ? b->size : SEARCH_NEAR);

        return end >= b->address ? end : UINT64_MAX;
}

void fronts_read(struct fronts *f)
{
        const struct search_block *blocks = f->in->blocks;
        uint64_t count = f->in->block_count;
        uint8_t *piece = heap_grow(NULL, GATHER_PIECE + SEARCH_NEAR, 1);

        for (uint64_t i = 0, end; i < count; i = end) {
                uint64_t start = blocks[i].address, stop = front_end(&blocks[i]);

                end = i + 1;
                if (!is_asked(f, i))
                        continue;
                for (; end < count && blocks[end].address - start <= stop - start + GATHER_GAP &&
                       front_end(&blocks[end]) - start <= GATHER_PIECE;
                     end++)
                        if (is_asked(f, end) && front_end(&blocks[end]) > stop)
                                stop = front_end(&blocks[end]);
                gather_bytes(&f->in->memory, start, piece, stop - start);
                for (uint64_t k = i; k < end; k++)
                        if (is_asked(f, k))
                                judge(f, k, piece + (blocks[k].address - start));
        }
        free(piece);
}
