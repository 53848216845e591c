/* SPDX-License-Identifier: MIT */
/*
 * thread.h -- what the agent keeps for one running thread.
 *
 * Room:   inside; any context.
 * Keeps:  the slot is in the ledger, everything else is private memory.  A slot and its struct
 *         thread are reused when their thread is dead; counters simply go on, readers sum them.  A
 *         signal handler that allocates while the agent works in the same thread (THREAD_ACTIVE)
 *         borrows a spare one, so no event is lost and nothing is seen half done.
 */
#ifndef SEEP_AGENT_THREAD_H
#define SEEP_AGENT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/cfi.h"
#include "agent/own.h"

/* One frame of the kept stack: the registers in it after its callee returned.  48 bytes. */
struct frame {
        uint64_t sp, pc, base; /* pc with FRAME_EXACT when a signal interrupted there */
        uint64_t rule;
        uint64_t hash;  /* of the stack from the outermost frame to this one */
        uint32_t node;  /* in the tree; 0 while nobody asked */
        uint32_t check; /* checks[1 .. check] are the words from here outwards; FRAME_BASE_LIVE */
};

#define FRAME_EXACT (1ull << 63)
#define FRAME_BASE_LIVE (1u << 31)

/* A word of memory that the unwind of a frame read. */
struct check {
        const arch_word *at;
        uint64_t value;
};

/* The rule last found for a return address. */
struct memo {
        uint64_t pc, rule;
};

#define MEMO_BITS 12

/* The inner end of a stack seen before: the words that lead from its innermost frame to a
 * frame that was kept then.  When they are unchanged and that frame is still kept, nothing
 * needs unwinding.  584 bytes, of which mostly the first few are used. */
#define SEGMENT_CHECKS 31

struct segment {
        uint64_t pc, sp, base; /* the innermost frame */
        uint64_t hash;         /* of the whole stack */
        uint64_t outer_hash, outer_sp, outer_base;
        uint32_t outer; /* index of the kept frame */
        uint32_t live;  /* FRAME_BASE_LIVE of the innermost frame */
        uint32_t count; /* of checks, without the first, which never holds */
        uint32_t generation;
        struct ledger_counter *counter; /* of the last event here, of ... */
        uint32_t site, kind;            /* ... this kind; 0 none yet */
        struct check checks[SEGMENT_CHECKS];
};

#define SEGMENT_BITS 9
#define SEGMENT_WAYS 4u

/* Which segment came after the last two for a caller at this place, with this stack pointer, the
 * last time: programs repeat themselves. */
#define FORECAST_BITS 11

/* Which segment a walk ended in whose two innermost frames were these, the last time; the same for
 * the five innermost.  Where a segment lies is decided by its whole stack: many stacks may have
 * these frames in common. */
#define NEAR_BITS 10
#define FAR_BITS 10

/* The counters of a stack and kind used lately in this thread.  32 bytes. */
struct recent {
        uint64_t key; /* tree_key() */
        struct ledger_counter *counter;
        uint64_t site, reserved;
};

#define RECENT_BITS 11

/* t->inside: 0 the program runs, THREAD_ACTIVE the agent works, else the stack pointer of the
 * caller of the hook whose real function runs. */
#define THREAD_ACTIVE 1u

/* The innermost kept frame, and what the last allocation there was counted by. */
struct again {
        uint64_t sp, pc;
        const struct check *from; /* the words from it outwards */
        uint64_t base;
        uint32_t live; /* FRAME_BASE_LIVE: base counts */
        uint32_t kind; /* of that allocation; 0 none yet */
        struct ledger_counter *counter;
        uint32_t site;
};

