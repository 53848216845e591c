/* SPDX-License-Identifier: MIT */
/*
 * hooks_api.c -- what include/seep.h calls.
 *
 * Room:   inside; called by the program, in any thread, also in signal handlers.
 */
#include "agent/agent.h"
#include "agent/hook.h"
#include "agent/journal.h"
#include "agent/mark.h"
#include "agent/pool.h"
#include "agent/resource.h"
#include "agent/scan.h"

#include "agent/guest.h"

#define API __attribute__((visibility("default")))

void seep_tag(const char *name) API;
void seep_snapshot(const char *label) API;
void seep_enable(void) API;
void seep_disable(void) API;
void seep_alloc(const void *block, size_t size) API;
void seep_free(const void *block) API;
void seep_acquire(const char *type, uint64_t handle, uint64_t amount) API;
void seep_release(const char *type, uint64_t handle) API;
void seep_ignore(const void *block) API;
void seep_root(const void *start, size_t size) API;
size_t seep_leak_check(void) API;

static int32_t level; /* ENABLEs less DISABLEs */

static uint32_t mark(enum ledger_mark_type type, const char *label, uint32_t flags)
{
        uint32_t index = mark_add(type, label, flags);

        if (index != MARK_NONE)
                journal_put(thread_self, LEDGER_EVENT_MARK, type, 0, index, 0);
        return index;
}

void seep_tag(const char *name)
{
        uint32_t waits, index;

        if (!agent_on())
                return;
        waits = mark_may_wait() ? LEDGER_MARK_WAITED : 0;
        index = mark(LEDGER_MARK_TAG, name, waits);
        if (waits)
                mark_wait(index);
}

void seep_snapshot(const char *label)
{
        if (agent_on())
                mark_wait(mark(LEDGER_MARK_SNAPSHOT, label, LEDGER_MARK_WAITED));
}

static void step(int32_t by, enum ledger_mark_type type)
{
        int32_t base = agent.flags & WIRE_F_START_OFF ? 0 : 1, now;
        bool on, was;

        if (!agent_on())
                return;
        now = base + __atomic_add_fetch(&level, by, __ATOMIC_ACQ_REL);
        on = now > 0;
        was = now - by > 0;
        if (on == was)
                return;
        if (on)
                __atomic_and_fetch(&agent.special, ~(uint32_t)SPECIAL_OFF, __ATOMIC_RELAXED);
        else
                __atomic_or_fetch(&agent.special, SPECIAL_OFF, __ATOMIC_RELAXED);
        agent.head->off = !on;
        mark(type, NULL, 0);
}

void seep_enable(void)
{
        step(1, LEDGER_MARK_ENABLE);
}

void seep_disable(void)
{
        step(-1, LEDGER_MARK_DISABLE);
}

/* Blocks and resources are recorded like those of malloc. */
#define RECORD(CALL)                                                           \
        do {                                                                   \
                struct arch_state caller;                                      \
                struct thread *t;                                              \
                                                                               \
                ARCH_FRAME(caller);                                            \
                t = hook_enter(caller);                                        \
                if (!t)                                                        \
                        return;                                                \
                hook_work(t);                                                  \
                CALL;                                                          \
                hook_leave(t);                                                 \
        } while (0)

void seep_alloc(const void *block, size_t size)
{
        RECORD(pool_alloc(t, (uint64_t)block, size, caller));
}

void seep_free(const void *block)
{
        RECORD(pool_free(t, (uint64_t)block, caller));
}

void seep_acquire(const char *type, uint64_t handle, uint64_t amount)
{
        RECORD(resource_acquire(t, resource_kind(type), handle, amount, caller));
}

void seep_release(const char *type, uint64_t handle)
{
        RECORD(resource_release(t, resource_kind(type), handle, caller));
}

void seep_ignore(const void *block)
{
        if (agent_on())
                scan_ignore((uint64_t)block);
}

void seep_root(const void *start, size_t size)
{
        if (agent_on())
                scan_root((uint64_t)start, size);
}

size_t seep_leak_check(void)
{
        return agent_on() ? SCAN_ASK(LEDGER_SCAN_CHECK) : 0;
}
