/* SPDX-License-Identifier: MIT */
/*
 * leak_random.c -- a heap of random shape, told on descriptor 3 as a graph: what is lost follows
 * from that.
 *
 * Room:   tests only.  See leak.h.
 * Usage:  leak_random SEED BLOCKS [wait]
 * Lines:  graph block NUMBER ADDRESS FUNCTION SIZE, graph link FROM OFFSET TO OFFSET (a later one
 *         may replace it), graph hold TO OFFSET, graph freed NUMBER
 */
#include "leak.h"

#include <sys/mman.h>

#define ROOTS 64

static uint64_t state;
static void *volatile roots[ROOTS];

static uint64_t below(uint64_t n)
{
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state % n;
}

MAKER(maker_0)
MAKER(maker_1)
MAKER(maker_2)
MAKER(maker_3)

static void *(*const makers[])(const char *kind, size_t size) = { maker_0, maker_1, maker_2,
                                                                  maker_3 };

struct block {
        char *start;
        size_t size;
        int freed;
};

/* Mostly to the start, as programs do. */
static size_t some_offset(const struct block *b)
{
        return below(5) ? 0 : below(b->size);
}

static void link_blocks(struct block *blocks, size_t count)
{
        for (size_t n = count + below(count); n; n--) {
                size_t from = below(count), to = below(count),
                       at = below(blocks[from].size / 8) * 8, offset = some_offset(&blocks[to]);
                *(char **)(blocks[from].start + at) = blocks[to].start + offset;
                truth_say("graph link %zu %zu %zu %zu\n", from, at, to, offset);
        }
}

static void hold_some(struct block *blocks, size_t count)
{
        for (size_t n = 1 + below(count / 8 < ROOTS ? count / 8 : ROOTS); n; n--) {
                size_t to = below(count), offset = some_offset(&blocks[to]);
                roots[n - 1] = blocks[to].start + offset;
                truth_say("graph hold %zu %zu\n", to, offset);
        }
}

static void free_some(struct block *blocks, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (!below(4)) {
                        free(blocks[i].start);
                        truth_say("graph freed %zu\n", i);
                }
}

LEAK_ALONE static void build(size_t count)
{
        size_t bytes = (count * sizeof(struct block) + 4095) / 4096 * 4096;
        struct block *blocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < count; i++) {
                size_t which = below(4), size = 32 + below(400);
                blocks[i] = (struct block){.start = makers[which](REACHABLE, size), .size = size};
                truth_say("graph block %zu %zu maker_%zu %zu\n", i, (size_t)blocks[i].start, which,
                          size);
        }
        link_blocks(blocks, count);
        hold_some(blocks, count);
        free_some(blocks, count);
        munmap(blocks, bytes);
}

int main(int argc, char **argv)
{
        state = (uint64_t)(argc > 2 ? atol(argv[1]) : 1) * 0x9e3779b97f4a7c15u + 1;
        leak_waits = argc > 3;
        build(argc > 2 ? (size_t)atol(argv[2]) : 100);
        leak_wipe();
        leak_pause();
        leak_wipe();
        return 0;
}