struct thread {
        uint64_t inside;
        uint64_t pool_sp;     /* of who called the function of a pool that runs (hooks_slot.c); 0 */
        struct thread *owner; /* of a borrowed state: whom it was borrowed for */
        struct again again;   /* of top, where it is read for each allocation */
        struct check *checks; /* checks[0] never holds: comparing ends there */
        struct book_writer writer;
        const struct frame
                *top; /* innermost kept frame; one that equals nothing when none is kept */
        uint64_t last_stack; /* hash of the last allocation's stack, if that is not the kept one */
        uint32_t generation; /* of the code, when the stack was kept */
        uint32_t root;       /* of the kept stack: LEDGER_NODE_ROOT or _CUT */
        bool moving;         /* inside realloc, whose block has been taken */
        bool refusing;       /* inside an operator new, whose malloc must be refused
                              * when it would pass the limit */
        bool unsure;         /* the kept stack must not be built upon */
        struct segment *segment; /* of the stack captured last; NULL none */
        bool in_segment;         /* ... and its frames are known by it only */
        uint8_t odd;             /* how many odd steps its unwind took (STACK_ODD) */

        uint32_t frame_count, frame_room, check_room, fresh_room;
        uint32_t fresh_count, joined; /* the last capture: its fresh frames, and behind how
                                       * many kept ones they belong */
        struct frame *frames;         /* before the first lies one that is further out than any */
        struct frame *fresh;
        struct memo *memos;
        struct recent *recent;
        struct segment *segments;
        uint16_t *forecast, *near, *far;
        uint16_t *expected; /* of the forecast, for the capture that is under way */
        uint32_t history; /* the last two segments, mixed */
        uint32_t victim;  /* which way of a set is written over next */
        uint32_t unmet;   /* stacks that were not met lately (stack_met_lately) */
        struct cfi_work *work;
        uint64_t reach_low, reach_high; /* the stack that is readable for sure, around
                                         * the stack pointer (reach.h) */
        uint64_t own_low, own_high;     /* the same of the stack that the thread was started on,
                                         * while it runs on another */
        uint64_t map_low, map_high;     /* the mapping of a stack that was looked up */
        uint64_t captures; /* test mode */
        void *signal_stack; /* for a signal that ends the program when the thread's
                             * own stack is full (fatal.h) */
        uint64_t random, until_sample, sample_mean; /* record --sample: the dice (0: not thrown
                                                     * yet), and bytes to the next sample point */
        uint64_t gpu_sp; /* of who called the function of hooks_gpu.c that runs; 0 */
};

extern const struct frame thread_no_frame __attribute__((visibility("hidden")));
extern const struct check thread_no_check __attribute__((visibility("hidden"))); /* never holds */

/* Reserve the table of them.  False: no memory. */
bool thread_start(void);

/* fatal.c: a thread has its first event. */
void fatal_thread(struct thread *t);

/* The calling thread's state, made at its first event; NULL when there is no memory or no slot
 * left. */
struct thread *thread_register(void);

/* The calling thread has another name: put that into the journal. */
void thread_renamed(void);

/* A spare state for the time of one event inside a signal handler; NULL if there is none. */
struct thread *thread_borrow(struct thread *owner);
void thread_return(struct thread *t);

/* In a forked child that goes on recording: the only thread left is this one. */
void thread_forked(void);

/* F is the innermost kept frame from now on. */
static inline void thread_set_top(struct thread *t, const struct frame *f)
{
        t->top = f;
        t->again.sp = f->sp;
        t->again.pc = f->pc;
        t->again.from = t->checks + (f->check & ~FRAME_BASE_LIVE);
        t->again.base = f->base;
        t->again.live = f->check & FRAME_BASE_LIVE;
        t->again.kind = LEDGER_KIND_NONE;
}

/* Make room for one more frame, for COUNT more checks, for a fresh frame.  False: no memory, or
 * deeper than STACK_DEPTH_MAX. */
bool thread_grow_frames(struct thread *t);
bool thread_grow_checks(struct thread *t);
bool thread_grow_fresh(struct thread *t);

#define STACK_DEPTH_MAX (1u << 20)

/* The counters of SITE in this thread's slot; NULL stops the recording. */
static inline struct ledger_counter *thread_counter(struct thread *t, uint32_t site)
{
        return book_counter(&agent_book, &t->writer, site);
}

#endif
