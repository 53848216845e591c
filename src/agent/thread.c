/* SPDX-License-Identifier: MIT */
/*
 * thread.c -- giving each running thread a slot, and taking it back from the dead.
 *
 * Keeps:  a slot is taken by one compare-and-swap.  Nobody tells us that a thread ended; a few
 *         slots are therefore asked for life (tgkill with signal 0) whenever a new thread appears.
 */
#include "agent/thread.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/ring.h"
#include "agent/sys.h"
#include "book/peak.h"

#include "agent/guest.h"

#define SLOTS_MAX 16384u
#define SLOTS_BY_NAME 32u
#define PROBES 8u
#define PR_GET_NAME 16

#ifndef SEEP_INJECTED
__thread struct thread *thread_self;
#endif

const struct frame thread_no_frame = { .sp = 1 };

static const arch_word zero;
const struct check thread_no_check = { &zero, 1 };

/* Private state of each slot, by index. */
static struct thread **states;
static struct arena_table states_memory;

/* Tables of a thread lie in one mapping behind its struct. */
struct block {
        struct thread thread;
        struct cfi_work work;
        struct memo memos[1u << MEMO_BITS];
        struct recent recent[1u << RECENT_BITS];
        struct segment segments[1u << SEGMENT_BITS];
        uint16_t forecast[1u << FORECAST_BITS];
        uint16_t near[1u << NEAR_BITS];
        uint16_t far[1u << FAR_BITS];
};

bool thread_start(void)
{
        states = arena_table(&states_memory, SLOTS_MAX * sizeof *states);
        return states != NULL;
}

static struct thread *state_new(uint32_t index)
{
        struct block *b = arena_private(sizeof *b);

        if (!b)
                return NULL;
        b->thread.work = &b->work;
        b->thread.memos = b->memos;
        b->thread.recent = b->recent;
        b->thread.segments = b->segments;
        b->thread.forecast = b->forecast;
        b->thread.near = b->near;
        b->thread.far = b->far;
        b->thread.writer.index = index;
        b->thread.writer.slot = book_slot(&agent_book, index);
        b->thread.writer.span = UINT64_MAX;
        if (thread_grow_checks(&b->thread) && thread_grow_frames(&b->thread) &&
            thread_grow_fresh(&b->thread)) {
                thread_set_top(&b->thread, &thread_no_frame);
                return &b->thread;
        }
        arena_private_free(b, sizeof *b);
        return NULL;
}

static bool dead(uint32_t tid)
{
        return sys_call6(SYS_tgkill, agent.pid, tid, 0, 0, 0, 0) == -SYS_ESRCH;
}

static bool take(struct ledger_slot *slot, uint32_t was, uint32_t is)
{
        return __atomic_compare_exchange_n(&slot->used, &was, is, false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED);
}

/* A thread's name, as the kernel has it. */
struct name {
        uint64_t words[2];
};

static bool own_name(struct name *out)
{
        *out = (struct name){ { 0, 0 } };
        return !sys_failed(sys_call6(SYS_prctl, PR_GET_NAME, (long)out, 0, 0, 0, 0));
}

static struct ledger_thread *record_of(uint32_t thread)
{
        return (struct ledger_thread *)arena_at(LEDGER_THREADS) + thread;
}

/* What a slot counted goes to the thread that has it last (collect/sites.c): as long as there are
 * few, threads of different names get different ones. */
static bool suits(const struct ledger_slot *slot, uint32_t count)
{
        struct name name, other;

        if (count >= SLOTS_BY_NAME || !slot->thread)
                return true;
        if (!own_name(&name))
                return true;
        memcpy(&other, record_of(slot->thread)->name, sizeof other);
        return name.words[0] == other.words[0] && name.words[1] == other.words[1];
}

/* A slot whose thread is dead or that was given back; UINT32_MAX none found by PROBES looks.
 * NEWBORN: the thread has no slot yet, so one in its name is an earlier thread's. */
