/* SPDX-License-Identifier: MIT */
#include "agent/ring.h"

#include "agent/arena.h"
#include "agent/object.h"
#include "agent/patience.h"
#include "agent/stream.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define LOOK_MS 100u /* a look takes some 100 us */
#define STEP_NS 50000000l
#define DEAF_STEPS 60u  /* so many steps without any tick: nobody reads any more */
#define END_S 60u
#define WAITING_MAX (1ull << 22) /* more than there can be threads, each with one event that
                                  * waits */
#define IDLE_STEPS 200u /* so many without anything read: the reader is somewhere else */

static uint64_t room; /* entries of the ring */

bool ring_start(void)
{
        uint64_t size = agent.head->part[LEDGER_JOURNAL].size;

        if (!(agent.flags & WIRE_F_EVENTS) && !agent.stream)
                return true;
        if (agent.stream)
                size = stream_events() * sizeof(struct ledger_event);
        room = size / sizeof(struct ledger_event);
        if (!arena_commit(LEDGER_JOURNAL, size))
                return false;
        agent.special |= SPECIAL_RING;
        return true;
}

/* No more events: the log is as long as it may be, or nobody reads it. */
static void journal_end(void)
{
        __atomic_and_fetch(&agent.special, ~SPECIAL_RING, __ATOMIC_RELAXED);
}

/* Wait until entry INDEX may be written.  False: never. */
static bool wait_for_room(uint64_t index)
{
        struct ledger_head *h = agent.head;
        struct patience p = { .work = (const uint32_t *)&h->journal_read, .quiet_steps = DEAF_STEPS,
                              .idle_steps = IDLE_STEPS, .end_s = END_S };
        long step[2] = { 0, STEP_NS }, result;
        bool lasts = true;
        uint32_t wake;

        if (index - __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE) >= room + WAITING_MAX)
                return false; /* a damaged head: nobody will ever get there */
        __atomic_add_fetch(&h->journal_waiting, 1, __ATOMIC_ACQ_REL);
        patience_begin(&p);
        while (wake = __atomic_load_n(&h->journal_wake, __ATOMIC_ACQUIRE),
               index - __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE) >= room &&
                       !h->journal_closed && lasts) {
                result = sys_call6(SYS_futex, (long)&h->journal_wake, SYS_FUTEX_WAIT, (long)wake,
                                   (long)step, 0, 0);
                lasts = patience_lasts(&p, result);
        }
        __atomic_sub_fetch(&h->journal_waiting, 1, __ATOMIC_ACQ_REL);
        return !h->journal_closed && lasts;
}

/* Libraries come without a word: the map is looked at now and then, and by whoever knows that one
 * may go. */
void ring_look(void)
{
        if (agent.special & SPECIAL_RING)
                object_unmapped();
}

static void look_now_and_then(uint32_t now_ms)
{
        static uint32_t looked_ms;
        uint32_t last = __atomic_load_n(&looked_ms, __ATOMIC_RELAXED);

        if (unlikely(now_ms - last >= LOOK_MS) &&
            __atomic_compare_exchange_n(&looked_ms, &last, now_ms, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
                object_unmapped();
}

void ring_write(const struct thread *t, enum ledger_event_type type, uint32_t kind, uint32_t site,
                uint64_t address, uint64_t size)
{
        struct ledger_head *h = agent.head;
        struct ledger_event *e;
        uint64_t index;

        if (agent.stream) {
                stream_tick();
                if (!stream_has_room())
                        return;
        }
        if (h->journal_closed) {
                journal_end();
                return;
        }
        index = __atomic_fetch_add(&h->journal_reserved, 1, __ATOMIC_ACQ_REL);
        if (unlikely(index - __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE) >= room) &&
            (agent.stream || !wait_for_room(index))) {
                if (!agent.stream)
                        journal_end();
                return; /* the stream passes over it, and counts it */
        }
        e = (struct ledger_event *)arena_at(LEDGER_JOURNAL) + index % room;
        e->type = (uint8_t)type;
        e->kind = (uint8_t)kind;
        e->thread = (uint16_t)(t ? t->writer.record : 0);
        e->site = site;
        e->ms = agent_now_ms();
        e->address = address;
        e->size = size;
        __atomic_store_n(&e->stamp, (uint32_t)(index + 1), __ATOMIC_RELEASE);
        look_now_and_then(agent_now_ms());
}
