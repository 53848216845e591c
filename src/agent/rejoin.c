/* SPDX-License-Identifier: MIT */
/*
 * rejoin.c -- another observer goes on with the recording of one that is gone.
 *
 * Keeps:  where anything fails the ledger stays as it was, and the program goes on.
 */
#include "agent/rejoin.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/own.h"
#include "agent/sandbox.h"
#include "agent/sys.h"
#include "wire/rejoin.h"

#include "agent/guest.h"

static uint8_t stack[WIRE_REJOIN_STACK] __attribute__((aligned(64)));
static struct wire_rejoin words;

/* What the observer was about to do when it went is over: nobody waits for that any more. */
static void settle(struct ledger_head *head)
{
        head->observer = agent.observer;
        if (!(head->reclaims & 1))
                return;
        for (uint32_t i = 0; i < LEDGER_RECLAIMS; i++)
                if (head->reclaim[i].state == LEDGER_RECLAIM_TAKEN)
                        head->reclaim[i].state = LEDGER_RECLAIM_GONE;
        head->reclaims++;
}

/* The ledger in a new file, and its descriptor. */
static long renew(void)
{
        long fd;

        sandbox_watch(NULL); /* which looks at the ledger */
        fd = arena_renew();
        sandbox_watch(&agent.head->filters);
        if (fd < 0)
                return fd;
        agent_reassign(words.session);
        settle(agent.head);
        return fd;
}

static __attribute__((noreturn)) void rejoin_enter(void)
{
        long fd = renew();

        words.ledger = (int32_t)fd;
        if (fd >= 0) {
                words.done = WIRE_REJOIN_GIVES;
                while (!words.taken)
                        sys_yield();
                sys_close(fd);
        }
        words.done = WIRE_REJOIN_OVER;
        for (;;)
                sys_call6(SYS_ppoll, 0, 0, 0, 0, 0, 0);
}

void rejoin_start(const char *session)
{
        size_t length = strlen(session);

        if (length >= sizeof words.session)
                return;
        memcpy(words.session, session, length + 1);
        words.magic = WIRE_REJOIN_MAGIC;
        words.enter.own.at = (uintptr_t)rejoin_enter;
        words.stack.own.at = (uintptr_t)stack;
        words.gate.own.at = (uintptr_t)agent.gate;
        words.gate_on = GATE_ON;
        words.injected = INJECTED;
        agent.head->rejoin_at = (uintptr_t)&words;
}
