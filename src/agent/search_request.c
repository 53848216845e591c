/* SPDX-License-Identifier: MIT */
/*
 * search_request.c -- asking the observer for a search for leaks, and waiting while it reads our
 * memory.
 *
 * Room:   inside; any context.
 * Keeps:  one request at a time.  A thread that was thrown out of its wait (longjmp from a
 *         signal handler) leaves its number behind; the next one takes over as soon as
 *         nothing is being answered.
 */
#include "agent/search_request.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/mark.h"
#include "agent/patience.h"
#include "agent/ring.h"
#include "agent/sys.h"
#include "book/shadow.h"

#include "agent/guest.h"

#define STEP_NS 10000000l
#define LOST_STEPS 20u /* so long nothing is being answered: whoever holds the turn is not coming
                        * back */
#define DEAF_STEPS 300u /* so many of them without a tick: nobody observes (mark.c) */
#define IDLE_STEPS 1000u /* so many without any search */
#define END_S 1800u
#define FUTEX_WAKE 1

bool search_request_wanted(enum ledger_scan reason)
{
        if (*agent.gate != GATE_ON || agent.sandboxed || agent.sample || agent.head->thin_count)
                return false;
        if (reason != LEDGER_SCAN_CHECK && !(agent.flags & WIRE_F_LEAK_SCAN))
                return false;
        return sys_pid() == agent.pid; /* not in a child of vfork */
}

/* Wait until no other thread waits for a search.  False: nobody observes any more, or nobody
 * searches. */
static bool take_turn(struct ledger_head *h, uint32_t tid)
{
        struct patience p = { .work = &h->working, .quiet_steps = DEAF_STEPS,
                              .idle_steps = IDLE_STEPS, .end_s = END_S };
        long step[2] = { 0, STEP_NS }, result;
        uint32_t holder, steps = 0;

        patience_begin(&p);
        do {
                holder = 0;

                if (__atomic_compare_exchange_n(&h->scan_holder, &holder, tid, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                        return true;
                if ((holder == tid ||
                     (steps > LOST_STEPS &&
                      __atomic_load_n(&h->scan_asked, __ATOMIC_ACQUIRE) == h->scan_done)) &&
                    __atomic_compare_exchange_n(&h->scan_holder, &holder, tid, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                        return true;
                result = sys_call6(SYS_futex, (long)&h->scan_holder, SYS_FUTEX_WAIT, (long)holder,
                                   (long)step, 0, 0);
                steps++;
        } while (patience_lasts(&p, result));
        return false;
}

bool search_request_is_last(void)
{
        const struct ledger_head *h = agent.head;

        return h->scan_reason != LEDGER_SCAN_CHECK &&
               __atomic_load_n(&h->scan_asked, __ATOMIC_ACQUIRE) != h->scan_done;
}

size_t search_request_wait(enum ledger_scan reason, uint64_t stack, const void *context)
{
        struct ledger_head *h = agent.head;
        bool leaving = h->scan_reason == LEDGER_SCAN_EXIT &&
                       __atomic_load_n(&h->scan_asked, __ATOMIC_ACQUIRE) != h->scan_done;
        uint32_t tid = sys_tid(), asked;
        size_t definite = 0;

        if (!take_turn(h, tid))
                return 0;
        if (leaving && reason == LEDGER_SCAN_EXIT) {
                /* Another thread has ended us both meanwhile. */
                __atomic_store_n(&h->scan_holder, 0, __ATOMIC_RELEASE);
                return 0;
        }
        h->scan_reason = reason;
        h->scan_sp = stack;
        h->scan_context = (uintptr_t)context;
        do /* 0 would be no request; a damaged head may lead there */
                asked = __atomic_add_fetch(&h->scan_asked, 1, __ATOMIC_ACQ_REL);
        while (!asked);
        if (mark_wait_word(&h->scan_done, asked - 1))
                definite = __atomic_load_n(&h->scan_definite, __ATOMIC_RELAXED);
        h->scan_sp = 0;
        __atomic_store_n(&h->scan_holder, 0, __ATOMIC_RELEASE);
        sys_call3(SYS_futex, (long)&h->scan_holder, FUTEX_WAKE, 1);
        return definite;
}

/* The entry of the live block at ADDRESS; a pool's comes before that of the arena that
 * begins at the same place. */
static struct ledger_block *find_live(uint64_t address)
{
        uint32_t sub = shadow_sub(address);
        struct ledger_block *b = shadow_pool_entry(&agent_book, address);

        if (b && LEDGER_BLOCK_LIVE(*b))
                return b;
        b = address & 7 ? NULL
                        : shadow_entry(&agent_book, address, agent_book.spread ? 1 + sub : 0);
        return b && LEDGER_BLOCK_LIVE(*b) && LEDGER_BLOCK_SUB(*b) == sub ? b : NULL;
}

void search_request_ignore(uint64_t address)
{
        struct ledger_block *b = find_live(address);

        if (!b)
                return;
        __atomic_or_fetch(&b->b, SHADOW_IGNORED, __ATOMIC_RELAXED);
        if (agent.stream) /* whoever searches has a ledger of its own */
                ring_put(thread_self, LEDGER_EVENT_IGNORE, 0, 0, address, 0);
}

/* SIZE 0: what was told about START does not hold any more. */
static bool change_root(struct ledger_range *roots, uint32_t count, uint64_t start, size_t size)
{
        for (uint32_t i = 0; i < count; i++)
                if (roots[i].start == start) {
                        __atomic_store_n(&roots[i].end, start + size, __ATOMIC_RELEASE);
                        return true;
                }
        return size == 0;
}

void search_request_root(uint64_t start, size_t size)
{
        struct ledger_range *roots = arena_at(LEDGER_ROOTS);
        uint32_t index = __atomic_load_n(&agent.head->root_count, __ATOMIC_ACQUIRE);

        if (change_root(roots, index < LEDGER_ROOTS_MAX ? index : LEDGER_ROOTS_MAX, start, size))
                return;
        index = __atomic_fetch_add(&agent.head->root_count, 1, __ATOMIC_ACQ_REL);
        if (index >= LEDGER_ROOTS_MAX ||
            !arena_commit(LEDGER_ROOTS, (index + 1ull) * sizeof *roots)) {
                __atomic_sub_fetch(&agent.head->root_count, 1, __ATOMIC_ACQ_REL);
                __atomic_add_fetch(&agent.head->roots_not_kept, 1, __ATOMIC_RELAXED);
                return;
        }
        roots[index].start = start;
        __atomic_store_n(&roots[index].end, start + size, __ATOMIC_RELEASE);
}
