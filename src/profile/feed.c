/* SPDX-License-Identifier: MIT */
#include "profile/feed.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/heap.h"

/* The address space of a ledger; a smaller one where there is a limit on it (ulimit -v). */
static struct ledger_head *reserve(void)
{
        for (unsigned shift = 0; shift <= 12; shift += 3) {
                struct ledger_head *head = mmap(NULL, book_layout(NULL, shift), PROT_NONE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

                if (head == MAP_FAILED)
                        continue;
                if (mprotect(head, BOOK_STEP, PROT_READ | PROT_WRITE) == 0) {
                        book_layout(head, shift);
                        return head;
                }
                munmap(head, book_layout(NULL, shift));
        }
        return NULL;
}

struct feed *feed_new(void)
{
        struct feed *f = heap_zero(1, sizeof *f);
        struct ledger_head *head = reserve();

        if (head)
                book_begin(&f->book, head);
        if (!head || !book_commit(&f->book, LEDGER_SLOTS, sizeof(struct ledger_slot)))
                heap_none();
        head->slot_count = 1;
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
