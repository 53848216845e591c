/* SPDX-License-Identifier: MIT */
/*
 * test_replay.c -- what events add up to.
 */
#include "profile/replay.h"

#include <stdlib.h>

#include "base/heap.h"
#include "sample.h"
#include "tap.h"

static struct replay *r;

static void put(uint8_t type, uint8_t kind, uint16_t thread, uint32_t site, uint64_t address,
                uint64_t size)
{
        struct ledger_event e = { .type = type,
                                  .kind = kind,
                                  .thread = thread,
                                  .site = site,
                                  .address = address,
                                  .size = size,
                                  .ms = 7 };

        replay_event(r, &e);
}

static void put_alloc(uint64_t address, uint64_t size)
{
        put(LEDGER_EVENT_ALLOC, LEDGER_KIND_MALLOC, 1, 3, address, size);
}

static void put_free(uint64_t address)
{
        put(LEDGER_EVENT_FREE, LEDGER_KIND_MALLOC, 1, 0, address, 0x401000);
}

static struct replay_totals sum(void)
{
        return replay_totals(r);
}

TEST(allocations_and_releases_are_counted_and_the_peak_kept)
{
        r = replay_new();
        put_alloc(0x1000, 100);
        put_alloc(0x2000, 50);
        put_free(0x1000);
        put_alloc(0x1000, 20);
        is_equal(sum().allocations, 3);
        is_equal(sum().frees, 1);
        is_equal(sum().bytes_allocated, 170);
        is_equal(sum().live_blocks, 2);
        is_equal(sum().live_bytes, 70);
        is_equal(sum().peak_bytes, 150);
        is_equal(sum().peak_ms, 7);
        is_equal(replay_site(r, 3)->allocs, 3);
        is_equal(replay_site(r, 3)->frees, 1);
        is_equal(replay_site(r, 4)->allocs, 0);
        is_equal(replay_find(r, 0x1000, LEDGER_KIND_MALLOC)->size, 20);
        is_equal(replay_find(r, 0x1000, LEDGER_KIND_MALLOC)->number, 4);
        is_true(!replay_find(r, 0x3000, LEDGER_KIND_MALLOC));
        replay_free(r);
}

TEST(a_failed_realloc_keeps_the_old_block)
{
        r = replay_new();
        put_alloc(0x1000, 100);
        put(LEDGER_EVENT_TAKE, LEDGER_KIND_MALLOC, 1, 0, 0x1000, 0x401000);
        is_equal(replay_taken(r, 1)->address, 0x1000);
        put(LEDGER_EVENT_PUT_BACK, 0, 1, 0, 0, 0);
        is_true(!replay_taken(r, 1));
        is_equal(sum().live_bytes, 100);
        is_equal(sum().live_blocks, 1);
        is_equal(sum().frees, 0);
        is_equal(replay_site(r, 3)->frees, 0);
        is_equal(replay_find(r, 0x1000, LEDGER_KIND_MALLOC)->number, 1);
        replay_free(r);
}

TEST(reallocs_of_two_threads_do_not_mix)
{
        r = replay_new();
        put_alloc(0x1000, 100);
        put_alloc(0x2000, 200);
        put(LEDGER_EVENT_TAKE, LEDGER_KIND_MALLOC, 1, 0, 0x1000, 0);
        put(LEDGER_EVENT_TAKE, LEDGER_KIND_MALLOC, 2, 0, 0x2000, 0);
        put(LEDGER_EVENT_MOVE, LEDGER_KIND_REALLOC, 1, 5, 0x3000, 300);
        put(LEDGER_EVENT_PUT_BACK, 0, 2, 0, 0, 0);
        is_equal(sum().live_bytes, 500);
        is_equal(sum().live_blocks, 2);
        is_true(!replay_find(r, 0x1000, LEDGER_KIND_MALLOC));
        is_equal(replay_find(r, 0x2000, LEDGER_KIND_MALLOC)->size, 200);
        is_equal(replay_find(r, 0x3000, LEDGER_KIND_MALLOC)->site, 5);
        replay_free(r);
}

TEST(blocks_of_a_pool_are_told_from_the_arena_around_them)
{
        r = replay_new();
        put_alloc(0x1000, 1000);
        put(LEDGER_EVENT_CARVE, 0, 1, 3, 0x1000, 64);
        put(LEDGER_EVENT_ALLOC, LEDGER_KIND_POOL, 1, 9, 0x1000, 64);
        is_equal(sum().live_bytes, 1000);
        is_equal(sum().live_blocks, 2);
        put(LEDGER_EVENT_FREE, LEDGER_KIND_POOL, 1, 0, 0x1000, 0);
        put(LEDGER_EVENT_CARVE, 0, 1, 3, 0x1000, (uint64_t)-64);
        is_equal(sum().live_bytes, 1000);
        put_free(0x1000);
        is_equal(sum().live_bytes, 0);
        is_equal(sum().live_blocks, 0);
        is_equal(sum().peak_bytes, 1000);
        replay_free(r);
}

static void put_map(uint64_t start, uint64_t end)
{
        put(LEDGER_EVENT_MAP, LEDGER_KIND_MMAP, 1, 8, start, end - start);
}

