/* SPDX-License-Identifier: MIT */
#include "agent/queue.h"

#include "agent/arena.h"
#include "agent/stack.h"
#include "agent/sys.h"
#include "book/tree.h"

#include "agent/guest.h"

#define OPERATIONS 4096u
#define OPERATIONS_FIRST 128u
#define WAITS_MAX 100000u
#define WAIT_NS 200000000ull

static struct operation *operations;
static struct arena_table memory;
static uint32_t room; /* of them can be used; more when all are */
static struct operation *pending;
static uint64_t last_ticket;
static uint32_t holder; /* thread id of whoever applies; 0 nobody */

bool queue_start(void)
{
        operations = arena_table(&memory, OPERATIONS * sizeof *operations);
        room = OPERATIONS_FIRST;
        return operations && arena_table_open(&memory, room * sizeof *operations);
}

/* Only we are left of all threads: what is on the list is still to be applied, what
 * others had in hand is gone with them.  A fork in a signal handler that interrupted us
 * keeps what we have in hand. */
void queue_forked(const struct thread *t)
{
        if (holder && t && holder == t->writer.slot->tid)
                return;
        holder = 0;
        if (t && t->inside)
                return;
        for (uint32_t i = 0; i < room; i++)
                operations[i].used = 0;
        for (struct operation *o = pending; o; o = o->next)
                o->used = 1;
}

uint64_t queue_ticket(void)
{
        return __atomic_add_fetch(&last_ticket, 1, __ATOMIC_ACQ_REL);
}

/* Pending operations, oldest ticket first. */
static struct operation *sorted_pending(void)
{
        struct operation *list = __atomic_exchange_n(&pending, NULL, __ATOMIC_ACQUIRE),
                         *sorted = NULL;

        while (list) {
                struct operation *o = list, **place = &sorted;

                list = o->next;
                while (*place && (*place)->ticket < o->ticket)
                        place = &(*place)->next;
                o->next = *place;
                *place = o;
        }
        return sorted;
}

static bool hold(struct thread *t)
{
        uint32_t nobody = 0;

        return __atomic_compare_exchange_n(&holder, &nobody, t->writer.slot->tid, false,
                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* By the holder, which then lets go. */
static void apply_all(struct thread *t)
{
        __atomic_add_fetch(&agent.head->region_seq, 1, __ATOMIC_RELEASE);
        for (struct operation *o = sorted_pending(), *next; o; o = next) {
                next = o->next;
                o->apply(t, o);
                __atomic_store_n(&o->used, 0, __ATOMIC_RELEASE);
        }
        __atomic_add_fetch(&agent.head->region_seq, 1, __ATOMIC_RELEASE);
        __atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
}

/* A holder looks again after letting go: what comes meanwhile is left to it. */
static void apply_pending(struct thread *t)
{
        while (__atomic_load_n(&pending, __ATOMIC_ACQUIRE) && hold(t))
                apply_all(t);
}

/* A step of waiting for the holder, which may have been stopped: by others that want the processor,
 * by a debugger, by us in a signal handler. */
static bool may_wait(const struct thread *t, uint32_t step, uint64_t *end_ns)
{
        if (step == WAITS_MAX || __atomic_load_n(&holder, __ATOMIC_RELAXED) == t->writer.slot->tid)
                return false;
        if (!agent.sandboxed) {
                uint64_t now = sys_clock_ns(SYS_CLOCK_MONO);

                if (step == 0)
                        *end_ns = now + WAIT_NS;
                else if (now >= *end_ns)
                        return false;
        }
        sys_yield();
        return true;
}

void queue_settle(struct thread *t)
{
        uint64_t end_ns;

        for (uint32_t step = 0; !hold(t); step++)
                if (!may_wait(t, step, &end_ns))
                        return;
        apply_all(t);
}

static struct operation *find_unused(void)
{
        static uint32_t cursor;
        uint32_t count = __atomic_load_n(&room, __ATOMIC_ACQUIRE);

        for (uint32_t i = 0; i < count; i++) {
                struct operation *o =
                        &operations[__atomic_fetch_add(&cursor, 1, __ATOMIC_RELAXED) % count];

                if (!__atomic_load_n(&o->used, __ATOMIC_RELAXED) &&
                    !__atomic_exchange_n(&o->used, 1, __ATOMIC_ACQUIRE))
                        return o;
        }
        return NULL;
}

static bool grow(void)
{
        uint32_t count = __atomic_load_n(&room, __ATOMIC_RELAXED);

        if (count == OPERATIONS || !arena_table_open(&memory, 2ull * count * sizeof *operations))
                return false;
        __atomic_compare_exchange_n(&room, &count, 2 * count, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
        return true;
}

/* All are used when the thread that applies them was stopped for long.  It is waited for,
 * unless there is none any more (it has not come to its second look, or it is not in this
 * process): then we do its work. */
struct operation *queue_new(struct thread *t)
{
        struct operation *o = find_unused();
        uint64_t end_ns;

        while (!o && grow())
                o = find_unused();
        for (uint32_t step = 0; !o && may_wait(t, step, &end_ns); step++) {
                apply_pending(t);
                o = find_unused();
        }
        if (!o)
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
        return o;
}

struct operation *queue_new_at(struct thread *t, uint32_t kind, struct arch_state caller)
{
        uint32_t node = 0, site;
        struct operation *o;

        if (agent.flags & WIRE_F_NO_STACKS ? stack_none(t) : stack_capture_whole(t, caller))
                node = stack_node(t);
        site = node ? tree_site(&agent_book, node, kind) : 0;
        o = site ? queue_new(t) : NULL;
        if (o) {
                o->site = site;
                o->thread = t->writer.record;
                o->birth_ms = agent_now_ms();
                o->ticket = queue_ticket();
        }
        return o;
}

void queue_submit(struct thread *t, struct operation *o)
{
        o->next = __atomic_load_n(&pending, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&pending, &o->next, o, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
                ;
        apply_pending(t);
}
