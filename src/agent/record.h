/* SPDX-License-Identifier: MIT */
/*
 * record.h -- an event of the program: its stack is captured, and it is put into the book.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.  Inlined into the hooks: there are
 *         only a few, and half of the cost of an event would be calls.
 * Keeps:  order with the real call: record_free and record_take before it, record_alloc after it.
 * Cost:   with the hooks around them, malloc and free of a block at a place 10 frames deep, met
 *         before, take 269 instructions more than without us (bench/instructions).
 */
#ifndef SEEP_AGENT_RECORD_H
#define SEEP_AGENT_RECORD_H

#include <stddef.h>

#include "agent/fault.h"
#include "agent/ring.h"
#include "agent/sample.h"
#include "agent/stack.h"
#include "agent/thread.h"
#include "book/count.h"
#include "book/error.h"
#include "book/shadow.h"

/* What an event is counted by.  Counter NULL: it is lost. */
struct record_site {
        struct ledger_counter *counter;
        uint64_t site;
};

/* That of KIND and of the stack of a caller in this state; word by word, because so it stays in
 * registers. */
struct record_site record_site(struct thread *t, uint32_t kind, uint64_t pc, uint64_t sp,
                               uint64_t base);

/* A block is set aside while realloc has it, so that whoever gets the address meanwhile
 * starts clean.  Afterwards either record_put_back (realloc failed) or record_taken (the
 * block is gone) must follow. */
struct record_taken {
        struct ledger_block *entry;      /* NULL: unknown block, or ... */
        struct ledger_block *unrecorded; /* ... the entry of one that is known and not recorded */
        struct ledger_block block;
        bool refused; /* known to be no block: realloc must not see it (--keep-going) */
};

/* How many bytes more than the taken block BYTES are. */
static inline size_t record_growth(const struct record_taken *taken, size_t bytes)
{
        size_t old = taken->entry ? LEDGER_BLOCK_SIZE(taken->block) : 0;

        return bytes > old ? bytes - old : 0;
}

struct record_taken record_take(struct thread *t, void *address, struct arch_state caller);
void record_put_back(struct thread *t, const struct record_taken *taken);
void record_taken(struct thread *t, const struct record_taken *taken, void *address);

/* An allocation with what few runs want (agent.special). */
void record_alloc_special(struct thread *t, void *address, size_t size, uint32_t kind,
                          struct arch_state caller);

/* B at ADDRESS is live, and the allocator hands the address out again: its release was not seen. */
void record_missed(struct thread *t, struct ledger_block *b, uint64_t address);

/* The block WHAT, counted by C, at ADDRESS, which has no entry yet or that of a live
 * block.  As record_plain_alloc. */
uint32_t record_at_odd_place(struct thread *t, void *address, struct ledger_block what,
                             struct ledger_counter *c);

/* Nothing special.  record_plain_alloc: SIZE is below 4 GiB, so that it needs no more than its own
 * word of an entry.  The site; 0: the event is lost. */
uint32_t record_any_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                          struct arch_state caller);

BOOK_INLINE uint32_t record_plain_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                                        struct arch_state caller)
{
        struct record_site at;
        struct ledger_block *b, what;

        if (stack_again(t, caller) && likely(kind == t->again.kind)) {
                at = (struct record_site){ t->again.counter, t->again.site };
                t->last_stack = 0; /* the next one comes after this one, which is kept */
        } else {
                at = record_site(t, kind, caller.pc, caller.sp, caller.base);
                if (unlikely(!at.counter))
                        return 0;
        }
        b = shadow_at(&agent_book, &t->writer, (uintptr_t)address);
        what = shadow_block((uintptr_t)address, size, kind, agent_now_ms());
        what.a |= at.site;
        if (unlikely(!b || b->b & SHADOW_LIVE))
                return record_at_odd_place(t, address, what, at.counter);
        count_add(&agent_book, &t->writer, at.counter,
                  (struct count_blocks){ .address = (uintptr_t)address, .size = size, .times = 1 });
        shadow_write(&agent_book, &t->writer, b, what);
        return (uint32_t)at.site;
}

