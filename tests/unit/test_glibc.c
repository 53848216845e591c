/* SPDX-License-Identifier: MIT */
/*
 * test_glibc.c -- heaps as several versions of glibc make them, built by hand: all blocks are
 * found; damage is told and never believed.
 */
#include "allocator/glibc.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "tap.h"

#define DATA 0x7f0000200000ull
#define HEAP 0x555500003000ull
#define THREADS 0x7f0010000000ull /* a multiple of 64 MiB */
#define TLS 0x7f0000300000ull
#define BYTES 65536u
#define BINS_BYTES 2032u

static const struct form {
        const char *name;
        uint32_t front;         /* bytes of an arena before its bins */
        uint32_t cache, counts; /* bytes of the cache's chunk, and of the counts in it */
        uint32_t heap_info;
        bool safe;
} forms[] = {
        { "glibc 2.26", 104, 0x250, 64, 32, false },  { "glibc 2.27", 112, 0x250, 64, 32, false },
        { "glibc 2.31", 112, 0x290, 128, 32, false }, { "glibc 2.32", 112, 0x290, 128, 32, true },
        { "glibc 2.36", 112, 0x290, 128, 48, true },  { "glibc 2.42", 112, 0x300, 152, 48, true },
        { "a cache in a chunk that was not divided", 112, 0x2a0, 128, 48, true },
};

/* Four pieces of memory: data, heap, a heap of a thread's arena, thread-local storage. */
static struct piece {
        uint64_t start;
        uint64_t words[BYTES / 8];
} pieces[] = { { DATA, { 0 } }, { HEAP, { 0 } }, { THREADS, { 0 } }, { TLS, { 0 } } };

static uint64_t *word(uint64_t at)
{
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
                if (at >= pieces[i].start && at < pieces[i].start + BYTES)
                        return &pieces[i].words[(at - pieces[i].start) / 8];
        return NULL;
}

/* ---- a heap that goes on behind its piece, in chunks of 32 KiB up to top ---- */

#define LARGE_BYTES (8u << 20)
#define LARGE_CHUNK 32768u
static uint64_t large_from, large_top; /* the first of them; 0: there are none */
static uint64_t bytes_read;

static size_t read_large(uint64_t address, char *to, size_t bytes)
{
        uint64_t end = HEAP + LARGE_BYTES;

        bytes = bytes < end - address ? bytes : end - address;
        memset(to, 0, bytes);
        for (uint64_t chunk = large_from; chunk <= large_top; chunk += LARGE_CHUNK) {
                uint64_t size = (chunk == large_top ? end - chunk : LARGE_CHUNK) | 1;

                if (chunk + 8 >= address && chunk + 16 <= address + bytes)
                        memcpy(to + (chunk + 8 - address), &size, sizeof size);
        }
        bytes_read += bytes;
        return bytes;
}

static size_t read_piece(void *context, uint64_t address, void *to, size_t bytes)
{
        (void)context;
        if (large_from && address >= HEAP + BYTES && address < HEAP + LARGE_BYTES)
                return read_large(address, to, bytes);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
                if (address >= pieces[i].start && address < pieces[i].start + BYTES) {
                        uint64_t into = address - pieces[i].start;

                        bytes = bytes < BYTES - into ? bytes : BYTES - into;
                        memcpy(to, (const char *)pieces[i].words + into, bytes);
                        return bytes;
                }
        return 0;
}

/* ---- a heap ---- */

static struct search_range expected[512];
static uint32_t expected_count;
static uint64_t at; /* where the next chunk goes */

static void expect(uint64_t chunk, uint64_t size)
{
        expected[expected_count++] = (struct search_range){ chunk + 16, chunk + size + 8 };
}

static uint64_t chunk(uint64_t size, uint64_t flags)
{
        uint64_t here = at;

        *word(here + 8) = size | 1 | flags;
        at += size;
        *word(at + 8) = 1;
        return here;
}

static uint64_t live(uint64_t size, uint64_t flags)
{
        uint64_t here = chunk(size, flags);

        expect(here, size);
        return here;
}

static uint64_t mangled(const struct form *f, uint64_t place, uint64_t pointer)
{
        return f->safe ? place >> 12 ^ pointer : pointer;
}

static void arena(const struct form *f, uint64_t here, uint64_t next, uint64_t top)
{
        uint64_t bins = here + f->front;

        for (uint32_t i = 0; i < 127; i++)
                *word(bins + 16 * i) = *word(bins + 16 * i + 8) = bins + 16 * i - 16;
        *word(bins - 16) = top;
        *word(bins + BINS_BYTES + 16) = next;
}

/* In the arena at HERE: two free chunks of 48 bytes. */
static void fast_list(const struct form *f, uint64_t here, uint64_t one, uint64_t two)
{
        *word(here + f->front - 96 + 8) = one;
        *word(one + 16) = mangled(f, one + 16, two);
        *word(two + 16) = mangled(f, two + 16, 0);
}

