/* SPDX-License-Identifier: MIT */
/*
 * fault.c -- releases that went wrong, with both stacks.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  one entry per distinct (type, releasing stack, allocating site); the table is short and searched from the front.
 */
#include "agent/fault.h"

#include "agent/arena.h"
#include "agent/journal.h"
#include "agent/stack.h"

#include "agent/guest.h"

#define FAULTS_MAX 4096u

static bool same(const struct ledger_error *e, const struct ledger_error *f)
{
        return e->type == f->type && e->node == f->node && e->alloc_site == f->alloc_site && e->release == f->release;
}

void fault_note(struct thread *t, enum ledger_error_type type, const struct ledger_block *block, uint64_t address,
                uint32_t family, struct arch_state caller)
{
        struct ledger_error *all = arena_at(LEDGER_ERRORS);
        struct ledger_error f = { .type = type, .address = address, .release = family, .thread = t->record };
        uint32_t count = __atomic_load_n(&agent.head->error_count, __ATOMIC_ACQUIRE);

        if (agent.flags & WIRE_F_NO_STACKS ? stack_none(t) : stack_capture_whole(t, caller))
                f.node = stack_node(t);
        f.alloc_site = block ? LEDGER_BLOCK_SITE(*block) : 0;
        f.size = block ? LEDGER_BLOCK_SIZE(*block) : 0;
        f.first_ms = agent_now_ms();
        journal_put(t, LEDGER_EVENT_BAD_FREE, type, f.node, address, caller.pc);
        t->last = 0;
        if (type == LEDGER_ERROR_UNKNOWN_FREE && agent.head->lost_events)
                return; /* its allocation may be the one that was lost */
        for (uint32_t i = 0; i < count && i < FAULTS_MAX; i++)
                if (same(&all[i], &f)) {
                        __atomic_add_fetch(&all[i].count, 1, __ATOMIC_RELAXED);
                        return;
                }
        if (count >= FAULTS_MAX - 64 || !arena_commit(LEDGER_ERRORS, FAULTS_MAX * sizeof f)) {
                __atomic_add_fetch(&agent.head->faults_not_kept, 1, __ATOMIC_RELAXED);
                return;
        }
        count = __atomic_fetch_add(&agent.head->error_count, 1, __ATOMIC_ACQ_REL);
        f.count = 1;
        if (count < FAULTS_MAX)
                all[count] = f;
}