static uint32_t slot_reuse(uint32_t tid, bool newborn)
{
        static uint32_t cursor;
        uint32_t count = __atomic_load_n(&agent.head->slot_count, __ATOMIC_ACQUIRE);

        for (uint32_t i = 0; i < PROBES && i < count; i++) {
                uint32_t index = __atomic_fetch_add(&cursor, 1, __ATOMIC_RELAXED) % count;
                struct ledger_slot *slot = book_slot(&agent_book, index);
                uint32_t used = __atomic_load_n(&slot->used, __ATOMIC_ACQUIRE), holder = slot->tid;

                if (used == 1 && !(newborn && holder == tid) && !dead(holder))
                        continue;
                if (used > 1 || (newborn && !suits(slot, count)) || !take(slot, used, 2))
                        continue;
                if (slot->tid == holder || used == 0) {
                        slot->tid = tid; /* before anyone can look at it as a dead thread's again */
                        __atomic_store_n(&slot->used, 1, __ATOMIC_RELEASE);
                        return index;
                }
                __atomic_store_n(&slot->used, 1, __ATOMIC_RELEASE);
        }
        return UINT32_MAX;
}

static uint32_t slot_new(uint32_t tid)
{
        uint32_t index = __atomic_load_n(&agent.head->slot_count, __ATOMIC_RELAXED);

        do {
                if (index >= SLOTS_MAX ||
                    !arena_commit(LEDGER_SLOTS, (index + 1ull) * sizeof(struct ledger_slot)))
                        return UINT32_MAX;
        } while (!__atomic_compare_exchange_n(&agent.head->slot_count, &index, index + 1, false,
                                              __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
        /* Someone looked for a free one and saw it first. */
        if (!take(book_slot(&agent_book, index), 0, 2))
                return slot_new(tid);
        book_slot(&agent_book, index)->tid = tid;
        __atomic_store_n(&book_slot(&agent_book, index)->used, 1, __ATOMIC_RELEASE);
        return index;
}

static struct thread *state_take(uint32_t tid, bool newborn)
{
        uint32_t index = slot_reuse(tid, newborn);
        bool room;

        if (index == UINT32_MAX)
                index = slot_new(tid);
        if (index == UINT32_MAX)
                return NULL;
        room = arena_table_open(&states_memory, (index + 1ull) * sizeof *states);
        if (room && !states[index])
                states[index] = state_new(index);
        if (!room || !states[index]) {
                book_slot(&agent_book, index)->used = 0;
                return NULL;
        }
        return states[index];
}

static void put_name(struct ledger_thread *r)
{
        struct name name;

        own_name(&name);
        memcpy(r->name, &name, sizeof name);
}

/* What is counted in this slot from now on is of one of the others. */
static void record_base(struct thread *t)
{
        t->writer.slot->base_allocs = t->writer.slot->allocs;
        t->writer.slot->base_alloc_bytes = t->writer.slot->alloc_bytes;
}

/* There is no entry left for this thread: it counts among the others. */
static uint32_t record_share(struct thread *t, struct ledger_thread *r)
{
        if (__atomic_fetch_add(&agent.head->threads_not_kept, 1, __ATOMIC_RELAXED) == 0)
                r->start_ms = agent_now_ms();
        record_base(t);
        return LEDGER_THREAD_OTHERS;
}

static uint32_t record_new(struct thread *t, uint32_t tid)
{
        struct ledger_thread *all = arena_at(LEDGER_THREADS), *r;
        uint32_t number = __atomic_fetch_add(&agent.head->thread_count, 1, __ATOMIC_RELAXED);

        if (number >= LEDGER_THREAD_OTHERS) {
                __atomic_store_n(&agent.head->thread_count, LEDGER_THREADS_MAX, __ATOMIC_RELAXED);
                number = LEDGER_THREAD_OTHERS;
        }
        if (!arena_commit(LEDGER_THREADS, (number + 1ull) * sizeof *all))
                return 0;
        if (number == LEDGER_THREAD_OTHERS)
                return record_share(t, &all[number]);
        r = &all[number];
        r->tid = tid;
        r->slot = t->writer.index;
        r->start_ms = agent_now_ms();
        put_name(r);
        r->base_allocs = t->writer.slot->allocs;
        r->base_alloc_bytes = t->writer.slot->alloc_bytes;
        return number;
}

/* Close the record of the thread that had this slot before. */
static void record_end(struct thread *t)
{
        struct ledger_thread *r = record_of(t->writer.record);

        if (!t->writer.record)
                return;
        if (t->writer.record == LEDGER_THREAD_OTHERS) {
                __atomic_add_fetch(&r->last_allocs,
                                   t->writer.slot->allocs - t->writer.slot->base_allocs,
                                   __ATOMIC_RELAXED);
                __atomic_add_fetch(&r->last_alloc_bytes,
                                   t->writer.slot->alloc_bytes - t->writer.slot->base_alloc_bytes,
                                   __ATOMIC_RELAXED);
                record_base(t);
                return;
        }
        r->end_ms = agent_now_ms() | 1;
        r->last_allocs = t->writer.slot->allocs;
        r->last_alloc_bytes = t->writer.slot->alloc_bytes;
}

static void state_clear(struct thread *t)
{
        t->inside = 0;
        t->owner = NULL;
        t->writer.last = 0;
        t->frame_count = 0;
        thread_set_top(t, &thread_no_frame);
        t->reach_low = t->reach_high = t->own_low = t->own_high = t->map_low = t->map_high = 0;
}

struct thread *thread_register(void)
{
        uint32_t tid = sys_tid();
        struct thread *t = state_take(tid, true);

        if (!t) {
                if (sandbox_refused_memory())
                        agent_stop(LEDGER_STOP_SANDBOX);
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        record_end(t);
        state_clear(t);
        t->writer.record = record_new(t, tid);
        t->writer.slot->thread = t->writer.record;
        peak_thread_joined(&agent_book);
        if (!own_set(t)) {
                __atomic_store_n(&t->writer.slot->used, 0, __ATOMIC_RELEASE);
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        fatal_thread(t);
        ring_put(t, LEDGER_EVENT_THREAD, 0, 0, tid, agent.stream ? t->writer.index : 0);
        thread_renamed();
        return t;
}

void thread_renamed(void)
{
        struct thread *t = thread_self;
        struct name name;

        if (!t || t->writer.record == LEDGER_THREAD_OTHERS || !own_name(&name))
                return;
        if (t->writer.record)
                memcpy(record_of(t->writer.record)->name, &name, sizeof name);
        ring_put(t, LEDGER_EVENT_THREAD_NAME, 0, 0, name.words[0], name.words[1]);
}

struct thread *thread_borrow(struct thread *owner)
{
        struct thread *t = state_take(sys_tid(), false);

        if (!t) {
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        if (t->writer.record != owner->writer.record) {
                record_end(t);
                record_base(t);
        }
        t->writer.record = owner->writer.record;
        t->writer.slot->thread = t->writer.record;
        state_clear(t);
        t->owner = owner;
        peak_thread_joined(&agent_book);
        return t;
}

void thread_return(struct thread *t)
{
        if (t->writer.record == LEDGER_THREAD_OTHERS)
                record_end(t);
        t->writer.record = 0;
        __atomic_store_n(&t->writer.slot->used, 0, __ATOMIC_RELEASE);
}

void thread_forked(void)
{
        struct thread *t = thread_self;

        if (!t)
                return;
        t->writer.slot->tid = sys_tid();
        ((struct ledger_thread *)arena_at(LEDGER_THREADS))[t->writer.record].tid =
                t->writer.slot->tid;
}

/* Twice the room for an array of elements of SIZE bytes, its contents kept. */
static bool grow(void *array, uint32_t *room, uint32_t size, uint32_t limit)
{
        void **place = array, *bigger;
        uint32_t want = *room ? *room * 2 : 256;

        if (want > limit)
                return false;
        bigger = arena_private((uint64_t)want * size);
        if (!bigger)
                return false;
        if (*place) {
                uint64_t *to = bigger, *from = *place;

                for (uint64_t i = 0; i < (uint64_t)*room * size / 8; i++)
                        to[i] = from[i];
                arena_private_free(*place, (uint64_t)*room * size);
        }
        *place = bigger;
        *room = want;
        return true;
}

bool thread_grow_frames(struct thread *t)
{
        struct frame *all = t->frames ? t->frames - 1 : NULL;
        uint32_t room = t->frame_room ? t->frame_room + 1 : 0;

        if (!grow(&all, &room, sizeof *all, STACK_DEPTH_MAX))
                return false;
        all[0].sp = UINT64_MAX;
        t->frames = all + 1;
        t->frame_room = room - 1;
        return true;
}

bool thread_grow_checks(struct thread *t)
{
        if (!grow(&t->checks, &t->check_room, sizeof *t->checks, 4 * STACK_DEPTH_MAX))
                return false;
        t->checks[0] = thread_no_check;
        return true;
}

bool thread_grow_fresh(struct thread *t)
{
        return grow(&t->fresh, &t->fresh_room, sizeof *t->fresh, STACK_DEPTH_MAX);
}