/* ADDRESS was allocated: SIZE bytes by KIND (enum ledger_kind) for CALLER. */
BOOK_INLINE void record_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                              struct arch_state caller)
{
        if (unlikely(agent.special & SPECIAL_ANY)) {
                if (!(agent.special & SPECIAL_SAMPLE) || (agent.special & SPECIAL_OFF) ||
                    !sample_passes(t, size))
                        record_alloc_special(t, address, size, kind, caller);
        } else if (likely(size >> 31 >> 1 == 0)) {
                record_plain_alloc(t, address, (uint32_t)size, kind, caller);
        } else {
                record_any_alloc(t, address, size, kind, caller);
        }
}

/* Block B at ADDRESS is no more. */
BOOK_INLINE void record_count_free(struct thread *t, const struct ledger_block *b, uint64_t address)
{
        struct ledger_counter *c = thread_counter(t, LEDGER_BLOCK_SITE(*b));
        uint32_t age = agent_now_ms() - LEDGER_BLOCK_BIRTH_MS(*b);

        if (likely(c))
                count_remove(&agent_book, &t->writer, c,
                             (struct count_blocks){ address, LEDGER_BLOCK_SIZE(*b), 1, age });
}

/* The same, where it need not be quick. */
void record_gone(struct thread *t, const struct ledger_block *b, uint64_t address);

/* A block that an allocator got for itself while it served a call: no event.  It is noted all the
 * same, because it may come out: the object of an exception thrown by operator new is released by
 * the program.  record_inner_gone: it was released by the allocator. */
void record_inner(struct thread *t, void *address);
void record_inner_gone(struct thread *t, void *address);

/* The rest of record_free. */
bool record_free_slow(struct thread *t, void *address, const struct book_release *r,
                      const struct arch_state *caller);

/* Whether B is the entry of a plain block at ADDRESS (shadow_plain_kind), recorded,
 * that may be released by R. */
BOOK_INLINE bool record_fits(const struct ledger_block *b, const void *address,
                             struct book_release r)
{
        uint64_t kind = shadow_plain_kind(b, (uintptr_t)address);

        if (r.aligned || (r.sized && b->a >> 32 != r.size))
                return false;
        if (r.family != LEDGER_FAMILY_C)
                return kind == LEDGER_KIND_NEW + (r.family - LEDGER_FAMILY_NEW);
        return kind - 1 < LEDGER_KIND_NEW - 1 && !(r.sized && kind == LEDGER_KIND_ALIGNED_ALLOC);
}

/* ADDRESS is about to be released.  False: nothing has been done, because there is more to it;
 * record_free_slow does all. */
BOOK_INLINE bool record_free_quick(struct thread *t, void *address, struct book_release r)
{
        struct ledger_block *b = NULL, gone;
        struct ledger_counter *c = NULL;
        uint32_t now;

        if (likely(!(agent.special & SPECIAL_ANY)))
                b = shadow_at(&agent_book, &t->writer, (uintptr_t)address);
        if (likely(b && record_fits(b, address, r)))
                c = book_counter_known(&agent_book, &t->writer, LEDGER_BLOCK_SITE(*b));
        if (unlikely(!c))
                return false;
        now = agent_now_ms();
        gone = *b;
        shadow_bury(b, now);
        count_remove(&agent_book, &t->writer, c,
                     (struct count_blocks){ (uintptr_t)address, gone.a >> 32, 1,
                                            now - LEDGER_BLOCK_BIRTH_MS(gone) });
        return true;
}

/* Both.  False: it must not be passed on, because it is wrong (--keep-going) or kept back. */
BOOK_INLINE bool record_free(struct thread *t, void *address, struct book_release r,
                             struct arch_state caller)
{
        struct arch_state here;
        struct book_release how;

        if (likely(record_free_quick(t, address, r)))
                return true;
        here = caller;
        how = r;
        return record_free_slow(t, address, &how, &here);
}

#endif
