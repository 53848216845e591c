/* SPDX-License-Identifier: MIT */
#include "leak/destinations.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/index.h"

#define GAP (UINT64_C(64) << 10) /* between two ranges, at the least ... */

/* Blocks and code in the order of their addresses, one after another. */
struct walk {
        const struct search_input *in;
        uint64_t block;
        uint32_t code;
};

static bool next(struct walk *w, struct search_range *out)
{
        const struct search_input *in = w->in;
        bool block = w->block < in->block_count, code = w->code < in->code_count;

        if (!block && !code)
                return false;
        if (!code || (block && in->blocks[w->block].address < in->code[w->code].start)) {
                const struct search_block *b = &in->blocks[w->block++];

                *out = (struct search_range){ b->address, index_end(b) };
        } else {
                *out = in->code[w->code++];
        }
        return true;
}

/* Ranges with less than GAP between them are one.  0: there are more than fit. */
static uint32_t join(const struct search_input *in, uint64_t gap, struct search_range *out)
{
        struct walk w = { .in = in };
        struct search_range r;
        uint32_t count = 0;

        while (next(&w, &r)) {
                if (r.end <= r.start)
                        continue;
                if (!count || (r.start > out[count - 1].end &&
                               r.start - out[count - 1].end >= gap)) {
                        if (count == DESTINATIONS_MOST)
                                return 0;
                        out[count++] = r;
                } else if (r.end > out[count - 1].end) {
                        out[count - 1].end = r.end;
                }
        }
        return count;
}

struct search_range *destinations_find(const struct search_input *in, uint32_t *count)
{
        struct search_range *out = heap_grow(NULL, DESTINATIONS_MOST, sizeof *out);
        uint64_t gap = GAP;

        for (*count = 0; gap && (in->block_count || in->code_count); gap <<= 1) {
                *count = join(in, gap, out);
                if (*count)
                        break;
        }
        return out;
}

/* Whether all words that are looked at lie at multiples of their size: else what is in one that
 * leads somewhere may be parts of two that do not. */
static bool is_even(const struct search_input *in)
{
        uint64_t all = 0;

        for (uint64_t i = 0; i < in->block_count; i++)
                all |= in->blocks[i].address;
        return !in->unaligned && all % search_width(in->memory.narrow) == 0;
}

struct search_memory destinations_memory(const struct search_input *in)
{
        struct search_memory m = in->memory;
        struct search_range *ranges;
        uint32_t count;

        if (!m.expect || !is_even(in))
                return m;
        ranges = destinations_find(in, &count);
        if (m.expect(m.context, ranges, count))
                m.read = m.pointers;
        free(ranges);
        return m;
}
