/* SPDX-License-Identifier: MIT */
/*
 * test_residence.c -- live blocks, headers and free memory in what an allocator keeps.
 */
#include "query/residence.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "tap.h"

#define MIB (1ull << 20)
#define RW (PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE)
#define KEPT(name) (RW | PROFILE_MAPPING_KEPT(PROFILE_KEEPER_##name))
#define HEAP_AT (64 * MIB * 1000)
#define ELSEWHERE (64 * MIB * 2000 + 4096)

static struct profile_mapping mapping(uint64_t start, uint64_t bytes, uint32_t flags,
                                      const char *name)
{
        return (struct profile_mapping){ .start = start,
                                         .end = start + bytes,
                                         .rss_bytes = flags & RW ? bytes : 0,
                                         .anonymous_bytes = bytes,
                                         .flags = flags,
                                         .name = heap_text(name) };
}

static void put_mapping(struct profile *p, struct profile_mapping m)
{
        p->mappings = heap_grow(p->mappings, p->mapping_count + 1, sizeof *p->mappings);
        p->mappings[p->mapping_count++] = m;
}

static void put_block(struct profile *p, uint64_t address, uint64_t size)
{
        p->blocks = heap_grow(p->blocks, p->block_count + 1, sizeof *p->blocks);
        p->blocks[p->block_count++] = (struct profile_block){ .address = address, .size = size };
        p->totals.live_blocks++;
        p->totals.live_bytes += size;
}

/* As looked at while the process waited at its end. */
static struct residence_sums sums_of(struct profile *p)
{
        struct profile_scan scan = { .when = PROFILE_SCAN_EXIT, .trouble = (char[]){ "" } };
        struct residence_sums s;

        p->scans = &scan;
        p->scan_count = 1;
        p->verdict_count = p->block_count;
        residence_sum(p, &s);
        p->scans = NULL;
        p->scan_count = 0;
        p->verdict_count = 0;
        return s;
}

TEST(blocks_that_are_not_recorded_are_not_free)
{
        struct profile p = { 0 };
        struct profile_mapping m = mapping(HEAP_AT, 40 * MIB, KEPT(HEAP), "[heap]");
        struct residence_sums s;

        put_mapping(&p, m);
        put_block(&p, HEAP_AT + 16, 1000);
        s = sums_of(&p);
        is_true(residence_wasted(&s) != NULL);
        p.mappings[0].unrecorded_blocks = 19000;
        p.mappings[0].unrecorded_bytes = 19000 * 2000;
        s = sums_of(&p);
        is_equal(s.parts[PROFILE_KEEPER_HEAP].unrecorded_bytes, 19000 * 2016);
        is_equal(s.free_bytes, 40 * MIB - 19000 * 2016 - 1008);
        is_true(!residence_wasted(&s));
        p.mappings[0].unrecorded_blocks = UINT64_MAX; /* of a damaged file */
        s = sums_of(&p);
        is_true(s.parts[PROFILE_KEEPER_HEAP].unrecorded_bytes <= 40 * MIB - 1008);
        profile_free(&p);
}

TEST(what_is_resident_is_live_overhead_or_free)
{
        struct profile p = { 0 };
        struct residence_sums s;
        const struct residence_part *k;

        put_mapping(&p, mapping(HEAP_AT, MIB, KEPT(ARENA), ""));
        put_mapping(&p, mapping(ELSEWHERE, 8 * MIB, RW, ""));
        p.mappings[0].rss_bytes -= 4 * 4096;
        put_block(&p, HEAP_AT + 16 * 4096 + 16, 1000);
        put_block(&p, HEAP_AT + 16 * 4096 + 1024, 1);
        put_block(&p, HEAP_AT + 32 * 4096 + 16, 4096 - 8);
        s = sums_of(&p);
        k = &s.parts[PROFILE_KEEPER_ARENA];
        is_equal(k->mappings, 1);
        is_equal(k->blocks, 3);
        is_equal(k->live_bytes, 1000 + 1 + 4088);
        is_equal(k->overhead_bytes, 8 + 31 + 8);
        is_equal(k->free_bytes, MIB - 4 * 4096 - 5089 - 47);
        is_equal(k->whole_bytes, 31 * 4096); /* below the last one, which reaches into a page behind
                                              * its own; and above it, where 4 are not resident */
        is_equal(k->top_bytes, MIB - 34 * 4096 - 4 * 4096);
        p.mappings[0].flags = KEPT(HEAP); /* there both can be given back */
        s = sums_of(&p);
        is_equal(s.parts[PROFILE_KEEPER_HEAP].whole_bytes, MIB - 3 * 4096 - 4 * 4096);
        is_equal(s.parts[PROFILE_KEEPER_HEAP].top_bytes, 0);
        p.mappings[0].flags = KEPT(ARENA);
        s = sums_of(&p);
        is_equal(s.rss_bytes, 9 * MIB - 4 * 4096);
        is_equal(s.free_bytes, k->free_bytes);
        is_true(!residence_wasted(&s)); /* less than what is elsewhere */
        profile_free(&p);
}

