/* SPDX-License-Identifier: MIT */
/*
 * hooks_api.c -- what include/seep.h calls, and what the headers of memtraq and memtrail call.
 *
 * Room:   inside; called by the program, in any thread, also in signal handlers.
 */
#include "agent/agent.h"
#include "agent/hook.h"
#include "agent/journal.h"
#include "agent/mark.h"
#include "agent/pool.h"
#include "agent/resource.h"
#include "agent/search_request.h"

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

/* As memtraq.h declares them (weak), and as memtrail.h looks its one up by dlsym(). */
void memtraq_enable(void) API;
void memtraq_disable(void) API;
void memtraq_tag(const char *name) API;
void memtrail_snapshot(void) API;

static int32_t level; /* ENABLEs less DISABLEs */

static uint32_t mark(enum ledger_mark_type type, const char *label, uint32_t flags)
{
        uint32_t index = mark_add(type, label, flags);

        if (index != ERA_NO_MARK)
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

static int32_t base(void)
{
        return agent.flags & WIRE_F_START_OFF ? 0 : 1;
}

static void turn(bool on)
{
        if (on)
                __atomic_and_fetch(&agent.special, ~(uint32_t)SPECIAL_OFF, __ATOMIC_RELAXED);
        else
                __atomic_or_fetch(&agent.special, SPECIAL_OFF, __ATOMIC_RELAXED);
        agent.head->off = !on;
        mark(on ? LEDGER_MARK_ENABLE : LEDGER_MARK_DISABLE, NULL, 0);
}

static void step(int32_t by)
{
        int32_t now;

        if (!agent_on())
                return;
        now = base() + __atomic_add_fetch(&level, by, __ATOMIC_ACQ_REL);
        if ((now > 0) != (now - by > 0))
                turn(now > 0);
}

void seep_enable(void)
{
        step(1);
}

void seep_disable(void)
{
        step(-1);
}

/* memtraq has a switch where we count: one ENABLE undoes any number of DISABLEs. */
static void set(bool on)
{
        int32_t was, wanted = (on ? 1 : 0) - base();

        if (!agent_on())
                return;
        was = __atomic_load_n(&level, __ATOMIC_ACQUIRE);
        do
                if ((base() + was > 0) == on)
                        return;
        while (!__atomic_compare_exchange_n(&level, &was, wanted, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE));
        turn(on);
}

void memtraq_enable(void)
{
        set(true);
}

void memtraq_disable(void)
{
        set(false);
}

void memtraq_tag(const char *name)
{
        seep_tag(name);
}

void memtrail_snapshot(void)
{
        seep_snapshot(NULL);
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
        RECORD(pool_alloc(t, (uintptr_t)block, size, caller));
}

void seep_free(const void *block)
{
        RECORD(pool_free(t, (uintptr_t)block, caller));
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
                search_request_ignore((uintptr_t)block);
}

void seep_root(const void *start, size_t size)
{
        if (agent_on())
                search_request_root((uintptr_t)start, size);
}

size_t seep_leak_check(void)
{
        return agent_on() ? SCAN_ASK(LEDGER_SCAN_CHECK) : 0;
}
