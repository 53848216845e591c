/* SPDX-License-Identifier: MIT */
#include "remote/pointers.h"

#include <string.h>

#include "wire/journal.h"

enum { HOW_WORDS, HOW_WHOLE };

#define LONGEST (UINT64_C(1) << 60) /* range: journal_far() has what two words of it differ by */
#define VARINT_MOST 10u
#define RECORD_MOST (3 * VARINT_MOST)

bool pointers_expect(struct pointers *p, const uint8_t *bytes, size_t count)
{
        uint64_t before = 0;

        p->count = 0;
        if (count % POINTERS_RANGE_BYTES ||
            count / POINTERS_RANGE_BYTES > POINTERS_RANGES_MOST)
                return false;
        for (uint32_t i = 0; i < count / POINTERS_RANGE_BYTES; i++) {
                uint64_t ends[2] = { 0, 0 };

                for (uint32_t b = 0; b < POINTERS_RANGE_BYTES; b++)
                        ends[b / 8] |= (uint64_t)*bytes++ << b % 8 * 8;
                if (ends[0] < before || ends[1] <= ends[0] || ends[1] - ends[0] > LONGEST)
                        return false;
                before = ends[1];
                p->range[i].start = ends[0];
                p->range[i].end = ends[1];
        }
        p->count = (uint32_t)(count / POINTERS_RANGE_BYTES);
        return true;
}

/* What is packed at once can be unpacked without what was packed before. */
static void begin(struct pointers *p)
{
        for (uint32_t i = 0; i < p->count; i++)
                p->range[i].last = p->range[i].start;
}

/* ---- packing ---- */

static uint8_t *put(uint8_t *to, uint64_t value)
{
        for (; value > 0x7f; value >>= 7)
                *to++ = (uint8_t)(value | 0x80);
        *to++ = (uint8_t)value;
        return to;
}

/* Which range WORD leads into; COUNT: none. */
static uint32_t range_of(const struct pointers *p, uint64_t word)
{
        uint32_t low = 0, high = p->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (p->range[middle].end <= word)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < p->count && p->range[low].start <= word ? low : p->count;
}

static inline uint64_t word_at(const uint8_t *at, uint32_t width)
{
        uint64_t whole;
        uint32_t half;

        if (width == sizeof half) {
                __builtin_memcpy(&half, at, sizeof half);
                return half;
        }
        __builtin_memcpy(&whole, at, sizeof whole);
        return whole;
}

/* NULL: that would be longer than the memory is. */
static uint8_t *pack_words(struct pointers *p, const uint8_t *memory, uint32_t count,
                           uint32_t width, uint8_t *to)
{
        uint64_t low = p->count ? p->range[0].start : 0;
        uint64_t all = p->count ? p->range[p->count - 1].end - low : 0;
        uint32_t next = 0, current = 0, words = count / width;
        const uint8_t *end = to + count;

        for (uint32_t i = 0; i < words; i++) {
                uint64_t word = word_at(memory + i * width, width);
                uint32_t range = word - low < all ? range_of(p, word) : p->count;

                if (range == p->count)
                        continue;
                if ((size_t)(end - to) < RECORD_MOST)
                        return NULL;
                to = put(to, (uint64_t)(i - next) << 1 | (range != current));
                if (range != current)
                        to = put(to, range);
                to = put(to, journal_far(word - p->range[range].last));
                p->range[range].last = word;
                current = range;
                next = i + 1;
        }
        return to;
}

size_t pointers_pack(struct pointers *p, const void *memory, uint32_t count, uint32_t width,
                     uint8_t *out)
{
        uint8_t *from = put(out + 1, count), *to;

        begin(p);
        out[0] = HOW_WORDS;
        to = pack_words(p, memory, count, width, from);
        if (to)
                return (size_t)(to - out);
        out[0] = HOW_WHOLE;
        memcpy(from, memory, count);
        return (size_t)(from - out) + count;
}

/* ---- unpacking ---- */

/* False: there is none. */
static bool take(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
        *value = 0;
        for (uint32_t i = 0; *at < end && i < VARINT_MOST; i++) {
                uint8_t byte = *(*at)++;

                *value |= (uint64_t)(byte & 0x7f) << 7 * i;
                if (!(byte & 0x80))
                        return true;
        }
        return false;
}

static void store(uint8_t *to, uint64_t word, const struct pointers_form *form)
{
        uint32_t half = (uint32_t)word;

        if (form->turned) {
                word = __builtin_bswap64(word);
                half = __builtin_bswap32(half);
        }
        if (form->width == sizeof half)
                memcpy(to, &half, sizeof half);
        else
                memcpy(to, &word, sizeof word);
}

static bool unpack_words(struct pointers *p, const uint8_t *at, const uint8_t *end,
                         const struct pointers_form *form, uint8_t *to, uint64_t words)
{
        uint64_t next = 0, range = 0, gap, word;

        while (at < end) {
                if (!take(&at, end, &gap) || (gap & 1 && !take(&at, end, &range)) ||
                    !take(&at, end, &word))
                        return false;
                gap >>= 1;
                if (range >= p->count || next >= words || gap >= words - next)
                        return false;
                next += gap;
                p->range[range].last += journal_unfar(word);
                store(to + next++ * form->width, p->range[range].last, form);
        }
        return true;
}

bool pointers_unpack(struct pointers *p, const uint8_t *bytes, size_t count,
                     const struct pointers_form *form, uint8_t *to, size_t room, size_t *got)
{
        const uint8_t *at = bytes + 1, *end = bytes + count;
        uint64_t readable;

        *got = 0;
        if (!count || !take(&at, end, &readable) || readable > room)
                return false;
        if (bytes[0] == HOW_WHOLE) {
                if ((uint64_t)(end - at) != readable)
                        return false;
                memcpy(to, at, readable);
        } else {
                begin(p);
                memset(to, 0, readable);
                if (bytes[0] != HOW_WORDS ||
                    !unpack_words(p, at, end, form, to, readable / form->width))
                        return false;
        }
        *got = readable;
        return true;
}
