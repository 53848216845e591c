/* SPDX-License-Identifier: MIT */
/*
 * book_host.c -- what the book asks of whoever keeps its ledger (book/book.h), answered inside a
 * program.
 *
 * Room:   inside; any context.
 */
#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/sys.h"

#include "agent/guest.h"

bool book_commit(struct book *k, enum ledger_part part, uint64_t bytes)
{
        (void)k;
        return arena_commit(part, bytes);
}

void *book_memory(size_t size)
{
        return arena_dense(size);
}

void book_memory_free(void *p, size_t size)
{
        arena_private_free(p, size);
}

void book_empty(void *p, size_t size)
{
        sys_empty(p, size);
}

void book_full(struct book *k, enum ledger_stop reason)
{
        (void)k;
        thin_end(reason);
}

void book_check(struct book *k)
{
        (void)k;
        if (agent.ledger_limit)
                thin_check();
}

#define KEEP_LOOKS (1u << 22)
#define KEEP_YIELDS 1000u
#define KEEP_WAITS 200u /* of 10 ms */

static bool is_taken(const uint32_t *state)
{
        return __atomic_load_n(state, __ATOMIC_ACQUIRE) == LEDGER_RECLAIM_TAKEN;
}

/* The observer is just about to punch a hole, which takes some microseconds.  Where it has no end
 * the observer is gone. */
void book_await(uint32_t *state)
{
        static const uint64_t step[2] = { 0, 10000000 };

        for (uint32_t i = 0; is_taken(state) && agent.sandboxed && i < KEEP_LOOKS; i++)
                ;
        for (uint32_t i = 0; is_taken(state) && !agent.sandboxed && i < KEEP_YIELDS; i++)
                sys_call3(SYS_sched_yield, 0, 0, 0);
        for (uint32_t i = 0; is_taken(state) && !agent.sandboxed && i < KEEP_WAITS; i++)
                sys_call6(SYS_futex, (long)state, SYS_FUTEX_WAIT, LEDGER_RECLAIM_TAKEN, (long)step,
                          0, 0);
        if (is_taken(state))
                __atomic_store_n(state, LEDGER_RECLAIM_GONE, __ATOMIC_RELEASE);
}
