/* SPDX-License-Identifier: MIT */
/*
 * test_book.c -- a ledger that the book writes outside of any program, read as one of a program:
 * random work against sums of our own, marks, deaths, and a release that does not fit.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "book/count.h"
#include "book/era.h"
#include "book/error.h"
#include "book/shadow.h"
#include "book/tree.h"
#include "collect/collect.h"
#include "profile/packed.h"
#include "sample.h"
#include "tap.h"

#define SHIFT 12
#define SITES 50u
#define BLOCKS 3000u
#define EVENTS 100000u

/* one for each test: their private tables are for the life of a process */
static struct book books[2], *book;
static struct book_writer writer;
static uint32_t sites[SITES];
static int fd;

static void begin(void)
{
        struct ledger_head *head;

        book = book == books ? books + 1 : books;
        fd = memfd_create("ledger", MFD_ALLOW_SEALING);
        is_true(fd >= 0 && ftruncate(fd, (off_t)book_layout(NULL, SHIFT)) == 0 &&
                fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
        head = mmap(NULL, book_layout(NULL, SHIFT), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        book_layout(head, SHIFT);
        book_begin(book, head);
        is_true(tree_start(book) && shadow_start(book) &&
                book_commit(book, LEDGER_SLOTS, sizeof(struct ledger_slot)));
        is_true(book_commit(book, LEDGER_THREADS, 2 * sizeof(struct ledger_thread)));
        head->slot_count = 1;
        head->thread_count = 2;
        writer = (struct book_writer){ .slot = book_slot(book, 0),
                                       .span = UINT64_MAX,
                                       .record = 1 };
        for (uint32_t i = 0; i < SITES; i++) {
                uint32_t outer = tree_find(book, LEDGER_NODE_ROOT,
                                           (uint64_t)LEDGER_NODE_NO_MODULE << 48 | 0x1000);

                outer = tree_find(book, outer,
                                  (uint64_t)LEDGER_NODE_NO_MODULE << 48 | (0x2000 + i));
                sites[i] = tree_site(book, outer, LEDGER_KIND_MALLOC);
        }
}

/* As whoever keeps the ledger sees it in the end. */
static void end(struct profile *p)
{
        struct view v;
        struct collect_input in = { .view = &v, .ended = true };
        struct err e;

        is_true(view_open(&v, fd, &e));
        collect(&in, p);
        packed_undo(p);
        view_close(&v);
        munmap(book->head, book_layout(NULL, SHIFT));
}

static void get(uint64_t address, uint64_t size, uint32_t site)
{
        struct ledger_block *b = shadow_new(book, &writer, address);
        struct ledger_block what = shadow_block(address, size, LEDGER_KIND_MALLOC,
                                                book_now_ms(book));

        what.a |= site;
        shadow_write(book, &writer, b, what);
        count_add(book, &writer, book_counter(book, &writer, site),
                  (struct count_blocks){ .address = address, .size = size, .times = 1 });
}

static struct ledger_block let_go(uint64_t address)
{
        struct ledger_block *b = shadow_find(book, &writer, address), gone = *b;

        shadow_bury(b, book_now_ms(book));
        era_death(book, &gone, 1);
        count_remove(book, &writer, book_counter(book, &writer, LEDGER_BLOCK_SITE(gone)),
                     (struct count_blocks){ address, LEDGER_BLOCK_SIZE(gone), 1, 0 });
        return gone;
}

TEST(what_was_booked_outside_is_collected_as_from_a_program)
{
        static uint64_t size[BLOCKS];
        uint64_t live = 0, blocks = 0, peak = 0, random = 11, sum = 0;
        struct profile p;

        begin();
        for (uint32_t i = 0; i < EVENTS; i++) {
                uint32_t k = (uint32_t)(sample_random(&random) % BLOCKS);
                uint64_t address = 0x7f0000000000 + 4096ull * k + 32 * (k % 7);

                book->head->tick_ms = i / 100;
                if (size[k]) {
                        struct ledger_block gone = let_go(address);

                        is_equal(LEDGER_BLOCK_SIZE(gone), size[k]);
                        live -= size[k];
                        size[k] = 0;
                        blocks--;
                        continue;
                }
                size[k] = 1 + sample_random(&random) % 3000;
                get(address, size[k], sites[k % SITES]);
                live += size[k];
                blocks++;
                peak = live > peak ? live : peak;
        }
        end(&p);
        is_equal(p.totals.live_bytes, live);
        is_equal(p.totals.live_blocks, blocks);
        is_equal(p.totals.peak_bytes, peak);
        is_equal(p.totals.peak_error_bytes, 0);
        is_equal(p.site_count, SITES + 1);
        is_equal(p.block_count, blocks);
        for (uint64_t i = 0; i < p.block_count; i++)
                sum += p.blocks[i].size;
        is_equal(sum, live);
        profile_free(&p);
}

TEST(marks_deaths_and_wrong_releases_are_there_too)
{
        struct ledger_mark m = { .type = LEDGER_MARK_TAG };
        struct book_release by_delete = { .family = LEDGER_FAMILY_NEW };
        struct ledger_error f;
        struct ledger_block b;
        struct profile p;

        begin();
        get(0x10000, 100, sites[1]);
        m.label = book_string(book, "first");
        is_equal(era_mark(book, &m, 5), 0);
        get(0x20000, 70, sites[2]);
        let_go(0x10000);
        b = let_go(0x20000);
        f = error_mismatch(book, &b, &by_delete);
        is_equal(f.type, LEDGER_ERROR_MISMATCHED);
        f.address = 0x20000;
        error_note(book, &f);
        error_note(book, &f);
        end(&p);
        is_equal(p.death_count, 1);
        is_equal(p.deaths[0].blocks, 1);
        is_equal(p.deaths[0].bytes, 70);
        is_equal(p.error_count, 1);
        is_equal(p.errors[0].count, 2);
        is_equal(p.errors[0].wrong, LEDGER_WRONG_FAMILY);
        is_equal(p.totals.live_blocks, 0);
        profile_free(&p);
}

TAP_MAIN(what_was_booked_outside_is_collected_as_from_a_program,
         marks_deaths_and_wrong_releases_are_there_too)