static void cache_list(const struct form *f, uint64_t cache, uint64_t one, uint64_t two)
{
        *word(cache + 16 + f->counts + 8 * 4) = one + 16; /* chunks of 96 bytes */
        *word(one + 16) = mangled(f, one + 16, two + 16);
        *word(two + 16) = mangled(f, two + 16, 0);
}

static void chunks(const struct form *f, uint64_t here, uint64_t flags)
{
        uint64_t cache = chunk(f->cache, flags), cached[2], fast[2], empty;

        *word(TLS + 64 + (flags ? 8 : 0)) = cache + 16;
        live(32, flags);
        cached[0] = chunk(96, flags);
        live(1040, flags);
        cached[1] = chunk(96, flags);
        fast[0] = chunk(48, flags);
        live(48, flags);
        fast[1] = chunk(48, flags);
        empty = chunk(400, flags);
        live(64, flags);
        *word(empty + 400 + 8) &= ~UINT64_C(1);
        cache_list(f, cache, cached[0], cached[1]);
        fast_list(f, here, fast[0], fast[1]);
}

static void build(const struct form *f)
{
        uint64_t main_arena = DATA + 512, thread_arena = THREADS + f->heap_info, mp = DATA + 64,
                 top;

        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
                memset(pieces[i].words, 0, sizeof pieces[i].words);
        expected_count = 0;
        at = HEAP;
        chunks(f, main_arena, 0);
        top = at;
        *word(top + 8) = (HEAP + BYTES - top) | 1;
        arena(f, main_arena, thread_arena, top);
        *word(mp + 16) = HEAP; /* sbrk_base, tcache_bins, tcache_max_bytes, tcache_count */
        *word(mp + 24) = 64;
        *word(mp + 32) = 1032;
        *word(mp + 40) = 7;
        at = (thread_arena + f->front + 2088 + 15) & ~15ull;
        chunks(f, thread_arena, 4);
        top = at;
        *word(top + 8) = (THREADS + BYTES - top) | 1;
        arena(f, thread_arena, main_arena, top);
        *word(THREADS) = thread_arena;
        *word(THREADS + 16) = *word(THREADS + 24) = BYTES;
}

static const char maps[] = "555500003000-555500013000 rw-p 0 00:00 0 [heap]\n"
                           "7f0000200000-7f0000210000 rw-p 0 00:00 0 /lib/libc.so.6\n"
                           "7f0000300000-7f0000310000 rw-p 0 00:00 0 /lib/other\n"
                           "7f0010000000-7f0010010000 rw-p 0 00:00 0\n";

static const char low_maps[] = "3a0000-3b0000 rw-p 0 00:00 0 [heap]\n"
                               "7f0000200000-7f0000210000 rw-p 0 00:00 0 /lib/libc.so.6\n"
                               "7f0000300000-7f0000310000 rw-p 0 00:00 0 /lib/other\n";

static const char large_maps[] = "555500003000-555500803000 rw-p 0 00:00 0 [heap]\n"
                                 "7f0000200000-7f0000210000 rw-p 0 00:00 0 /lib/libc.so.6\n"
                                 "7f0000300000-7f0000310000 rw-p 0 00:00 0 /lib/other\n"
                                 "7f0010000000-7f0010010000 rw-p 0 00:00 0\n";

static void find(struct walk_blocks *b)
{
        static const struct search_range data = { DATA, DATA + BYTES }, tls = { TLS, TLS + 256 };
        struct mappings m;

        mappings_parse(&m, large_from ? large_maps : pieces[1].start == HEAP ? maps : low_maps);
        glibc_find(b, &(struct walk_input){ .alignment = 16,
                                            .memory = { .read = read_piece },
                                            .maps = &m,
                                            .data = &data,
                                            .data_count = 1,
                                            .tls = &tls,
                                            .tls_count = 1 });
        mappings_free(&m);
}

/* ---- claims ---- */

#define LOW 0x3a0000ull /* words on its first page are masked with 0x3a0 */

/* A heap that lies low, with a free chunk that leads to another one; the word for that is the
 * address of a live block. */
static void build_low(const struct form *f)
{
        uint64_t main_arena = DATA + 512, cache, free_chunks[2], held;

        build(f);
        memset(pieces[1].words, 0, sizeof pieces[1].words);
        pieces[1].start = at = LOW;
        expected_count = 0;
        cache = chunk(f->cache, 0);
        free_chunks[0] = chunk(96, 0);
        live(LOW + 0x400 - at, 0);
        free_chunks[1] = chunk(96, 0);
        live(0x3a0 - 96, 0);
        held = live(96, 0);
        is_equal(mangled(f, free_chunks[0] + 16, free_chunks[1] + 16), held + 16);
        cache_list(f, cache, free_chunks[0], free_chunks[1]);
        *word(TLS + 64) = cache + 16;
        *word(TLS + 72) = 0;
        *word(at + 8) = (LOW + BYTES - at) | 1;
        arena(f, main_arena, main_arena, at);
        *word(DATA + 64 + 16) = LOW;
}

