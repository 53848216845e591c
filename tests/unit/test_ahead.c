/* SPDX-License-Identifier: MIT */
/*
 * test_ahead.c -- memory of a ledger in huge pages, made before the program comes to it.  What the
 * kernel made is asked of the kernel: pages that are there (mincore), and how a mapping of the
 * program's is backed (smaps).
 */
#include "collect/ahead.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "book/book.h"
#include "tap.h"

#define CHUNK LEDGER_SHADOW_CHUNK_BYTES
#define PAGES (CHUNK / 4096u)

static struct view view;
static struct book book;
static struct ahead ahead;

/* A ledger as the agent makes it, and as much of its tables writable as a test needs. */
static void begin(void)
{
        uint64_t size = book_layout(NULL, 0);
        int fd = memfd_create("ledger", MFD_ALLOW_SEALING);
        struct ledger_head *head;
        uint8_t *at;
        struct err e;

        is_true(fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
                fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
        at = mmap(NULL, size + BOOK_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
        at += (BOOK_HUGE - (uintptr_t)at % BOOK_HUGE) % BOOK_HUGE;
        head = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
                    0);
        is_true(head != MAP_FAILED);
        book_layout(head, 0);
        book_begin(&book, head);
        head->page_bytes = 4096;
        ahead = (struct ahead){ 0 };
        is_true(view_open(&view, fd, &e));
}

static void end(void)
{
        munmap(book.head, book.head->file_size);
        view_close(&view);
}

/* The kernel can do what is tested here. */
static bool kernel_can(void)
{
        uint8_t *at = mmap(NULL, 2 * BOOK_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p;
        int fd = memfd_create("probe", 0);
        bool can;

        p = at + (BOOK_HUGE - (uintptr_t)at % BOOK_HUGE) % BOOK_HUGE;
        can = fd >= 0 && sysconf(_SC_PAGESIZE) == 4096 && ftruncate(fd, BOOK_HUGE) == 0 &&
              mmap(p, BOOK_HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == p;
        if (can)
                *(volatile uint8_t *)p = 1;
        can = can && madvise(p, BOOK_HUGE, 25 /* MADV_COLLAPSE */) == 0;
        munmap(at, 2 * BOOK_HUGE);
        close(fd);
        if (!can)
                tap_skip("this kernel makes no huge pages of a memfd");
        return can;
}

/* The program uses COUNT chunks of the shadow, and one page in EVERY of them. */
static void use_chunks(uint32_t count, uint32_t every)
{
        for (uint32_t i = 0; i < count * PAGES; i += every)
                ((struct ledger_block *)(void *)(book.shadow + i * 4096ull))->b = 1;
        book.head->shadow_chunk_count = count;
        book.head->part[LEDGER_SHADOW].committed = count * CHUNK;
}

/* Pages that are there of BYTES at AT. */
static uint32_t present(const uint8_t *at, size_t bytes)
{
        static uint8_t pages[64 * PAGES];
        uint32_t sum = 0;

        is_true(mincore((void *)(uintptr_t)at, bytes, pages) == 0);
        for (size_t i = 0; i < bytes / 4096; i++)
                sum += pages[i] & 1;
        return sum;
}

static uint32_t chunks_ahead(void)
{
        return present(book.shadow + book.head->shadow_chunk_count * CHUNK, 16 * CHUNK) / PAGES;
}

static void grow(uint32_t from, uint32_t to, uint32_t every)
{
        for (uint32_t i = from; i <= to; i++) {
                use_chunks(i, every);
                ahead_tick(&ahead, &view, (uint32_t)getpid());
        }
}

TEST(a_shadow_that_fills_up_finds_its_next_chunk_there)
{
        if (!kernel_can())
                return;
        begin();
        grow(1, 3, 1);
        is_equal(chunks_ahead(), 0); /* a small heap costs nothing more */
        grow(4, 4, 1);
        is_equal(chunks_ahead(), 1);
        is_equal(view.spare_bytes, CHUNK);
        for (uint32_t i = 5; i < 12; i++) {
                grow(i, i, 1);
                is_equal(chunks_ahead(), 1);
        }
        is_equal(ahead_shadow_end(&ahead), 12 * CHUNK);
        end();
}

/* The number behind NAME in the lines of smaps about the mapping that has ADDRESS, in KiB. */
static unsigned long backed(const void *address, const char *name)
{
        char line[512];
        unsigned long value = 0, start, stop;
        bool here = false;
        FILE *f = fopen("/proc/self/smaps", "r");

        while (fgets(line, sizeof line, f)) {
                if (sscanf(line, "%lx-%lx ", &start, &stop) == 2)
                        here = start <= (uintptr_t)address && (uintptr_t)address < stop;
                else if (here && strncmp(line, name, strlen(name)) == 0)
                        sscanf(line + strlen(name), " %lu", &value);
        }
        fclose(f);
        return value;
}

TEST(the_program_has_it_as_one_page)
{
        unsigned long before;

        if (!kernel_can())
                return;
        begin();
        grow(1, 4, 1);
        before = backed(book.shadow, "ShmemPmdMapped:");
        book.shadow[4 * CHUNK] = 1;
        is_equal(backed(book.shadow, "ShmemPmdMapped:") - before, CHUNK / 1024);
        end();
}

TEST(faster_growth_goes_further_ahead_up_to_one_in_eight)
{
        if (!kernel_can())
                return;
        begin();
        grow(16, 16, 1);
        is_equal(chunks_ahead(), 2);
        grow(32, 32, 1);
        is_equal(chunks_ahead(), 4);
        end();
}

TEST(a_shadow_with_few_pages_in_use_is_left_alone)
{
        begin();
        grow(1, 8, 2);
        is_equal(chunks_ahead(), 0);
        is_equal(present(book.shadow, 8 * CHUNK), 8 * PAGES / 2);
        end();
}

TEST(a_ledger_with_a_limit_or_of_a_sample_is_left_alone)
{
        begin();
        book.head->ledger_limit = 1ull << 30;
        grow(1, 8, 1);
        is_equal(chunks_ahead(), 0);
        end();
        begin();
        book.head->sample_bytes = 512 << 10;
        grow(1, 8, 1);
        is_equal(chunks_ahead(), 0);
        end();
}

TEST(tables_get_one_part_when_the_last_is_nearly_full)
{
        uint32_t pid = (uint32_t)getpid();

        if (!kernel_can())
                return;
        begin();
        book.head->counter_chunk_count = 10;
        book.head->node_count = 1000;
        ahead_tick(&ahead, &view, pid);
        is_equal(present(book.counters, 8 * BOOK_HUGE) +
                         present((uint8_t *)book.nodes, 8 * BOOK_HUGE),
                 0);
        book.head->counter_chunk_count = 30;
        ahead_tick(&ahead, &view, pid);
        ahead_tick(&ahead, &view, pid);
        is_equal(present(book.counters + BOOK_HUGE, 8 * BOOK_HUGE), PAGES);
        book.head->node_count = (2 * BOOK_HUGE - 4096) / sizeof(struct ledger_node);
        ahead_tick(&ahead, &view, pid);
        is_equal(present((uint8_t *)book.nodes + 2 * BOOK_HUGE, 8 * BOOK_HUGE), PAGES);
        end();
}

/* What the head says is the program's word. */
TEST(a_head_that_lies_gets_nothing)
{
        begin();
        book.head->shadow_chunk_count = UINT32_MAX;
        book.head->counter_chunk_count = UINT32_MAX;
        book.head->node_count = UINT32_MAX;
        ahead_tick(&ahead, &view, (uint32_t)getpid());
        book.head->shadow_chunk_count = 1000;
        ahead_tick(&ahead, &view, (uint32_t)getpid());
        is_equal(present(book.shadow, 64 * CHUNK), 0);
        end();
}

TAP_MAIN(a_shadow_that_fills_up_finds_its_next_chunk_there, the_program_has_it_as_one_page,
         faster_growth_goes_further_ahead_up_to_one_in_eight,
         a_shadow_with_few_pages_in_use_is_left_alone,
         a_ledger_with_a_limit_or_of_a_sample_is_left_alone,
         tables_get_one_part_when_the_last_is_nearly_full, a_head_that_lies_gets_nothing)
