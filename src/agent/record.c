/* SPDX-License-Identifier: MIT */
/*
 * record.c -- an event of the program: the parts that are not on the fast path.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#include "agent/record.h"

#include "agent/fill.h"
#include "agent/limit.h"
#include "agent/omit.h"
#include "agent/pool.h"
#include "agent/quarantine.h"
#include "agent/real.h"
#include "agent/thin.h"
#include "agent/verify.h"
#include "book/era.h"
#include "book/tree.h"

#include "agent/guest.h"

/* Keep the stack captured last, whose frames may be known by a segment only. */
static bool keep_whole(struct thread *t, const struct arch_state *caller)
{
        return t->in_segment ? stack_capture_whole(t, *caller) != 0 : stack_keep(t);
}

/* The site of the stack captured last and KIND; made if new.  0: the recording stops. */
static uint32_t find_site(struct thread *t, uint64_t key, uint32_t kind,
                          const struct arch_state *caller)
{
        uint32_t site = tree_stack_find(&agent_book, key), node = 0;

        if (likely(site))
                return site;
        if (keep_whole(t, caller))
                node = stack_node(t);
        site = node ? tree_site(&agent_book, node, kind) : 0;
        if (site)
                tree_stack_add(&agent_book, key, site);
        return site;
}

static __attribute__((noinline)) void fill_recent(struct thread *t, struct recent *r, uint64_t key,
                                                  uint32_t kind, const struct arch_state *caller)
{
        uint32_t site = find_site(t, key, kind, caller);

        r->counter = site ? thread_counter(t, site) : NULL;
        r->site = site;
        r->key = r->counter ? key : 0;
}

/* That of (STACK, KIND), from those used lately or from the tree. */
static struct record_site by_key(struct thread *t, uint64_t stack, uint32_t kind,
                                 const struct arch_state *caller)
{
        uint64_t key = tree_key(stack, kind);
        struct recent *r = &t->recent[key >> (64 - RECENT_BITS)];

        if (unlikely(r->key != key))
                fill_recent(t, r, key, kind, caller);
        return (struct record_site){ r->counter, r->site };
}

/* The segment of the stack captured last knows what an event of KIND was counted by, or does
 * afterwards. */
static struct record_site by_segment(struct thread *t, uint64_t stack, uint32_t kind,
                                     const struct arch_state *caller)
{
        struct segment *g = t->segment;
        struct record_site at;

        if (g && g->kind == kind)
                return (struct record_site){ g->counter, g->site };
        at = by_key(t, stack, kind, caller);
        if (g && at.counter) {
                g->counter = at.counter;
                g->site = (uint32_t)at.site;
                g->kind = kind;
        }
        return at;
}

/* STACK was captured last. */
static struct record_site by_stack(struct thread *t, uint64_t stack, uint32_t kind,
                                   const struct arch_state *caller)
{
        struct record_site at;

        if (unlikely(!stack)) {
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
                return (struct record_site){ NULL, 0 };
        }
        if (unlikely(t->unsure && t->root == LEDGER_NODE_CUT))
                __atomic_add_fetch(&agent.head->truncated_captures, 1, __ATOMIC_RELAXED);
        at = by_segment(t, stack, kind, caller);
        if (stack == t->last_stack && t->fresh_count)
                stack_keep(t); /* it stays here: next time one look at the kept words will do */
        if (unlikely(agent.flags & WIRE_F_VERIFY))
                thread_set_top(t, &thread_no_frame); /* so that the next event is verified too */
        if (stack == t->top->hash && at.counter) {
                t->again.kind = kind;
                t->again.counter = at.counter;
                t->again.site = (uint32_t)at.site;
        }
        t->last_stack = at.counter ? stack : 0;
        return at;
}

/* What was not foreseen; in a function of its own, so that what was needs few registers. */
static __attribute__((noinline)) struct record_site
by_search(struct thread *t, uint32_t kind, uint64_t pc, uint64_t sp, uint64_t base)
{
        struct arch_state caller = { pc, sp, base };
        uint64_t stack;

        if (likely(!(agent.flags & (WIRE_F_VERIFY | WIRE_F_NO_STACKS))))
                stack = stack_search(t, &caller);
        else
                stack = agent.flags & WIRE_F_VERIFY ? verify_capture(t, caller) : stack_none(t);
        return by_stack(t, stack, kind, &caller);
}

