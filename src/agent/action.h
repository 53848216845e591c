/* SPDX-License-Identifier: MIT */
/*
 * action.h -- what a signal does, as the kernel keeps it.
 *
 * Room:   inside; any context.
 */
#ifndef SEEP_AGENT_ACTION_H
#define SEEP_AGENT_ACTION_H

#include "agent/sys.h"

#define ACTION_DEFAULT 0ul
#define ACTION_IGNORED 1ul
#define ACTION_SIGINFO 4ul
#define ACTION_RESTORER 0x04000000ul
#define ACTION_ON_STACK 0x08000000ul
#define ACTION_RESTART 0x10000000ul
#define ACTION_NO_DEFER 0x40000000ul
#define ACTION_ONCE 0x80000000ul
#define ACTION_BIT(number) (1ull << ((number) - 1))

/* The kernel's, not the C library's. */
struct action {
        arch_word handler, flags;
        void (*restorer)(void);
        /* Only ever none or all. */
        uint64_t mask __attribute__((packed, aligned(sizeof(arch_word))));
};

/* What handlers of ours return to (signal.c). */
extern void signal_return(void) __attribute__((visibility("hidden")));

/* As it is where handlers return to the vdso. */
struct action_short {
        arch_word handler, flags;
        uint64_t mask;
};

static inline long action_set(uint32_t number, const struct action *a, struct action *old)
{
        struct action_short new, before;
        long result;

        if (ARCH_ACTION_RESTORER)
                return sys_call6(SYS_rt_sigaction, number, (long)a, (long)old, sizeof a->mask, 0,
                                 0);
        if (a)
                new = (struct action_short){ a->handler, a->flags & ~ACTION_RESTORER, a->mask };
        result = sys_call6(SYS_rt_sigaction, number, a ? (long)&new : 0, old ? (long)&before : 0,
                           sizeof new.mask, 0, 0);
        if (old && result == 0)
                *old = (struct action){ before.handler, before.flags, 0, before.mask };
        return result;
}

static inline struct action action_of(uint32_t number)
{
        struct action a = { ACTION_DEFAULT, 0, 0, 0 };

        action_set(number, 0, &a);
        return a;
}

#endif
