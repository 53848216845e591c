/* SPDX-License-Identifier: MIT */
/*
 * stack.h -- the call stack of an event, as a node of the tree.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#ifndef SEEP_AGENT_STACK_H
#define SEEP_AGENT_STACK_H

#include "agent/thread.h"

/* The node of the stack whose innermost frame is CALLER (its pc is a return address).  0 stops the recording. */
uint32_t stack_capture(struct thread *t, struct arch_state caller);

/* The same when the thread is where it was at its last event: one load per frame.  0: look closer. */
static inline __attribute__((always_inline)) uint32_t stack_again(const struct thread *t, struct arch_state caller)
{
        const struct frame *f = t->top;
        const struct check *c;

        if (f->sp != caller.sp || f->pc != caller.pc || t->generation != agent.generation)
                return 0;
        if ((f->check & FRAME_BASE_LIVE) && f->base != caller.base)
                return 0;
        c = t->checks + (f->check & ~FRAME_BASE_LIVE);
        while (*c->at == c->value)
                c--;
        return c == t->checks ? f->node : 0;
}

/* One step outwards from S with RULE by the words on the stack; false when that is not possible (*CUT tells whether the stack
 * is cut off there or simply ends).  Not for RULE_GENERIC. */
bool stack_step(struct thread *t, uint64_t rule, struct arch_state *s, bool *cut);

/* What a hook called at S is, while another hook of this thread, called with the stack pointer INSIDE, waits for its real
 * function. */
enum stack_nesting {
        STACK_NOT_NESTED, /* the other call was left by an exception or longjmp */
        STACK_NESTED,     /* the allocator's own call */
        STACK_IN_SIGNAL   /* a signal handler's call, made while the allocator was interrupted */
};

enum stack_nesting stack_nesting(struct thread *t, struct arch_state caller, uint64_t inside);

#endif