static bool is_as_expected(const struct walk_blocks *b)
{
        bool good = b->count == expected_count && !b->trouble[0] &&
                    b->malloc_at == DATA + 512;

        for (uint32_t i = 0; i < expected_count && good; i++)
                good = b->at[i].start == expected[i].start && b->at[i].end == expected[i].end;
        return good;
}

TEST(every_version_is_walked_and_all_live_blocks_are_found)
{
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
                struct walk_blocks b;

                build(&forms[i]);
                find(&b);
                if (!is_true(is_as_expected(&b)))
                        printf("# %s\n", forms[i].name);
                walk_blocks_free(&b);
        }
}

/* The blocks of the thread's arena come last. */
static void build_large(const struct form *f)
{
        uint32_t small, all;

        build(f);
        all = expected_count;
        small = all / 2;
        large_from = large_top = *word(DATA + 512 + f->front - 16);
        memmove(expected + sizeof expected / sizeof *expected - small, expected + small,
                small * sizeof *expected);
        expected_count = small;
        for (; large_top + 2 * LARGE_CHUNK < HEAP + LARGE_BYTES; large_top += LARGE_CHUNK) {
                expect(large_top, LARGE_CHUNK);
                if (word(large_top))
                        *word(large_top + 8) = LARGE_CHUNK | 1;
        }
        memmove(expected + expected_count,
                expected + sizeof expected / sizeof *expected - small,
                small * sizeof *expected);
        expected_count += small;
        *word(DATA + 512 + f->front - 16) = large_top;
}

TEST(of_large_chunks_the_heads_alone_are_read)
{
        struct walk_blocks b;

        build_large(&forms[4]);
        find(&b);
        is_equal(expected_count > 200, 1);
        is_true(is_as_expected(&b));
        is_true(bytes_read < LARGE_BYTES / 8);
        walk_blocks_free(&b);
        large_from = 0;
}

TEST(a_masked_word_that_is_like_an_address_leads_on_all_the_same)
{
        struct walk_blocks b;

        build_low(&forms[4]);
        find(&b);
        is_equal(b.count, expected_count);
        for (uint32_t i = 0; i < expected_count && i < b.count; i++)
                is_true(b.at[i].start == expected[i].start && b.at[i].end == expected[i].end);
        walk_blocks_free(&b);
        pieces[1].start = HEAP;
}

TEST(a_heap_that_was_overwritten_is_told_with_how_far_it_goes)
{
        struct walk_blocks b;

        build(&forms[4]);
        *word(expected[2].start - 8) = 0x4141414141414141;
        find(&b);
        has_text(b.trouble, "cannot be walked to its end");
        has_text(b.trouble, "0x4141414141414141");
        is_true(b.count >= 2);
        walk_blocks_free(&b);
        build(&forms[4]);
        *word(DATA + 512 + 112 - 16) = 0;
        find(&b);
        is_true(b.trouble[0]); /* no top */
        walk_blocks_free(&b);
}

TEST(a_ring_of_free_chunks_is_walked_once)
{
        struct walk_blocks b;
        uint64_t first;

        build(&forms[2]);
        first = *word(DATA + 512 + 112 - 96 + 8);
        *word(first + 16) = first;
        find(&b);
        is_true(b.count <= expected_count + 4);
        walk_blocks_free(&b);
}

static uint64_t seed = 88172645463325252ull;

static uint64_t any(uint64_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (seed >> 11) % below;
}

static bool is_sane(const struct walk_blocks *b)
{
        for (uint64_t i = 0; i < b->count; i++)
                if (b->at[i].end <= b->at[i].start || !word(b->at[i].start) ||
                    (i && b->at[i].start < b->at[i - 1].end))
                        return false;
        return true;
}

/* Words that are in use are overwritten, with values that are like those of others. */
TEST(whatever_is_overwritten_the_walk_ends_and_its_blocks_lie_in_memory)
{
        bool sane = true;

        for (uint32_t round = 0; round < 3000 && sane; round++) {
                struct walk_blocks b;

                build(&forms[any(sizeof forms / sizeof *forms)]);
                for (uint64_t changes = 1 + any(4); changes; changes--) {
                        struct piece *p = &pieces[any(sizeof pieces / sizeof *pieces)];
                        uint64_t i = any(600), values[] = { 0,
                                                            any(256),
                                                            UINT64_MAX,
                                                            p->words[any(600)],
                                                            p->start + any(BYTES),
                                                            p->words[i] ^ 1ull << any(64) };

                        p->words[i] = values[any(sizeof values / sizeof *values)];
                }
                find(&b);
                sane = is_sane(&b);
                walk_blocks_free(&b);
        }
        is_true(sane);
}

TAP_MAIN(every_version_is_walked_and_all_live_blocks_are_found,
         of_large_chunks_the_heads_alone_are_read,
         a_masked_word_that_is_like_an_address_leads_on_all_the_same,
         a_heap_that_was_overwritten_is_told_with_how_far_it_goes,
         a_ring_of_free_chunks_is_walked_once,
         whatever_is_overwritten_the_walk_ends_and_its_blocks_lie_in_memory)