/* Foreseen, but not for an event of this kind. */
static __attribute__((noinline)) struct record_site
by_other_kind(struct thread *t, uint32_t kind, uint64_t pc, uint64_t sp, uint64_t base)
{
        struct arch_state caller = { pc, sp, base };

        return by_stack(t, stack_capture(t, &caller), kind, &caller);
}

struct record_site record_site(struct thread *t, uint32_t kind, uint64_t pc, uint64_t sp,
                               uint64_t base)
{
        struct segment *g = stack_foreseen(t, (struct arch_state){ pc, sp, base });

        if (unlikely(!g || agent.flags & WIRE_F_VERIFY))
                return by_search(t, kind, pc, sp, base);
        if (unlikely(g->kind != kind))
                return by_other_kind(t, kind, pc, sp, base);
        stack_follow(t, g->hash);
        t->last_stack = g->hash;
        return (struct record_site){ g->counter, g->site };
}

static void note_death(const struct ledger_block *b)
{
        if (agent.special & SPECIAL_ERAS)
                era_death(&agent_book, b, 1);
}

/* The tree node of CALLER's stack, for the log; 0 unless wanted. */
static uint32_t release_node(struct thread *t, struct arch_state caller)
{
        if (!(agent.flags & WIRE_F_FREE_STACKS) || (agent.flags & WIRE_F_NO_STACKS))
                return 0;
        return stack_capture_whole(t, caller) ? stack_node(t) : 0;
}

static void special_free(struct thread *t, const struct ledger_block *b, uint64_t address,
                         enum ledger_event_type type, struct arch_state caller)
{
        if (agent.special & SPECIAL_POOLS)
                pool_range_gone(t, address, address + LEDGER_BLOCK_SIZE(*b), LEDGER_BLOCK_SITE(*b),
                                caller);
        if (agent.special & SPECIAL_RING)
                ring_write(t, type, book_kind(&agent_book, b), release_node(t, caller), address,
                           caller.pc);
        if (type == LEDGER_EVENT_FREE)
                note_death(b);
        t->moving = type == LEDGER_EVENT_TAKE;
}

/* Where memory is overwritten or kept back: is the block at ADDRESS another one than we know,
 * got past us?  Then it is smaller, as far as it can be told.  True: it has been counted, and
 * what we knew is corrected. */
static bool is_another(struct thread *t, struct ledger_block *b, uint64_t address)
{
        if (!(agent.special & (SPECIAL_FILL | SPECIAL_QUARANTINE)) || !real.malloc_usable_size ||
            real.malloc_usable_size((void *)(uintptr_t)address) >= LEDGER_BLOCK_SIZE(*b))
                return false;
        record_missed(t, b, address);
        __atomic_add_fetch(&agent.head->unseen_blocks, 1, __ATOMIC_RELAXED);
        return true;
}

/* What realloc has in hand may hold pointers, and is in no table meanwhile. */
static void hold(struct thread *t, const struct record_taken *taken, uint64_t address)
{
        t->writer.slot->moving_bytes = LEDGER_BLOCK_SIZE(taken->block);
        t->writer.slot->moving = address;
}

/* B, which is not recorded, goes: it may be one that was, before a reset. */
static void note_older(const struct ledger_block *b)
{
        if (LEDGER_BLOCK_BIRTH_MS(*b))
                __atomic_add_fetch(&agent.head->older, 1, __ATOMIC_RELAXED);
}

struct record_taken record_take(struct thread *t, void *address, struct arch_state caller)
{
        bool unknown = (agent.special & SPECIAL_SAMPLE) &&
                       (!sample_knows((uintptr_t)address) || thin_is_empty(t, (uintptr_t)address));
        struct ledger_block *b = unknown ? NULL
                                         : shadow_find(&agent_book, &t->writer, (uintptr_t)address);
        struct record_taken taken = { 0 };

