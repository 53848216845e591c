/* SPDX-License-Identifier: MIT */
#include "agent/limit.h"

#include "agent/mark.h"
#include "agent/omit.h"
#include "agent/signal.h"
#include "agent/sys.h"

#include "agent/guest.h"

static uint32_t snapshot_taken;

void limit_start(void)
{
        agent.head->limit_bytes = agent.limit;
        if (agent.limit || agent.snapshot_at)
                agent.special |= SPECIAL_LIMIT;
        if (agent.limit && (agent.flags & WIRE_F_LIMIT_ENOMEM))
                agent.special |= SPECIAL_REFUSE;
}

static uint64_t live_bytes(const struct thread *t)
{
        const struct ledger_slot *s = t->writer.slot;
        uint64_t own = s->alloc_bytes - s->free_bytes;

        return agent.head->several ? agent.head->live_bytes + (own - s->flushed_bytes) : own;
}

static bool first(uint32_t *counter)
{
        return __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL) == 0;
}

static void report(enum ledger_mark_type type)
{
        mark_wait(mark_add(type, NULL, LEDGER_MARK_WAITED));
}

/* Another thread was first, and will end the program when its report is written. */
static void wait_for_the_end(void)
{
        long nap[2] = { 1, 0 };

        for (;;)
                sys_call3(SYS_nanosleep, (long)nap, 0, 0);
}

void limit_check(struct thread *t)
{
        uint64_t live = live_bytes(t);

        if (agent.snapshot_at && live >= agent.snapshot_at && !snapshot_taken &&
            first(&snapshot_taken))
                report(LEDGER_MARK_HEAP);
        if (!agent.limit || live <= agent.limit || (agent.flags & WIRE_F_LIMIT_ENOMEM))
                return;
        if (first(&agent.head->limit_hits)) {
                report(LEDGER_MARK_LIMIT);
                if (!(agent.flags & WIRE_F_LIMIT_SNAPSHOT))
                        signal_abort();
        } else if (!(agent.flags & WIRE_F_LIMIT_SNAPSHOT)) {
                wait_for_the_end();
        }
}

static bool refuses(struct thread *t, size_t size)
{
        if (!size || (uint64_t)size > LEDGER_SIZE_MAX || live_bytes(t) + size <= agent.limit)
                return false;
        if (first(&agent.head->limit_hits))
                report(LEDGER_MARK_LIMIT);
        return true;
}

bool limit_holds_for(uint64_t pc)
{
        return !omit_caller(pc);
}

bool limit_refuses(struct thread *t, size_t size, uint64_t pc)
{
        return limit_holds_for(pc) && refuses(t, size);
}

size_t limit_inner_size(size_t size)
{
        struct thread *t = thread_self;

        return t && t->refusing && t->inside > THREAD_ACTIVE && refuses(t, size) ? LIMIT_IMPOSSIBLE
                                                                                 : size;
}
