/* SPDX-License-Identifier: MIT */
/*
 * test_resident.c -- the kernel's list of mappings with what is resident of them.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "collect/resident.h"
#include "tap.h"

static const char text[] =
        "00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/a b\n"
        "Size:                328 kB\n"
        "Rss:                  28 kB\n"
        "Anonymous:             4 kB\n"
        "7f0000000000-7f0000001000 rw-s 00000000 00:00 0 \n"
        "Rss:                   4 kB\n"
        "ffff0000-ffff1000 rw-p 00000000 00:00 0                          [heap]";

static void free_all(struct profile_mapping *m, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                free(m[i].name);
        free(m);
}

TEST(mappings_have_their_name_rights_and_numbers)
{
        struct profile_mapping *m;
        uint32_t count = resident_parse(text, &m);

        is_equal(count, 3);
        is_equal(m[0].start, 0x400000);
        is_equal(m[0].end, 0x452000);
        is_equal(m[0].flags, PROFILE_MAPPING_READ | PROFILE_MAPPING_EXECUTE);
        is_equal(m[0].rss_bytes, 28 << 10);
        is_equal(m[0].anonymous_bytes, 4 << 10);
        is_text(m[0].name, "/usr/bin/a b");
        is_equal(m[1].flags, PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE | PROFILE_MAPPING_SHARED);
        is_equal(m[1].rss_bytes, 4 << 10);
        is_text(m[1].name, "");
        is_text(m[2].name, "[heap]");
        free_all(m, count);
}

TEST(what_is_no_list_gives_none)
{
        struct profile_mapping *m;

        is_equal(resident_parse("", &m), 0);
        free(m);
        is_equal(resident_parse("Rss: 4 kB\nabc\n12-\n", &m), 0);
        free(m);
}

TEST(touched_memory_is_resident)
{
        struct resident r = { 0 };
        size_t bytes = 8 << 20;
        char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct profile p = { 0 };
        uint64_t rss = 0;

        for (size_t i = 0; i < bytes; i += 4096)
                at[i] = 1;
        resident_look(&r, (struct keepers_process){ .pid = (uint32_t)getpid() }, 17);
        /* nobody: the last look stands */
        resident_look(&r, (struct keepers_process){ .pid = 0x7fffffff }, 18);
        resident_store(&r, &p);
        is_equal(p.totals.mappings_ms, 17);
        for (uint32_t i = 0; i < p.mapping_count; i++)
                if (p.mappings[i].start <= (uint64_t)at && (uint64_t)at < p.mappings[i].end)
                        rss = p.mappings[i].anonymous_bytes;
        is_true(rss >= bytes);
        profile_free(&p);
        resident_free(&r);
        munmap(at, bytes);
}

/* Its list was read, and then it ended: what was said of it before is more than can be said now. */
TEST(a_process_that_ends_during_a_look_has_no_keepers_any_more)
{
        struct keepers k = { 0 };
        struct profile_mapping *m = NULL;
        struct str list = { 0 };
        char path[64];
        pid_t child = fork();
        uint32_t count;

        if (child == 0)
                for (;;)
                        pause();
        snprintf(path, sizeof path, "/proc/%d/smaps", (int)child);
        is_true(io_read_file(path, &list));
        count = resident_parse(str_get(&list), &m);
        is_true(count &&
                keepers_find(&k, (struct keepers_process){ .pid = (uint32_t)child }, m, count));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        is_true(!keepers_find(&k, (struct keepers_process){ .pid = (uint32_t)child }, m, count));
        free_all(m, count);
        str_free(&list);
}

#define HEAP_BYTES (64ull << 20)

