/* SPDX-License-Identifier: MIT */
/*
 * hook.c -- the rare ways into a hook.
 *
 * Room:   inside.
 */
#include "agent/hook.h"

#include "agent/life.h"
#include "agent/quarantine.h"
#include "agent/record.h"

#include "agent/guest.h"

static struct thread *enter_borrowed(struct thread *owner)
{
        struct thread *t = thread_borrow(owner);

        if (t)
                own_set(t);
        return t;
}

struct thread *hook_enter_slow(const struct arch_state *caller)
{
        struct thread *t = thread_self;
        enum stack_nesting nesting;
        uint64_t inside;

        t = t ? t : thread_register();
        if (!t)
                return NULL;
        inside = t->inside;
        if (inside == THREAD_ACTIVE)
                return enter_borrowed(t);
        if (!inside)
                return t;
        t->inside = THREAD_ACTIVE;
        compiler_barrier();
        nesting = stack_nesting(t, *caller, inside);
        compiler_barrier();
        t->inside = inside;
        if (nesting == STACK_IN_SIGNAL)
                return enter_borrowed(t);
        return nesting == STACK_NESTED ? NULL : t;
}

void hook_leave_slow(struct thread *t)
{
        own_set(t->owner);
        thread_return(t);
}

void hook_kept(struct thread *t, struct arch_state caller)
{
        if (!(agent.special & SPECIAL_QUARANTINE))
                return;
        hook_call(t, caller);
        quarantine_drain();
}

/* The state of a thread that is inside a real function, made ACTIVE; NULL: not inside one. */
static struct thread *inner_enter(const void *p, uint64_t *inside)
{
        struct thread *t = *agent.gate == GATE_ON ? thread_self : NULL;

        if (!p || !t || t->inside <= THREAD_ACTIVE)
                return NULL;
        *inside = t->inside;
        t->inside = THREAD_ACTIVE;
        compiler_barrier();
        return t;
}

static void inner_leave(struct thread *t, uint64_t inside)
{
        compiler_barrier();
        t->inside = inside;
}

void *hook_inner(void *p)
{
        uint64_t inside;
        struct thread *t = inner_enter(p, &inside);

        if (unlikely(agent.unfollowed) && p)
                life_allocated();
        if (t) {
                record_inner(t, p);
                inner_leave(t, inside);
        }
        return p;
}

void hook_inner_gone(void *p)
{
        uint64_t inside;
        struct thread *t = inner_enter(p, &inside);

        if (t) {
                record_inner_gone(t, p);
                inner_leave(t, inside);
        }
}
