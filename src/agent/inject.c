/* SPDX-License-Identifier: MIT */
/*
 * inject.c -- the agent in a process that it was written into: its start and its end.
 *
 * Room:   inside; a thread that seep stopped somewhere runs inject_enter and inject_leave, on a
 *         stack of ours, with all signals blocked.  It may hold any lock of the program's: nothing
 *         is waited for but the kernel.
 * Keeps:  no thread but the calling one is inside the agent while inject_leave runs.
 */
#ifndef SEEP_INJECTED
#define SEEP_INJECTED /* there is no other use for this file */
#endif
#ifndef SEEP_GPU
#define SEEP_GPU
#endif

#include "agent/inject.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/real.h"
#include "agent/sandbox.h"
#include "agent/slot.h"
#include "agent/sys.h"

#include "agent/guest.h"

/* ---- what seep reads and writes ---- */

extern const char _end[] __attribute__((visibility("hidden")));

static void inject_enter(void);
static void inject_leave(void);

static uint8_t stack[WIRE_INJECT_STACK] __attribute__((aligned(64)));
static uint8_t room[WIRE_INJECT_ROOM] __attribute__((aligned(64)));

/* It stays when the agent leaves: a thread may come back from a real function later. */
static uint8_t gate[ARCH_PAGE_MOST] __attribute__((aligned(ARCH_PAGE_MOST)));

#define NAME(name, symbol) { WIRE_ADDRESS(symbol), WIRE_ADDRESS(&real.name) },
#define X(name, symbol, result, parameters) NAME(name, symbol)
static const struct wire_inject_name names[] = {
#include "agent/hooks.def"
#if ARCH_TWO_TIMES
#include "agent/hooks_time64.def"
#endif
#include "agent/hooks_gpu.def"
        REAL_READ(NAME)
        NAME(dl_debug_state, "_dl_debug_state")
};
#undef X

struct wire_inject own_words = {
        .enter = WIRE_ADDRESS(inject_enter),
        .leave = WIRE_ADDRESS(inject_leave),
        .stack = WIRE_ADDRESS(stack),
        .names = WIRE_ADDRESS(names),
        .name_count = sizeof names / sizeof *names,
        .cells = WIRE_ADDRESS(own_cells),
        .room = WIRE_ADDRESS(room),
        .slots = WIRE_ADDRESS(slot_table),
        .slot_hooks = WIRE_ADDRESS(slot_hooks),
        .filter_code = WIRE_ADDRESS(sandbox_code),
        .gate = WIRE_ADDRESS(gate),
        .gate_off = GATE_OFF,
        .ledger = -1,
};

bool inject_hand_over(long fd)
{
        arena_own((uintptr_t)own_image, (size_t)(_end - own_image));
        own_words.ledger = (int32_t)fd;
        return fd >= 0;
}

/* ---- start and end ---- */

/* seep takes the thread away from here. */
static __attribute__((noreturn)) void rest(void)
{
        own_words.done = WIRE_INJECT_OVER;
        for (;;)
                sys_call6(SYS_ppoll, 0, 0, 0, 0, 0, 0);
}

static __attribute__((noreturn)) void inject_enter(void)
{
        own_tid_at = own_words.tid_at;
        agent_on();
        if (own_words.ledger >= 0) {
                own_words.done = WIRE_INJECT_GIVES;
                while (!own_words.taken)
                        sys_yield();
                sys_close(own_words.ledger);
                sandbox_heed();
        }
        rest();
}

/* What we mapped is listed in the ledger, which goes last. */
static __attribute__((noreturn)) void inject_leave(void)
{
        struct ledger_head *head = agent.head;
        const struct ledger_range *own = head ? arena_at(LEDGER_OWN) : NULL;
        uint64_t known = head ? head->part[LEDGER_OWN].committed / sizeof *own : 0;

        agent.head = NULL;
        sandbox_watch(NULL);
        if (own_filter_count())
                sandbox_lift();
        for (uint64_t i = 0; head && i < head->own_count && i < known; i++)
                if (own[i].end > own[i].start && own[i].start != (uintptr_t)own_image)
                        sys_unmap((void *)(uintptr_t)own[i].start, own[i].end - own[i].start);
        if (head)
                sys_unmap(head, head->file_size);
        rest();
}
