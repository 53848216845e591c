/* SPDX-License-Identifier: MIT */
#include "profile/feed.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/heap.h"

#define FEED_SHIFT 6u        /* counters of one writer at all sites: 1 GiB */
#define FEED_SHIFT_LEAST 12u /* ... at 262,144 of them */

/* The address space of a ledger: where that is limited (ulimit -v), a small part of it. */
static struct ledger_head *reserve(void)
{
        struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
        struct ledger_head *head;
        unsigned shift = FEED_SHIFT;

        getrlimit(RLIMIT_AS, &limit);
        while (shift < FEED_SHIFT_LEAST && book_layout(NULL, shift) > limit.rlim_cur / 16)
                shift++;
        head = mmap(NULL, book_layout(NULL, shift), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (head == MAP_FAILED || mprotect(head, BOOK_STEP, PROT_READ | PROT_WRITE) != 0)
                heap_none();
        book_layout(head, shift);
        return head;
}

struct feed *feed_new(void)
{
        struct feed *f = heap_zero(1, sizeof *f);

        book_begin(&f->book, reserve());
        book_commit(&f->book, LEDGER_SLOTS, sizeof(struct ledger_slot));
        f->book.head->slot_count = 1;
        f->writer.slot = book_slot(&f->book, 0);
        f->writer.span = UINT64_MAX;
        return f;
}

void feed_free(struct feed *f)
{
        if (f)
                munmap(f->book.head, f->book.head->file_size);
        free(f);
}

const struct ledger_counter *feed_site(const struct feed *f, uint32_t site)
{
        static const struct ledger_counter none;
        uint32_t chunk = site < LEDGER_SITES_MAX
                                 ? f->writer.slot->chunk[site / LEDGER_COUNTERS_PER_CHUNK]
                                 : 0;

        if (!chunk)
                return &none;
        return book_counter((struct book *)&f->book, (struct book_writer *)&f->writer, site);
}
