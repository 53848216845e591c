/* SPDX-License-Identifier: MIT */
/*
 * hook.h -- what every intercepted function does around the real one.
 *
 * Room:   inside.  Included by the files that define hooks, which are built with a frame pointer (ARCH_FRAME).
 * Keeps:  one event per outermost call.  While the real function runs, t->inside holds the stack pointer of the hook's caller; a
 *         hook called meanwhile walks its own stack until there.  A frame of ours on the way: the allocator's own call, no event.
 *         A signal frame: a handler's call, an event of its own.  Neither: the earlier call was left by an exception or longjmp.
 */
#ifndef SEEP_AGENT_HOOK_H
#define SEEP_AGENT_HOOK_H

#include "agent/agent.h"
#include "agent/real.h"
#include "agent/stack.h"
#include "agent/thread.h"

#define HOOK(symbol) __asm__(symbol) __attribute__((visibility("default")))

struct hook {
        struct arch_state caller;
        struct thread *thread; /* NULL: no event, just call the real function */
        struct thread *owner;  /* when THREAD is borrowed */
        uint64_t inside;       /* of the call around this one */
};

/* The rare ways in: first event of a thread, inside another hook, inside the agent (signal handler). */
struct thread *hook_enter_slow(struct hook *h);
void hook_leave_slow(struct hook *h);

static inline __attribute__((always_inline)) void hook_enter(struct hook *h)
{
        struct thread *t;

        h->thread = NULL;
        h->owner = NULL;
        h->inside = 0;
        if (unlikely(!agent_on()))
                return;
        t = thread_self;
        if (unlikely(!t || t->active || t->inside))
                t = hook_enter_slow(h);
        h->thread = t;
        if (likely(t))
                t->inside = h->caller.sp;
}

/* The real function has returned. */
static inline void hook_returned(struct hook *h)
{
        h->thread->inside = h->inside;
}

static inline void hook_leave(struct hook *h)
{
        if (unlikely(h->owner))
                hook_leave_slow(h);
}

#endif
