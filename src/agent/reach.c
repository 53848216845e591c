/* SPDX-License-Identifier: MIT */
/*
 * reach.c -- how much of a thread's stack is known to be readable.
 *
 * Keeps:  pages next to what is known are asked for one by one, each once: the kernel reads a word
 *         of it for us.  Only a frame of more than REACH_NEAR looks at the map of the process.
 *         Where a filter of the program's lets us not even ask, tables are believed.
 */
#include "agent/reach.h"

#include "agent/object.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define REACH_NEAR (64ull << 10)
#define REACH_FRAME (64ull << 20) /* no frame is larger */

static uint64_t page_of(uint64_t at)
{
        return at & ~(SYS_PAGE - 1);
}

static bool holds(uint64_t low, uint64_t high, uint64_t at)
{
        return at >= low && at <= high;
}

/* The end of the stack that holds SP, as far as it can be told: in musl and glibc alike the
 * thread's own data lies above its stack. */
static uint64_t top_of(uint64_t sp)
{
        uint64_t self = arch_thread_pointer();

        return sp < self ? page_of(self) + SYS_PAGE : UINT64_MAX;
}

/* Whether [LOW, HIGH] ends with what the thread was started on: that stays as long as the thread
 * does. */
static bool is_own(uint64_t low, uint64_t high)
{
        uint64_t self = arch_thread_pointer();

        return holds(low, high, self) || holds(low, high, agent.stack_start);
}

static bool readable(uint64_t page)
{
        return page >= SYS_PAGE && page <= ARCH_CODE_MAX && sys_readable(page);
}

/* All pages of [LOW, HIGH), the last one first. */
static bool all_readable(uint64_t low, uint64_t high)
{
        while (high > low)
                if (!readable(high -= SYS_PAGE))
                        return false;
        return true;
}

void reach_begin(struct thread *t, uint64_t sp)
{
        uint64_t low = page_of(sp - REACH_BELOW), high = page_of(sp) + SYS_PAGE;

        if (t->reach_high && sp < t->reach_low && t->reach_low - sp < REACH_NEAR &&
            all_readable(low, page_of(t->reach_low - REACH_BELOW))) {
                t->reach_low = low + REACH_BELOW;
                return;
        }
        if (t->reach_high && is_own(t->reach_low, t->reach_high)) {
                t->own_low = t->reach_low;
                t->own_high = t->reach_high;
        }
        t->reach_low = t->own_low;
        t->reach_high = t->own_high;
        if (t->own_high && holds(t->own_low, t->own_high, sp))
                return;
        t->reach_low = low + REACH_BELOW;
        t->reach_high = high;
        if (!all_readable(low, high))
                t->reach_low = t->reach_high = 0;
}

/* Up to END by pages. */
static bool grow(struct thread *t, uint64_t sp, uint64_t end)
{
        if (!t->reach_high || !holds(t->reach_low, t->reach_high, sp))
                reach_begin(t, sp);
        if (!t->reach_high) { /* SP is in a hole; END may be behind it */
                uint64_t low = page_of(end - REACH_BELOW), high = page_of(end - 1) + SYS_PAGE;

                if (!all_readable(low, high))
                        return false;
                t->reach_low = low + REACH_BELOW;
                t->reach_high = high;
        }
        while (t->reach_high < end) {
                if (!readable(t->reach_high))
                        return false;
                t->reach_high += SYS_PAGE;
                if (holds(t->own_low - REACH_BELOW, t->own_high, t->reach_high))
                        t->reach_high = t->own_high;
        }
        return true;
}

/* By the map.  What is not the thread's own stack may be unmapped behind its end at any
 * time: no word of it is kept. */
static bool mapped(struct thread *t, uint64_t sp, uint64_t end)
{
        bool known = readable(page_of(sp)) && (holds(t->map_low, t->map_high, sp) ||
                                               object_bounds(sp, &t->map_low, &t->map_high));

        if (!known) { /* it overflowed, or the map cannot be read now */
                t->unsure = true;
                return all_readable(page_of(end - REACH_BELOW), page_of(end - 1) + SYS_PAGE);
        }
        if (end > t->map_high)
                return false;
        if (!is_own(t->map_low, t->map_high)) {
                t->unsure = true;
                return true;
        }
        t->reach_low = t->map_low + REACH_BELOW;
        t->reach_high = t->map_high < top_of(sp) ? t->map_high : top_of(sp);
        return true;
}

bool reach_frame(struct thread *t, uint64_t sp, uint64_t end)
{
        if (end <= sp || end - sp > REACH_FRAME || end > top_of(sp) || end > ARCH_CODE_MAX)
                return false;
        return end - sp <= REACH_NEAR ? grow(t, sp, end) : mapped(t, sp, end);
}

bool reach_word(struct thread *t, uint64_t at, uint64_t *value)
{
        arch_word word;

        if (!t->reach_high || at < t->reach_low - REACH_BELOW || at > t->reach_high - sizeof word) {
                if (at < SYS_PAGE || at > ARCH_CODE_MAX - sizeof word ||
                    !all_readable(page_of(at), page_of(at + sizeof word - 1) + SYS_PAGE))
                        return false;
        }
        __builtin_memcpy(&word, (const void *)(uintptr_t)at, sizeof word);
        *value = word;
        return true;
}