        if (unlikely((agent.special & SPECIAL_SAMPLE) && (!b || !LEDGER_BLOCK_LIVE(*b))))
                return taken;
        if (unlikely(!b || !LEDGER_BLOCK_LIVE(*b))) {
                taken.refused = !fault_release(t, b, (uintptr_t)address, LEDGER_FAMILY_C, caller);
                return taken;
        }
        if (unlikely(!LEDGER_BLOCK_SITE(*b))) {
                /* An allocator's own block after all, or one that was left out. */
                taken = (struct record_taken){ .unrecorded = b, .block = *b };
                *b = (struct ledger_block){ 0 };
                hold(t, &taken, (uintptr_t)address);
                return taken;
        }
        if (unlikely(is_another(t, b, (uintptr_t)address)))
                return taken;
        taken = (struct record_taken){ .entry = b, .block = *b };
        if (unlikely(agent.special & (SPECIAL_RING | SPECIAL_POOLS)))
                special_free(t, b, (uintptr_t)address, LEDGER_EVENT_TAKE, caller);
        if (unlikely(book_family(book_kind(&agent_book, b)) != LEDGER_FAMILY_C))
                fault_mismatch(t, b, (uintptr_t)address,
                               &(struct book_release){ .family = LEDGER_FAMILY_C }, caller);
        shadow_bury(b, agent_now_ms());
        hold(t, &taken, (uintptr_t)address);
        return taken;
}

void record_put_back(struct thread *t, const struct record_taken *taken)
{
        t->writer.last = 0;
        if (taken->unrecorded) {
                shadow_put(&agent_book, &t->writer, taken->unrecorded, taken->block);
                t->writer.slot->moving = 0;
        }
        if (!taken->entry)
                return;
        shadow_put(&agent_book, &t->writer, taken->entry, taken->block);
        t->writer.slot->moving = 0;
        t->moving = false;
        ring_put(t, LEDGER_EVENT_PUT_BACK, 0, 0, 0, 0);
}

void record_taken(struct thread *t, const struct record_taken *taken, void *address)
{
        if (taken->entry)
                record_gone(t, &taken->block, (uintptr_t)address);
        else if (taken->unrecorded)
                note_older(&taken->block);
}

void record_gone(struct thread *t, const struct ledger_block *b, uint64_t address)
{
        if (agent.special & SPECIAL_SAMPLE) {
                sample_gone(t, b, address);
                return;
        }
        note_death(b);
        record_count_free(t, b, address);
}

/* A block that is nobody's business but may come back to us, or hold pointers to others. */
static void note_unrecorded(struct thread *t, void *address, size_t size)
{
        struct ledger_block *b = agent.special & SPECIAL_SAMPLE
                                         ? NULL
                                         : shadow_new(&agent_book, &t->writer, (uintptr_t)address);

        if (b && LEDGER_BLOCK_LIVE(*b))
                record_missed(t, b, (uintptr_t)address);
        if (b && size)
                agent.head->unrecorded = 1;
        if (b)
                shadow_put(&agent_book, &t->writer, b,
                           shadow_block((uintptr_t)address, shadow_size(size), LEDGER_KIND_NONE,
                                        0));
}

uint32_t record_at_odd_place(struct thread *t, void *address, struct ledger_block what,
                             struct ledger_counter *c)
{
        struct ledger_block *b = shadow_new(&agent_book, &t->writer, (uintptr_t)address);

        if (!b)
                return 0;
        if (b->b & SHADOW_LIVE)
                record_missed(t, b, (uintptr_t)address);
        count_add(&agent_book, &t->writer, c,
                  (struct count_blocks){ .address = (uintptr_t)address,
                                         .size = LEDGER_BLOCK_SIZE(what),
                                         .times = 1 });
        shadow_write(&agent_book, &t->writer, b, what);
        return LEDGER_BLOCK_SITE(what);
}

uint32_t record_any_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                          struct arch_state caller)
{
        uint64_t bytes = size;

        return record_plain_alloc(t, address, bytes < LEDGER_SIZE_MAX ? bytes : LEDGER_SIZE_MAX,
                                  kind, caller);
}

void record_alloc_special(struct thread *t, void *address, size_t size, uint32_t kind,
                          struct arch_state caller)
{
        uint32_t site;