static void put_unmap(uint16_t thread, uint64_t start, uint64_t end)
{
        put(LEDGER_EVENT_UNMAP, 0, thread, 0, start, end - start);
}

TEST(mappings_are_unmapped_in_parts_and_across)
{
        r = replay_new();
        put_map(0x10000, 0x20000);
        put_map(0x30000, 0x40000);
        is_equal(sum().mmap_live_bytes, 0x20000);
        put_unmap(1, 0x14000, 0x15000); /* the middle */
        is_equal(sum().mmap_live_bytes, 0x1f000);
        put_unmap(1, 0x1f000, 0x31000); /* a tail, a gap and a head */
        is_equal(sum().mmap_live_bytes, 0x1d000);
        put_unmap(1, 0x14000, 0x15000); /* nothing is there any more */
        is_equal(sum().mmap_live_bytes, 0x1d000);
        put_map(0x0f000, 0x16000); /* over the first part: it is counted once */
        is_equal(sum().mmap_live_bytes, 0x1f000);
        put_unmap(1, 0, UINT64_MAX);
        is_equal(sum().mmap_live_bytes, 0);
        is_equal(sum().mmap_calls, 3);
        is_equal(sum().mmap_bytes, 0x27000);
        replay_free(r);
}

TEST(an_unmapping_that_failed_did_not_happen)
{
        r = replay_new();
        put_map(0x10000, 0x20000);
        put_map(0x30000, 0x40000);
        put_unmap(1, 0x18000, 0x38000);
        put_unmap(2, 0x10000, 0x11000);
        put(LEDGER_EVENT_UNMAP_FAILED, 0, 1, 0, 0, 0);
        is_equal(sum().mmap_live_bytes, 0x1f000);
        put(LEDGER_EVENT_UNMAP_FAILED, 0, 2, 0, 0, 0);
        put(LEDGER_EVENT_UNMAP_FAILED, 0, 2, 0, 0, 0);
        is_equal(sum().mmap_live_bytes, 0x20000);
        replay_free(r);
}

TEST(bad_and_strange_releases_are_counted_apart)
{
        r = replay_new();
        put(LEDGER_EVENT_BAD_FREE, LEDGER_ERROR_DOUBLE_FREE, 1, 0, 0x1000, 0);
        put(LEDGER_EVENT_BAD_FREE, LEDGER_ERROR_UNKNOWN_FREE, 1, 0, 0x1000, 0);
        put(LEDGER_EVENT_BAD_FREE, LEDGER_ERROR_MISMATCHED, 1, 0, 0x1000, 0);
        put_free(0x5000);
        is_equal(sum().double_frees, 1);
        is_equal(sum().unknown_frees, 1);
        is_equal(sum().mismatched, 1);
        is_equal(sum().strangers, 1);
        is_equal(sum().frees, 0);
        is_equal(sum().events, 4);
        replay_free(r);
}

/* A second book, as simple as can be: a flat array by address. */
TEST(random_work_gives_the_live_set_of_a_flat_array)
{
        static uint64_t size[4096];
        uint64_t random = 5, live = 0, bytes = 0, peak = 0, slots, seen = 0;
        const struct replay_block *b;

        r = replay_new();
        memset(size, 0, sizeof size);
        for (int i = 0; i < 200000; i++) {
                uint64_t k = sample_random(&random) % 4096;

                if (size[k]) {
                        put_free(0x10000 + 16 * k);
                        live--;
                        bytes -= size[k];
                        size[k] = 0;
                } else {
                        size[k] = 1 + sample_random(&random) % 1000;
                        put_alloc(0x10000 + 16 * k, size[k]);
                        live++;
                        bytes += size[k];
                        peak = bytes > peak ? bytes : peak;
                }
        }
        b = replay_blocks(r, &slots);
        for (uint64_t i = 0; i < slots; i++) {
                if (!b[i].used)
                        continue;
                is_equal(b[i].size, size[(b[i].address - 0x10000) / 16]);
                seen++;
        }
        is_equal(seen, live);
        is_equal(sum().live_blocks, live);
        is_equal(sum().live_bytes, bytes);
        is_equal(sum().peak_bytes, peak);
        replay_free(r);
}

TEST(no_event_does_harm)
{
        uint64_t random = 77;

        r = replay_new();
        for (int i = 0; i < 200000; i++) {
                uint64_t x = sample_random(&random);
                uint64_t address = sample_random(&random) >> x % 64,
                         size = sample_random(&random) >> (x >> 6) % 64;

                put((uint8_t)(x >> 12) % (LEDGER_EVENT_TYPES + 2), (uint8_t)(x >> 20),
                    (uint16_t)(x >> 28) % 500, (uint32_t)(x >> 40), address, size);
        }
        is_equal(sum().events, 200000);
        replay_free(r);
}

TAP_MAIN(allocations_and_releases_are_counted_and_the_peak_kept,
         a_failed_realloc_keeps_the_old_block, reallocs_of_two_threads_do_not_mix,
         blocks_of_a_pool_are_told_from_the_arena_around_them,
         mappings_are_unmapped_in_parts_and_across, an_unmapping_that_failed_did_not_happen,
         bad_and_strange_releases_are_counted_apart, random_work_gives_the_live_set_of_a_flat_array,
         no_event_does_harm)
