/* SPDX-License-Identifier: MIT */
/*
 * hook.c -- the rare ways into a hook.
 *
 * Room:   inside.
 */
#include "agent/hook.h"

#include "agent/guest.h"

static struct thread *enter_borrowed(struct hook *h, struct thread *owner)
{
        struct thread *t = thread_borrow(owner);

        if (!t)
                return NULL;
        h->owner = owner;
        thread_self = t;
        return t;
}

struct thread *hook_enter_slow(struct hook *h)
{
        struct thread *t = thread_self ? thread_self : thread_register();
        enum stack_nesting nesting;

        if (!t)
                return NULL;
        if (t->active)
                return enter_borrowed(h, t);
        if (!t->inside)
                return t;
        t->active = 1;
        compiler_barrier();
        nesting = stack_nesting(t, &h->caller);
        compiler_barrier();
        t->active = 0;
        if (nesting == STACK_NESTED)
                return NULL;
        h->inside = nesting == STACK_IN_SIGNAL ? t->inside : 0;
        return t;
}

void hook_leave_slow(struct hook *h)
{
        thread_self = h->owner;
        thread_return(h->thread);
}
