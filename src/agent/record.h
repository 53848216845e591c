/* SPDX-License-Identifier: MIT */
/*
 * record.h -- what an event does to the ledger.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.  Inlined into the hooks: there are only a few, and half of the cost of an
 *         event would be calls.
 * Keeps:  order with the real call: record_free and record_take before it, record_alloc after it.
 * Cost:   with the hooks around them, malloc and free of a block at a place 10 frames deep, met before, take 375 instructions more than
 *         without us (callgrind).
 */
#ifndef SEEP_AGENT_RECORD_H
#define SEEP_AGENT_RECORD_H

#include <stddef.h>

#include "agent/death.h"
#include "agent/fault.h"
#include "agent/journal.h"
#include "agent/peak.h"
#include "agent/sample.h"
#include "agent/shadow.h"
#include "agent/stack.h"
#include "agent/thread.h"

/* The counters of CALLER's stack and KIND when they are not the last ones; STACK is its hash, 0 when it must be captured first.
 * NULL: the event is lost. */
struct ledger_counter *record_counter(struct thread *t, uint32_t kind, uint64_t stack, struct arch_state caller);

/* A block is set aside while realloc has it, so that whoever gets the address meanwhile starts clean.  Afterwards either
 * record_put_back (realloc failed) or record_taken (the block is gone) must follow. */
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

static inline uint32_t record_family(uint32_t kind)
{
        return kind < LEDGER_KIND_NEW ? LEDGER_FAMILY_C : kind - LEDGER_KIND_NEW + LEDGER_FAMILY_NEW;
}

/* The kind of block B, as readers know it. */
static inline uint32_t record_kind(const struct ledger_block *b)
{
        uint32_t kind = LEDGER_BLOCK_KIND(*b);

        return kind == LEDGER_KIND_SEE_SITE || kind == LEDGER_KIND_THINNED ? LEDGER_KIND_PLAIN(agent.sites[LEDGER_BLOCK_SITE(*b)].kind) : kind;
}

/* The class of a size or an age: ledger_slot. */
static inline uint32_t record_class(uint64_t value)
{
        return value ? 64 - (uint32_t)__builtin_clzll(value) : 0;
}

/* How a block is released: by which functions, and what the call says about it. */
struct record_release {
        uint32_t family; /* enum ledger_family */
        bool sized, aligned;
        uint64_t size, align;
};

/* What few runs want (agent.special): an allocation, and a release.  False: the release is not to be passed on now. */
void record_alloc_special(struct thread *t, void *address, size_t size, uint32_t kind, struct arch_state caller);
bool record_free_special(struct thread *t, struct ledger_block *b, uint64_t address, const struct record_release *r,
                         struct arch_state caller);

/* B at ADDRESS is live, and the allocator hands the address out again: its release was not seen. */
void record_missed(struct thread *t, struct ledger_block *b, uint64_t address);

static inline __attribute__((always_inline)) void record_plain_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                                                                     struct arch_state caller)
{
        uint64_t stack = stack_again(t, caller);
        struct ledger_counter *c = t->last_counter;
        struct ledger_slot *slot = t->slot;
        struct ledger_block *b;

        if (unlikely(size > LEDGER_SIZE_MAX))
                size = LEDGER_SIZE_MAX;
        if (unlikely(!stack || stack != t->last_stack || kind != t->last_kind))
                c = record_counter(t, kind, stack, caller);
        b = shadow_new(t, (uint64_t)address);
        if (unlikely(!c || !b))
                return;
        if (unlikely(b->b & SHADOW_LIVE))
                record_missed(t, b, (uint64_t)address);
        peak_before_alloc(c);
        c->allocs++;
        c->alloc_bytes += size;
        shadow_write(t, b, shadow_block((uint64_t)address, size, kind, agent_now_ms()));
        slot->allocs++;
        slot->alloc_bytes += size;
        slot->sizes[record_class(size)]++;
        peak_after_alloc(t);
        t->last = (uint64_t)address;
}

