/* SPDX-License-Identifier: MIT */
/*
 * stack.h -- the call stack of an event, as a node of the tree.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#ifndef SEEP_AGENT_STACK_H
#define SEEP_AGENT_STACK_H

#include "agent/rule.h"
#include "agent/thread.h"

/* Capture the stack whose innermost frame is CALLER (its pc is a return address).  Returns its
 * hash, the same for the same stack and (to 1 in 10^7 with a million different stacks) for no
 * other; 0: no memory, the event is lost. */
uint64_t stack_capture(struct thread *t, const struct arch_state *caller);

/* The same, of a stack that was not foreseen (stack_foreseen). */
uint64_t stack_search(struct thread *t, const struct arch_state *caller);

/* Keep the stack captured last, so that the next captures can build on it.  False: no memory. */
bool stack_keep(struct thread *t);

/* A stack with at most this many frames that are not kept is not worth keeping itself. */
#define STACK_NEAR 5u

/* stack_capture and stack_keep in one, for stack_node. */
uint64_t stack_capture_whole(struct thread *t, struct arch_state caller);

/* The hash of the COUNT frames that unwind_full left in t->fresh; CUT as it said.  Test mode. */
uint64_t stack_unwound_hash(struct thread *t, uint32_t count, bool cut);

/* The tree node of the stack that stack_capture_whole captured last.  0 stops the recording. */
uint32_t stack_node(struct thread *t);

/* Instead of a capture when stacks are not wanted: the empty one. */
uint64_t stack_none(struct thread *t);

/* The first word from C outwards that is not what it was; checks[0] never is.  Four at a time:
 * a deep stack is hundreds. */
static inline __attribute__((always_inline)) const struct check *
stack_changed(const struct check *c)
{
        for (;; c -= 4) {
                if (*c[0].at != c[0].value)
                        return c;
                if (*c[-1].at != c[-1].value)
                        return c - 1;
                if (*c[-2].at != c[-2].value)
                        return c - 2;
                if (*c[-3].at != c[-3].value)
                        return c - 3;
        }
}

/* Whether CALLER's stack is the kept one (t->top): one load per frame.  False: look closer. */
static inline __attribute__((always_inline)) bool stack_again(const struct thread *t,
                                                              struct arch_state caller)
{
        if (t->again.sp != caller.sp || t->again.pc != caller.pc ||
            t->generation != agent.generation)
                return false;
        if (t->again.live && t->again.base != caller.base)
                return false;
        return stack_changed(t->again.from) == t->checks;
}

/* The kept words from F outwards begin here. */
static inline const struct check *stack_words(const struct thread *t, const struct frame *f)
{
        return t->checks + (f->check & ~FRAME_BASE_LIVE);
}

/* Whether G describes CALLER's stack; every word that an unwind would read is compared. */
static inline __attribute__((always_inline)) bool
stack_matches(const struct thread *t, const struct segment *g, struct arch_state caller)
{
        const struct frame *outer = &t->frames[g->outer];

        if (g->pc != caller.pc || g->sp != caller.sp || g->outer >= t->frame_count ||
            g->generation != agent.generation)
                return false;
        if (outer->hash != g->outer_hash || outer->sp != g->outer_sp ||
            (g->live && g->base != caller.base))
                return false;
        if ((outer->check & FRAME_BASE_LIVE) && outer->base != g->outer_base)
                return false;
        __builtin_prefetch(g->counter, 1);
        return stack_changed(g->checks + g->count) == g->checks &&
               stack_changed(stack_words(t, outer)) == t->checks;
}

/* Where the forecast has its segment for a caller at PC with the stack pointer SP. */
static inline uint16_t *stack_expected(const struct thread *t, uint64_t pc, uint64_t sp)
{
        return &t->forecast[t->history ^ rule_hash((sp << 7) + pc, FORECAST_BITS)];
}

/* The segment that the forecast has for CALLER, if that describes its stack.  One that was made for
 * code as it is now (generation) was made when the thread knew that, too. */
static inline __attribute__((always_inline)) struct segment *
stack_foreseen(const struct thread *t, struct arch_state caller)
{
        struct segment *g = &t->segments[*stack_expected(t, caller.pc, caller.sp)];

        return likely(!t->unsure) && stack_matches(t, g, caller) ? g : NULL;
}

/* The next stack was HASH, wherever its segment lies now. */
static inline void stack_follow(struct thread *t, uint64_t hash)
{
        t->history = (t->history << 5 ^ (uint32_t)hash) & ((1u << FORECAST_BITS) - 1);
}

/* Whether the stack HASH was counted lately, by any kind (8 bits: tree_key).  One that was not is
 * mostly one of very many: its segment would be asked for by nobody, and drive out one that is.
 * Some count as met all the same: two in turn may have the same place in `recent`. */
#define STACK_UNMET_PASS 8u

static inline bool stack_met_lately(struct thread *t, uint64_t hash)
{
        return t->recent[hash >> (64 - RECENT_BITS)].key - hash <= UINT8_MAX ||
               ++t->unmet % STACK_UNMET_PASS == 0;
}

/* How many frames of a stack may go on at a lower stack pointer (signal handlers have stacks of
 * their own) or not have their return address where all have it. */
#define STACK_ODD 64u

/* One step outwards from S with RULE by the words on the stack; false when that is not possible
 * (*CUT tells whether the stack is cut off there or simply ends).  Not for RULE_GENERIC. */
bool stack_step(struct thread *t, uint64_t rule, struct arch_state *s, bool *cut);

/* What a hook called at S is, while another hook of this thread, called with the stack pointer
 * INSIDE, waits for its real function. */
enum stack_nesting {
        STACK_NOT_NESTED, /* the other call was left by an exception or longjmp */
        STACK_NESTED,     /* the allocator's own call */
        STACK_IN_SIGNAL   /* a signal handler's call, made while the allocator was interrupted */
};

enum stack_nesting stack_nesting(struct thread *t, struct arch_state caller, uint64_t inside);

#endif
