/* SPDX-License-Identifier: MIT */
/*
 * reach.h -- how much of a thread's stack is known to be readable.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  for a stack pointer in [t->reach_low, t->reach_high] every word from REACH_BELOW under it
 *         up to t->reach_high can be read.  So an unwind needs one comparison per frame, and rules
 *         that lie lead nowhere: what is not known is asked for.
 */
#ifndef SEEP_AGENT_REACH_H
#define SEEP_AGENT_REACH_H

#include "agent/thread.h"

/* Where code saves its caller's registers, counted from the end of its frame. */
#define REACH_BELOW 64u

/* Make t->reach_* hold SP, where the thread runs or ran.  When its page cannot be read (a stack
 * that overflowed) they are empty. */
void reach_begin(struct thread *t, uint64_t sp);

/* From here on SP is in t->reach_*, if it can be. */
static inline void reach_from(struct thread *t, uint64_t sp)
{
        if (unlikely(sp - t->reach_low > t->reach_high - t->reach_low))
                reach_begin(t, sp);
}

/* Whether the frame at SP may end at END, so that the words below END can be read.  For
 * what t->reach_* do not say. */
bool reach_frame(struct thread *t, uint64_t sp, uint64_t end);

/* The word at AT, which may be anywhere.  False: it is not there. */
bool reach_word(struct thread *t, uint64_t at, uint64_t *value);

/* The same for a word that will be read again, unasked, as long as the stack is the same: it has to
 * be in it, in the frame at SP. */
static inline bool reach_kept(struct thread *t, uint64_t sp, uint64_t at)
{
        if (at >= t->reach_low - REACH_BELOW && at <= t->reach_high - sizeof(arch_word) &&
            t->reach_high)
                return true;
        return at >= sp && reach_frame(t, sp, at + sizeof(arch_word));
}

#endif