        if (agent.special & SPECIAL_OFF) { /* not recorded, but its release will be no fault */
                t->writer.last = 0;
                t->moving = false;
                note_unrecorded(t, address, size);
                return;
        }
        if (omit_caller(caller.pc)) {
                t->moving = false;
                t->writer.slot->omitted++;
                t->writer.slot->omitted_bytes += size;
                note_unrecorded(t, address, size);
                return;
        }
        if (agent.special & SPECIAL_SAMPLE) {
                t->moving = false;
                sample_alloc(t, address, size, kind, caller);
                return;
        }
        t->writer.last = 0;
        site = record_any_alloc(t, address, size, kind, caller);
        if (!site)
                return;
        if (agent.special & SPECIAL_FILL)
                fill_fresh(address, size, kind);
        ring_put(t, t->moving ? LEDGER_EVENT_MOVE : LEDGER_EVENT_ALLOC, LEDGER_KIND_PLAIN(kind),
                 site, (uintptr_t)address, size);
        t->moving = false;
        if (agent.special & SPECIAL_LIMIT)
                limit_check(t);
}

/* The live block B at ADDRESS goes, in whatever mode we are.  False: it is kept back. */
static bool free_block(struct thread *t, struct ledger_block *b, uint64_t address,
                       const struct book_release *r, struct arch_state caller)
{
        struct ledger_block gone;

        if (is_another(t, b, address))
                return true;
        special_free(t, b, address, LEDGER_EVENT_FREE, caller);
        if (agent.special & SPECIAL_FILL)
                fill_gone(address, LEDGER_BLOCK_SIZE(*b));
        gone = *b;
        shadow_bury(b, agent_now_ms());
        record_count_free(t, &gone, address);
        return !(agent.special & SPECIAL_QUARANTINE) ||
               !quarantine_put(t, &gone, address, r, caller);
}

bool record_free_slow(struct thread *t, void *p, const struct book_release *r,
                      const struct arch_state *caller)
{
        uint64_t address = (uintptr_t)p;
        struct ledger_block *b;

        if (agent.special & SPECIAL_SAMPLE) {
                if (sample_knows(address))
                        sample_free(t, p, r->family, *caller);
                else
                        t->writer.last = 0;
                return true;
        }
        b = shadow_find(&agent_book, &t->writer, address);
        if (!b || !LEDGER_BLOCK_LIVE(*b))
                return fault_release(t, b, address, r->family, *caller);
        if (!LEDGER_BLOCK_SITE(*b)) { /* an allocator's own block after all, or an older one */
                note_older(b);
                *b = (struct ledger_block){ 0 };
                return true;
        }
        if (!error_fits(b, *r)) {
                if (LEDGER_BLOCK_KIND(*b) == LEDGER_KIND_THINNED) { /* since a moment ago */
                        sample_free(t, p, r->family, *caller);
                        return true;
                }
                fault_mismatch(t, b, address, r, *caller);
        }
        return free_block(t, b, address, r, *caller);
}

void record_missed(struct thread *t, struct ledger_block *b, uint64_t address)
{
        struct ledger_block gone = *b;

        if (!LEDGER_BLOCK_SITE(gone))
                return; /* not recorded, so its release is not missed */
        if (!agent.head->fork_several || LEDGER_BLOCK_BIRTH_MS(gone) > agent.head->fork_ms) {
                __atomic_add_fetch(&agent.head->missed_frees, 1, __ATOMIC_RELAXED);
                agent_book.sites[LEDGER_BLOCK_SITE(gone)].missed = 1;
        }
        shadow_bury(b, agent_now_ms());
        ring_put(t, LEDGER_EVENT_FREE, book_kind(&agent_book, &gone), 0, address, 0);
        record_gone(t, &gone, address);
}

void record_inner(struct thread *t, void *address)
{
        note_unrecorded(t, address, 0);
}

void record_inner_gone(struct thread *t, void *address)
{
        struct ledger_block *b = thin_is_empty(t, (uintptr_t)address)
                                         ? NULL
                                         : shadow_find(&agent_book, &t->writer, (uintptr_t)address);

        if (!b || !LEDGER_BLOCK_LIVE(*b))
                return;
        if (LEDGER_BLOCK_SITE(*b)) { /* the program's after all: its new_handler makes room */
                struct ledger_block gone = *b;

                shadow_bury(b, agent_now_ms());
                ring_put(t, LEDGER_EVENT_FREE, book_kind(&agent_book, &gone), 0, (uintptr_t)address,
                         0);
                record_gone(t, &gone, (uintptr_t)address);
        } else {
                *b = (struct ledger_block){ 0 };
        }
}