/* ADDRESS was allocated: SIZE bytes by KIND (enum ledger_kind) for CALLER. */
static inline __attribute__((always_inline)) void record_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                                                               struct arch_state caller)
{
        if (unlikely(agent.special)) {
                if (!(agent.special & SPECIAL_SAMPLE) || (agent.special & SPECIAL_OFF) || !sample_passes(t, size))
                        record_alloc_special(t, address, size, kind, caller);
        } else
                record_plain_alloc(t, address, size, kind, caller);
}

/* Block B at ADDRESS is no more. */
static inline __attribute__((always_inline)) void record_count_free(struct thread *t, const struct ledger_block *b, uint64_t address)
{
        uint64_t size = LEDGER_BLOCK_SIZE(*b);
        struct ledger_counter *c = thread_counter(t, LEDGER_BLOCK_SITE(*b));
        uint32_t age = agent_now_ms() - LEDGER_BLOCK_BIRTH_MS(*b);
        struct ledger_slot *slot = t->slot;

        if (unlikely(!c))
                return;
        peak_before_free(c);
        c->frees++;
        c->free_bytes += size;
        c->lifetime_ms += age;
        slot->lifetimes[record_class(age)]++;
        c->temporary += t->last == address;
        t->last = 0;
        slot->frees++;
        slot->free_bytes += size;
        peak_after_free(t);
}

/* The same, where it need not be quick. */
void record_gone(struct thread *t, const struct ledger_block *b, uint64_t address);

/* A block that an allocator got for itself while it served a call: no event.  It is noted all the same, because it may come out: the
 * object of an exception thrown by operator new is released by the program.  record_inner_gone: it was released by the allocator. */
void record_inner(struct thread *t, void *address);
void record_inner_gone(struct thread *t, void *address);

/* Does the block B fit a release of R?  Only its own kind tells whether aligned new made it (LEDGER_KIND_SEE_SITE). */
static inline __attribute__((always_inline)) bool record_fits(const struct ledger_block *b, struct record_release r)
{
        uint32_t kind = LEDGER_BLOCK_KIND(*b);

        if (r.sized && r.family == LEDGER_FAMILY_C && kind == LEDGER_KIND_ALIGNED_ALLOC)
                return false; /* not by free_sized */
        return record_family(kind) == r.family && !r.aligned && (!r.sized || LEDGER_BLOCK_SIZE(*b) == r.size);
}

/* ADDRESS is about to be released.  False: it must not be passed on, because it is wrong (--keep-going) or kept back. */
static inline __attribute__((always_inline)) bool record_free(struct thread *t, void *address, struct record_release r,
                                                              struct arch_state caller)
{
        struct ledger_block *b, gone;

        if (unlikely(agent.special & SPECIAL_SAMPLE)) {
                if (sample_knows((uint64_t)address))
                        sample_free(t, address, r.family, caller);
                else
                        t->last = 0;
                return true;
        }
        b = shadow_find(t, (uint64_t)address);
        if (unlikely(!b || !LEDGER_BLOCK_LIVE(*b)))
                return fault_release(t, b, (uint64_t)address, r.family, caller);
        if (unlikely(!LEDGER_BLOCK_SITE(*b))) { /* an allocator's own block after all */
                *b = (struct ledger_block){ 0 };
                return true;
        }
        if (unlikely(!record_fits(b, r))) {
                if (LEDGER_BLOCK_KIND(*b) == LEDGER_KIND_THINNED) { /* since a moment ago */
                        sample_free(t, address, r.family, caller);
                        return true;
                }
                fault_mismatch(t, b, (uint64_t)address, &r, caller);
        }
        if (unlikely(agent.special))
                return record_free_special(t, b, (uint64_t)address, &r, caller);
        gone = *b;
        shadow_bury(b, agent_now_ms());
        record_count_free(t, &gone, (uint64_t)address);
        return true;
}

#endif
