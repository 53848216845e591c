/* SPDX-License-Identifier: MIT */
/*
 * own.c -- what a thread has of its own, where no loader gives it thread-local variables.
 *
 * Room:   inside; any context.
 * Keeps:  no lock.  A cell is never emptied: threads come back with the pointers of others; where
 *         too many have come, that of one that is dead is taken.
 */
#ifndef SEEP_INJECTED
#define SEEP_INJECTED /* there is no other use for this file */
#endif

#include "agent/own.h"

#include "agent/agent.h"
#include "agent/sys.h"

#include "agent/guest.h"

struct wire_inject_cell own_cells[WIRE_INJECT_CELLS] __attribute__((aligned(64)));
uint64_t own_tid_at;

static struct wire_inject_cell *cell_at(uint64_t pointer, uint32_t i)
{
        return &own_cells[(wire_inject_place(pointer) + i) % WIRE_INJECT_CELLS];
}

struct thread *own_get_slow(uint64_t pointer)
{
        for (uint32_t i = 0; i < WIRE_INJECT_WINDOW; i++) {
                struct wire_inject_cell *c = cell_at(pointer, i);
                uint64_t there = __atomic_load_n(&c->pointer, __ATOMIC_ACQUIRE);

                if (there == pointer)
                        return c->check == own_check(pointer) ? (struct thread *)(uintptr_t)c->state
                                                              : NULL;
                if (!there)
                        return NULL;
        }
        return NULL;
}

static bool is_dead(uint64_t tid)
{
        return sys_call6(SYS_tgkill, agent.pid, (long)(uint32_t)tid, 0, 0, 0, 0) == -SYS_ESRCH;
}

/* Make C the cell of POINTER when it is that of WAS.  True: it is. */
static bool cell_take(struct wire_inject_cell *c, uint64_t was, uint64_t pointer)
{
        return __atomic_compare_exchange_n(&c->pointer, &was, pointer, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE) ||
               was == pointer;
}

static struct wire_inject_cell *cell_find(uint64_t pointer)
{
        for (uint32_t i = 0; i < WIRE_INJECT_WINDOW; i++) {
                struct wire_inject_cell *c = cell_at(pointer, i);
                uint64_t there = __atomic_load_n(&c->pointer, __ATOMIC_ACQUIRE);

                if (there == pointer || (!there && cell_take(c, 0, pointer)))
                        return c;
        }
        for (uint32_t i = 0; i < WIRE_INJECT_WINDOW;
             i++) { /* all taken: somebody must have ended */
                struct wire_inject_cell *c = cell_at(pointer, i);
                uint64_t there = __atomic_load_n(&c->pointer, __ATOMIC_ACQUIRE);

                if (is_dead(c->check) && cell_take(c, there, pointer))
                        return c;
        }
        return NULL;
}

bool own_set(struct thread *t)
{
        uint64_t pointer = arch_thread_pointer();
        struct wire_inject_cell *c = cell_find(pointer);

        if (!c)
                return false;
        c->state = (uintptr_t)t;
        compiler_barrier();
        c->check = own_check(pointer);
        return true;
}

void own_forked(void)
{
        uint64_t pointer = arch_thread_pointer();

        for (uint32_t i = 0; i < WIRE_INJECT_WINDOW; i++)
                if (cell_at(pointer, i)->pointer == pointer) {
                        cell_at(pointer, i)->check = own_check(pointer);
                        return;
                }
}
