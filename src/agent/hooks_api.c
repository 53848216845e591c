/* SPDX-License-Identifier: MIT */
/*
 * hooks_api.c -- what include/seep.h calls, and what the headers of memtraq and memtrail call.
 *
 * Room:   inside; called by the program, in any thread, also in signal handlers.
 */
#include "agent/agent.h"
#include "agent/hook.h"
#include "agent/mark.h"
#include "agent/pool.h"
#include "agent/resource.h"
#include "agent/ring.h"
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

static uint32_t mark(enum ledger_mark_type type, const char *label, uint32_t flags)
{
        uint32_t index = mark_add(type, label, flags);

        if (index != ERA_NO_MARK)
                ring_put(thread_self, LEDGER_EVENT_MARK, type, 0, index, 0);
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

#define LEVEL_MOST INT16_MAX

static int32_t base(void)
{
        return agent.flags & WIRE_F_START_OFF ? 0 : 1;
}

/* WORD with LEVEL, and with OFF as that says if it is turned by it: seep control may have turned it
 * otherwise. */
static uint32_t word_at(uint32_t word, int32_t level)
{
        int32_t was = base() + special_level(word), now = base() + level;

        word = (word & SPECIAL_ANY) | (uint32_t)level << SPECIAL_LEVEL;
        if ((was > 0) == (now > 0))
                return word;
        return now > 0 ? word & ~(uint32_t)SPECIAL_OFF : word | SPECIAL_OFF;
}

/* For those who look from outside.  Looked at again: of two threads the last one to write may not
 * be the last one to turn. */
static void tell(void)
{
        uint32_t off;

        do {
                off = __atomic_load_n(&agent.special, __ATOMIC_SEQ_CST) & SPECIAL_OFF;
                __atomic_store_n(&agent.head->off, off ? 1 : 0, __ATOMIC_SEQ_CST);
        } while ((__atomic_load_n(&agent.special, __ATOMIC_SEQ_CST) & SPECIAL_OFF) != off);
}

/* LEVEL of the word WAS becomes LEVEL; false: the word is another one now, and WAS has it. */
static bool change(uint32_t *was, int32_t level)
{
        bool on = base() + level > 0;

        if (!__atomic_compare_exchange_n(&agent.special, was, word_at(*was, level), false,
                                         __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
                return false;
        if ((base() + special_level(*was) > 0) == on)
                return true;
        tell();
        mark(on ? LEDGER_MARK_ENABLE : LEDGER_MARK_DISABLE, NULL, 0);
        return true;
}

static void step(int32_t by)
{
        uint32_t was = agent.special;
        int32_t level;

        if (!agent_on())
                return;
        do {
                level = special_level(was) + by;
                if (level > LEVEL_MOST || level < -LEVEL_MOST)
                        return;
        } while (!change(&was, level));
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
        uint32_t was = agent.special;

        if (!agent_on())
                return;
        do
                if ((base() + special_level(was) > 0) == on)
                        return;
        while (!change(&was, (on ? 1 : 0) - base()));
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