TEST(a_block_with_a_mapping_of_its_own_leaves_nothing_free)
{
        struct profile p = { 0 };
        struct residence_sums s;

        put_mapping(&p, mapping(ELSEWHERE, MIB + 4096, RW,
                                "")); /* nobody could read it: the block tells */
        put_mapping(&p, mapping(ELSEWHERE + 16 * MIB, 2 * MIB,
                                KEPT(CHUNK), ""));
        put_block(&p, ELSEWHERE + 16, MIB);
        put_block(&p, ELSEWHERE + 16 * MIB + 16, MIB - 16);
        s = sums_of(&p);
        is_equal(s.parts[PROFILE_KEEPER_CHUNK].mappings, 2);
        is_equal(s.parts[PROFILE_KEEPER_CHUNK].live_bytes, 2 * MIB - 16);
        is_equal(s.parts[PROFILE_KEEPER_CHUNK].overhead_bytes, 4096 + 16);
        is_equal(s.parts[PROFILE_KEEPER_CHUNK].rest_bytes,
                 MIB); /* what else the kernel merged into it */
        is_equal(s.free_bytes, 0);
        profile_free(&p);
}

TEST(a_heap_that_nobody_could_read_is_known_by_its_place)
{
        struct profile p = { 0 };

        put_mapping(&p, mapping(HEAP_AT, 8 * MIB, RW, ""));
        put_mapping(&p, mapping(HEAP_AT + 8 * MIB, 56 * MIB, 0, ""));
        is_equal(sums_of(&p).parts[PROFILE_KEEPER_ARENA].free_bytes, 8 * MIB);
        p.mappings[1].end -= 4096; /* not up to the next multiple: anything */
        is_equal(sums_of(&p).free_bytes, 0);
        p.mappings[1].end += 4096;
        put_mapping(&p, mapping(HEAP_AT + 65 * MIB, MIB,
                                KEPT(JEMALLOC), ""));
        is_equal(sums_of(&p).parts[PROFILE_KEEPER_ARENA].mappings, 0); /* glibc does not serve */
        profile_free(&p);
}

/* Tombstones of the ledger are all that is known of an allocator other than glibc: what the program
 * mapped there since is its own. */
TEST(memory_of_the_program_where_an_allocator_had_some_is_the_programs)
{
        static struct profile_node nodes[] = { { 0 }, { .pc = 0x5000 }, { .pc = 0x9000 } };
        static struct profile_site sites[] = { { 0 }, { .node = 1 }, { .node = 2 } };
        struct profile_region region = { .start = ELSEWHERE, .end = ELSEWHERE + MIB, .site = 1 };
        struct profile p = { .nodes = nodes,
                             .node_count = 3,
                             .sites = sites,
                             .site_count = 3,
                             .regions = &region,
                             .region_count = 1 };

        put_mapping(&p,
                    mapping(0x8000, 0x2000,
                            PROFILE_MAPPING_READ | PROFILE_MAPPING_EXECUTE | PROFILE_MAPPING_SERVES,
                            "/lib/libjemalloc.so"));
        put_mapping(&p, mapping(ELSEWHERE, MIB, KEPT(JEMALLOC),
                                ""));
        is_equal(sums_of(&p).free_bytes, 0);
        region.site = 2; /* mapped by malloc itself */
        is_equal(sums_of(&p).parts[PROFILE_KEEPER_JEMALLOC].free_bytes, MIB);
        p.mappings[1].flags = RW; /* its books: no block was ever in it */
        put_mapping(&p, mapping(ELSEWHERE + 2 * MIB, MIB,
                                KEPT(JEMALLOC), ""));
        is_equal(sums_of(&p).parts[PROFILE_KEEPER_JEMALLOC].free_bytes, 2 * MIB);
        p = (struct profile){ .mappings = p.mappings, .mapping_count = p.mapping_count };
        profile_free(&p);
}

