/* SPDX-License-Identifier: MIT */
/* fronts.c -- the first bytes of blocks that pointers to near their start lead to. */
#include "leak/fronts.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/parallel.h"
#include "leak/gather.h"

#define FRONTS_AT_WORD 1u /* known to hold its content behind a word ... */
#define FRONTS_AT_THIRD 2u /* ... three words ... */
#define FRONTS_AT_PAIR 4u  /* ... or two, of 4 bytes each */
#define SMALL 16u
#define FRONTS_PART (1u << 17) /* blocks that a thread looks at in a row */

struct fronts *fronts_new(const struct search_input *in)
{
        struct fronts *f = heap_zero(1, sizeof *f);

        f->in = in;
        f->at = heap_dense(in->block_count, sizeof *f->at);
        f->known = heap_dense(in->block_count, sizeof *f->known);
        return f;
}

void fronts_free(struct fronts *f)
{
        free(f->at);
        free(f->known);
        free(f);
}

/* Most pointers are at none of these offsets, and cost no look at the block. */
bool fronts_is_known(const struct fronts *f, uint32_t block, uint32_t offset)
{
        uint32_t width = search_width(f->in->memory.narrow);
        uint8_t at = offset == width       ? FRONTS_AT_WORD
                     : offset == 3 * width ? FRONTS_AT_THIRD
                     : offset == 2 * width ? FRONTS_AT_PAIR
                                           : 0;

        return at && f->known[block] & at;
}

/* ---- the rules ---- */

/* std::string as it was before C++11: length, capacity, count of owners, text. */
static bool is_string(const uint64_t *words, uint64_t size, uint32_t width)
{
        return words[0] <= words[1] && words[1] == size - 3 * width - 1;
}

/* Allocators that keep the size before what they give away; new[] of objects with destructors:
 * their number is before them. */
static bool is_counted(uint64_t first, uint64_t size, uint32_t width)
{
        return first && (first == size - width || (size - width) % first == 0);
}

/* The same with words of 4 bytes: a size of 8, as SQLite's allocator keeps; the number of elements
 * alone, in front of those that lie at multiples of 8; or behind the size of one (arm). */
static bool is_pair(const uint64_t *words, uint64_t size, bool turned)
{
        uint64_t low = words[turned], high = words[!turned], rest = size - 8;

        return size > 8 && ((!high && low == rest) || (words[1] && rest % words[1] == 0));
}

/* The length of what follows, as a byte or in the upper five bits of one; a NUL at
 * the end may count or not. */
static bool is_length(uint64_t byte, uint64_t size)
{
        return byte == size - 1 || byte == size - 2 || (byte % 8 == 0 && byte / 8 == size - 2);
}

/* May what is in front of OFFSET be a header?  In counts, sizes, flags and
 * addresses the highest byte is small: the last one, or (TURNED) the first. */
static bool is_header(const uint8_t *bytes, uint32_t offset, uint64_t size, bool narrow,
                      bool turned)
{
        uint32_t width = offset % 8 == 0 && !narrow ? 8
                         : offset % 4 == 0          ? 4
                         : offset % 2 == 0          ? 2
                                                    : 1;

        return offset == 1 ? is_length(bytes[0], size)
                           : bytes[offset - (turned ? width : 1)] < SMALL;
}

static bool asks(const struct fronts *f, uint64_t block, uint32_t offset)
{
        return f->at[block].offsets[0] >> (offset - 1) & 1;
}

/* What the words at the start of a block say; they are looked at where words are. */
static uint8_t judge_words(const struct fronts *f, uint64_t block, const uint8_t *bytes)
{
        const struct search_memory *m = &f->in->memory;
        const struct search_block *b = &f->in->blocks[block];
        uint32_t width = search_width(m->narrow);
        uint64_t words[2];
        uint8_t front[16] = { 0 };

        if (b->address % width)
                return 0;
        memcpy(front, bytes, b->size < 2 * width ? b->size : 2 * width);
        words[0] = search_word(front, m->narrow, m->turned);
        words[1] = search_word(front + width, m->narrow, m->turned);
        return (asks(f, block, width) && is_counted(words[0], b->size, width) ? FRONTS_AT_WORD
                                                                              : 0) |
               (asks(f, block, 3 * width) && is_string(words, b->size, width) ? FRONTS_AT_THIRD
                                                                              : 0) |
               (m->narrow && asks(f, block, 8) && is_pair(words, b->size, m->turned)
                        ? FRONTS_AT_PAIR
                        : 0);
}

static void judge(struct fronts *f, uint64_t block, const uint8_t *bytes)
{
        const struct search_block *b = &f->in->blocks[block];
        const struct search_memory *m = &f->in->memory;

        f->known[block] = judge_words(f, block, bytes);
        for (uint32_t half = 0; half < SEARCH_NEAR / 64; half++)
                for (uint64_t left = f->at[block].offsets[half]; left; left &= left - 1) {
                        uint32_t bit = (uint32_t)__builtin_ctzll(left);

                        if (!is_header(bytes, 64 * half + bit + 1, b->size, m->narrow, m->turned))
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

static void read_part(void *context, uint32_t slot, uint32_t part)
{
        struct fronts *f = context;
        const struct search_block *blocks = f->in->blocks;
        uint64_t i = (uint64_t)part * FRONTS_PART, count = f->in->block_count, end;
        uint8_t *piece = heap_grow(NULL, GATHER_PIECE + SEARCH_NEAR, 1);

        (void)slot;
        count = count - i < FRONTS_PART ? count : i + FRONTS_PART;
        for (; i < count; i = end) {
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

void fronts_read(struct fronts *f)
{
        uint64_t parts = (f->in->block_count + FRONTS_PART - 1) / FRONTS_PART;

        parallel_run(f->in->threads, (uint32_t)parts, read_part, f);
}
