/* SPDX-License-Identifier: MIT */
/*
 * hook.h -- what every intercepted function does around the real one.
 *
 * Room:   inside.  Included by the files that define hooks, which are built with a
 *         frame pointer (ARCH_FRAME).
 * Keeps:  one event per outermost call.  While the real function runs (between hook_call and
 *         hook_work or hook_leave), t->inside holds the stack pointer of the hook's caller;
 *         a hook called meanwhile walks its own stack until there.  A frame of ours on the
 *         way: the allocator's own call, no event.  A signal frame: a handler's call, an
 *         event of its own, recorded in a borrowed state.  Neither: the earlier call was
 *         left by an exception or longjmp.
 */
#ifndef SEEP_AGENT_HOOK_H
#define SEEP_AGENT_HOOK_H

#include "agent/agent.h"
#include "agent/real.h"
#include "agent/stack.h"
#include "agent/thread.h"

/* A program may have the same name, but what we call ourselves is ours: -Bsymbolic-functions, see
 * tests/lint/imports.py.  Not by visibility "protected": glibc would print a warning where a
 * program takes such a function's address. */
#define HOOK(symbol) __asm__(symbol) __attribute__((visibility("default")))

/* Of a hook for a function that may be the program's own: its compiler knows which registers that
 * one changes, and may keep values in all others. */
#ifdef SEEP_INJECTED
#define HOOK_KEEPS ARCH_KEEPS
#else
#define HOOK_KEEPS
#endif

/* The rare ways in: first event of a thread, inside another hook, inside the agent (signal
 * handler). */
struct thread *hook_enter_slow(const struct arch_state *caller);
void hook_leave_slow(struct thread *t);

/* The thread to record an event of CALLER for; NULL: no event, just call the real function. */
static inline __attribute__((always_inline)) struct thread *hook_enter(struct arch_state caller)
{
        struct thread *t;

        if (unlikely(!agent_on()))
                return NULL;
        t = thread_self;
        if (unlikely(!t || t->inside)) {
                struct arch_state here = caller; /* only here it must be in memory */

                return hook_enter_slow(&here);
        }
        return t;
}

/* The same when nothing else is under way, so that hook_quick_leave() will do.  NULL: by
 * hook_enter. */
static inline __attribute__((always_inline)) struct thread *hook_quick(void)
{
        struct thread *t;

        if (unlikely(*(const uint32_t *)agent.gate != GATE_ON)) /* read once: compared in place */
                return NULL;
        t = thread_self;
        return likely(t && !t->inside) ? t : NULL;
}

/* What to do with the result (or the argument) of a call that is no event: note the allocator's own
 * blocks. */
void *hook_inner(void *p);
void hook_inner_gone(void *p);

/* The real function is about to be called. */
static inline void hook_call(struct thread *t, struct arch_state caller)
{
        compiler_barrier();
        t->inside = caller.sp;
        compiler_barrier();
}

/* A release was not passed on: others may be due instead (quarantine.h). */
void hook_kept(struct thread *t, struct arch_state caller);

/* The kind of an aligned allocation: BASE and the power of two.  What is none is
 * refused by the real function. */
static inline uint32_t hook_aligned_kind(uint32_t base, uint64_t align)
{
        uint32_t power = align ? 63 - (uint32_t)__builtin_clzll(align) : 0;

        agent.head->aligned_kinds = 1;
        return base + (power < 15 ? power : 15);
}

/* The agent is about to work. */
static inline void hook_work(struct thread *t)
{
        compiler_barrier();
        t->inside = THREAD_ACTIVE;
        compiler_barrier();
}

static inline void hook_leave(struct thread *t)
{
        compiler_barrier();
        t->inside = 0;
        if (unlikely(t->owner != NULL))
                hook_leave_slow(t);
}

/* After hook_quick(), whose threads are nobody else's. */
static inline void hook_quick_leave(struct thread *t)
{
        compiler_barrier();
        t->inside = 0;
}

#endif
