/* SPDX-License-Identifier: MIT */
/*
 * book_host.c -- what the book needs from the owner of its ledger (book/book.h), outside of the
 * recorded program.
 *
 * Keeps:  there is memory or the command ends, as with base/heap.h.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/heap.h"
#include "book/book.h"

bool book_commit(struct book *k, enum ledger_part part, uint64_t bytes)
{
        struct ledger_extent *extent = &k->head->part[part];
        uint64_t have = extent->committed, want = (bytes + BOOK_STEP - 1) & ~(BOOK_STEP - 1);

        if (bytes <= have)
                return true;
        if (want > extent->size)
                return false;
        if (mprotect((uint8_t *)book_part(k, part) + have, want - have, PROT_READ | PROT_WRITE) !=
            0)
                heap_none();
        extent->committed = want;
        return true;
}

void *book_memory(size_t size)
{
        return heap_zero(1, size);
}

void book_memory_free(void *p, size_t size)
{
        (void)size;
        free(p);
}

void book_empty(void *p, size_t size)
{
        (void)p;
        (void)size;
}

void book_full(struct book *k, enum ledger_stop reason)
{
        if (!k->head->pid)
                heap_none();
        if (!k->head->stop_reason) /* a process is being recorded: it goes on */
                k->head->stop_reason = reason;
}

void book_check(struct book *k)
{
        (void)k;
}

void book_await(uint32_t *state)
{
        while (__atomic_load_n(state, __ATOMIC_ACQUIRE) == LEDGER_RECLAIM_TAKEN)
                sched_yield();
}