/* Blocks that were freed since the last look were not free then. */
TEST(without_a_look_at_the_end_each_mapping_gets_its_share_of_what_was_live)
{
        struct profile_slice slices[] = { { .ms = 5, .live_bytes = 1 },
                                          { .ms = 7, .live_blocks = 11, .live_bytes = 3 * MIB },
                                          { .ms = 9 } };
        struct profile p = { .slices = slices, .slice_count = 3, .totals = { .mappings_ms = 7 } };
        struct residence_sums s;

        put_mapping(&p, mapping(HEAP_AT, 3 * MIB, KEPT(ARENA), ""));
        put_mapping(&p, mapping(HEAP_AT + 64 * MIB, MIB, KEPT(ARENA), ""));
        put_mapping(&p, mapping(ELSEWHERE, MIB, KEPT(CHUNK), ""));
        for (uint64_t ms = 6; ms <= 8; ms++) { /* 6 and 8: between two slices */
                p.totals.mappings_ms = ms;
                residence_sum(&p, &s);
                is_true(s.guessed);
                is_equal(s.parts[PROFILE_KEEPER_CHUNK].live_bytes, MIB);
                is_equal(s.parts[PROFILE_KEEPER_ARENA].live_bytes, 2 * MIB);
                is_equal(s.parts[PROFILE_KEEPER_ARENA].blocks, 11);
                is_equal(s.free_bytes, 2 * MIB - 12 * 11);
                is_equal(s.whole_bytes, 0);
        }
        p.totals.mappings_live_bytes = 2 * MIB; /* said by who looked: no slice is asked */
        p.totals.mappings_live_blocks = 5;
        residence_sum(&p, &s);
        is_equal(s.parts[PROFILE_KEEPER_ARENA].live_bytes, MIB);
        is_equal(s.free_bytes, 3 * MIB - 12 * 5);
        p.slices = NULL;
        p.slice_count = 0;
        profile_free(&p);
}

/* With a block at each HOLE below END, in 16 MiB. */
static void advises_of(uint32_t keeper, uint64_t hole, uint64_t end, const char *words)
{
        struct profile p = { 0 };
        struct residence_sums s;
        struct str out = { 0 };

        put_mapping(&p, mapping(HEAP_AT, 16 * MIB, RW | PROFILE_MAPPING_KEPT(keeper), ""));
        for (uint64_t at = hole; at < end; at += hole)
                put_block(&p, HEAP_AT + at + 16, 100);
        s = sums_of(&p);
        is_true(residence_wasted(&s) == &s.parts[keeper]);
        residence_advice(residence_wasted(&s), &out);
        is_true(strstr(str_get(&out), words) != NULL);
        str_free(&out);
        profile_free(&p);
}

static void advises(uint32_t keeper, uint64_t hole, const char *words)
{
        advises_of(keeper, hole, 16 * MIB, words);
}

TEST(the_advice_is_about_the_allocator_that_keeps_the_memory)
{
        advises(PROFILE_KEEPER_ARENA, MIB, "MALLOC_ARENA_MAX=2");
        advises(PROFILE_KEEPER_ARENA, MIB, "malloc_trim(0) gives back 14.9 MiB");
        advises(PROFILE_KEEPER_HEAP, MIB, "malloc_trim(0) gives back 15.9 MiB");
        advises_of(PROFILE_KEEPER_ARENA, MIB, 4 * MIB,
                   "a free() of 64 KiB or more in each gives it back; fewer arenas");
        advises(PROFILE_KEEPER_HEAP, 2048, "between live blocks; malloc_trim(0) gives back");
        advises(PROFILE_KEEPER_JEMALLOC, MIB, "dirty_decay_ms");
        advises(PROFILE_KEEPER_TCMALLOC, MIB, "TCMALLOC_RELEASE_RATE");
        advises(PROFILE_KEEPER_MIMALLOC, MIB, "MIMALLOC_PURGE_DELAY");
}

TAP_MAIN(blocks_that_are_not_recorded_are_not_free, what_is_resident_is_live_overhead_or_free,
         a_block_with_a_mapping_of_its_own_leaves_nothing_free,
         a_heap_that_nobody_could_read_is_known_by_its_place,
         memory_of_the_program_where_an_allocator_had_some_is_the_programs,
         without_a_look_at_the_end_each_mapping_gets_its_share_of_what_was_live,
         the_advice_is_about_the_allocator_that_keeps_the_memory)