/* A place for a heap of glibc, with 1 MiB that can be written to. */
static uint64_t *heap_place(void)
{
        char *at = mmap(NULL, 2 * HEAP_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        uint64_t *heap = (uint64_t *)(((uint64_t)at + HEAP_BYTES - 1) / HEAP_BYTES * HEAP_BYTES);

        mprotect(heap, 1 << 20, PROT_READ | PROT_WRITE);
        return heap;
}

static uint32_t keeper_at(const void *address)
{
        struct resident r = { 0 };
        uint32_t keeper = PROFILE_KEEPER_COUNT;

        resident_look(&r, (struct keepers_process){ .pid = (uint32_t)getpid() }, 1);
        for (uint32_t i = 0; i < r.count; i++)
                if (r.mappings[i].start <= (uint64_t)address &&
                    (uint64_t)address < r.mappings[i].end)
                        keeper = PROFILE_MAPPING_KEEPER(r.mappings[i].flags);
        resident_free(&r);
        return keeper;
}

TEST(heaps_of_glibc_are_known_by_what_it_writes)
{
        uint64_t *first = heap_place(), *second = heap_place();

        first[0] = (uint64_t)first + 0x30;
        first[2] = 135168;
        first[3] = 1 << 20;
        second[0] = first[0];
        second[1] = (uint64_t)first;
        second[2] = second[3] = 1 << 20;
        is_equal(keeper_at(first), PROFILE_KEEPER_ARENA);
        is_equal(keeper_at(second), PROFILE_KEEPER_ARENA);
        first[3] = (1 << 20) + 1;
        is_equal(keeper_at(first), PROFILE_KEEPER_NONE);
        second[1] = (uint64_t)second;
        is_equal(keeper_at(second), PROFILE_KEEPER_NONE);
        second[0] = second[1] = 0;
        is_equal(keeper_at(second), PROFILE_KEEPER_NONE);
}

TEST(blocks_with_a_mapping_of_their_own_are_known_by_their_heads)
{
        uint64_t *at = (uint64_t *)((char *)heap_place() + (512 << 10)),
                 *next = at + (128 << 10) / 8;

        mprotect((char *)at - (512 << 10), 512 << 10, PROT_NONE);
        mprotect((char *)at + (256 << 10), 256 << 10, PROT_NONE);
        at[1] = (128 << 10) | 2;
        next[1] = (128 << 10) | 2;
        is_equal(keeper_at(at), PROFILE_KEEPER_CHUNK);
        next[1] = (132 << 10) | 2; /* beyond the end; half of it is not most */
        is_equal(keeper_at(at), PROFILE_KEEPER_NONE);
        at[1] = (128 << 10) | 3;
        is_equal(keeper_at(at), PROFILE_KEEPER_NONE);
}

TEST(memory_that_is_watched_is_told)
{
        static const char list[] = "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \nRss: 4 "
                                   "kB\nVmFlags: rd wr mr um ac \n"
                                   "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \nRss: 4 "
                                   "kB\nVmFlags: rd wr mr ac \n";
        struct profile_mapping *m;

        is_equal(resident_parse(list, &m), 2);
        is_true(m[0].watched && !m[1].watched);
        free_all(m, 2);
}

/* As many as a program may have: with a search for the end of the text in each line this took
 * minutes. */
TEST(the_list_of_65530_mappings_is_read_at_once)
{
        enum { MANY = 65530 };
        struct profile_mapping *m;
        struct str list = { 0 };
        uint64_t begin_ns;

        for (uint32_t i = 0; i < MANY; i++)
                str_format(&list,
                           "7f00%04x0000-7f00%04x2000 rw-p 00000000 00:00 0 \nSize: 8 kB\nRss: %u "
                           "kB\nReferenced: 8 kB\n"
                           "Anonymous: 4 kB\nAnonHugePages: 0 kB\n",
                           i, i, i % 9);
        begin_ns = clock_now_ns();
        is_equal(resident_parse(str_get(&list), &m), MANY);
        is_true(clock_now_ns() - begin_ns < 10000000000ull);
        is_equal(m[MANY - 1].rss_bytes, (MANY - 1) % 9 * 1024);
        is_equal(m[MANY - 1].anonymous_bytes, 4096);
        free_all(m, MANY);
        str_free(&list);
}

TAP_MAIN(mappings_have_their_name_rights_and_numbers, what_is_no_list_gives_none,
         touched_memory_is_resident, a_process_that_ends_during_a_look_has_no_keepers_any_more,
         heaps_of_glibc_are_known_by_what_it_writes,
         blocks_with_a_mapping_of_their_own_are_known_by_their_heads,
         memory_that_is_watched_is_told, the_list_of_65530_mappings_is_read_at_once)
