/* SPDX-License-Identifier: MIT */
/*
 * life.c -- fork: a child either stops recording or gets a ledger of its own.
 *
 * Keeps:  the child's copy is made by the parent before fork(), so it is exact for a program with
 *         one thread.  With several, what the others do during the copy may be half in it: their
 *         blocks are of no use to the child anyway.
 */
#include "agent/life.h"

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/fatal.h"
#include "agent/hello.h"
#include "agent/object.h"
#include "agent/queue.h"
#include "agent/region.h"
#include "agent/rule.h"
#include "agent/sandbox.h"
#include "agent/stream.h"
#include "agent/sys.h"
#include "agent/thin.h"
#include "agent/thread.h"
#include "book/peak.h"
#include "book/tree.h"
#include "wire/journal.h"

#include "agent/guest.h"

long life_before_fork(void)
{
        struct thread *t = thread_self;
        long copy;

        if (agent.follow == FOLLOW_ALL && t && !t->inside)
                queue_settle(t);
        copy = agent.follow == FOLLOW_ALL ? arena_copy() : -1;
        if (copy >= 0)
                __atomic_add_fetch(&agent.head->forks_followed, 1, __ATOMIC_RELAXED);
        return copy;
}

void life_parent(long copy, bool forked)
{
        if (copy < 0)
                return;
        sys_close(copy);
        if (!forked)
                __atomic_sub_fetch(&agent.head->forks_followed, 1, __ATOMIC_RELAXED);
}

/* Found out while the ledger is still the parent's, which can tell who is not recorded. */
static bool life_can_come(bool announced)
{
        if (agent.stream || hello_reaches(agent.socket))
                return true;
        if (announced)
                __atomic_sub_fetch(&agent.head->forks_followed, 1, __ATOMIC_RELAXED);
        return false;
}

static bool life_adopt(long copy)
{
        struct ledger_head *head = agent.head;

        if (head->several && !arena_copy_again(copy))
                return false;
        sandbox_watch(NULL);
        if (!arena_replace(copy))
                return false;
        head->filters = 0;
        sandbox_watch(&head->filters);
        agent.pid = sys_pid();
        head->ppid = head->pid;
        head->pid = agent.pid;
        head->parent_start_monotonic_ns = head->start_monotonic_ns;
        head->fork_several = head->several;
        head->fork_ms = agent_now_ms();
        head->tick_ms += head->several; /* what is born from now on is younger than the fork */
        head->observer = 0;
        head->forks_followed = 0;
        head->journal_read = head->journal_reserved; /* what the parent did is in its own log */
        head->journal_waiting = 0;
        head->served = head->mark_count; /* the same with its marks */
        /* What the parent's observer is about to take away is the parent's. */
        head->reclaims &= ~1u;
        head->scan_done = head->scan_asked;
        head->scan_holder = 0;
        agent_let_in();
        fatal_adopted();
        object_forked();
        rule_forked();
        tree_forked(&agent_book);
        thin_forked();
        queue_forked(thread_self);
        region_forked();
        thread_forked();
        peak_forked(&agent_book);
        return agent.stream ? stream_forked(copy) : hello_send(agent.socket, copy, WIRE_HELLO_FORK);
}

/* A forked child that is not recorded has its parent's ledger to tell. */
void life_starts(bool on)
{
        if (agent.sandboxed && agent.head && agent.follow != FOLLOW_NONE && !sandbox_lets_begin())
                __atomic_add_fetch(&agent.head->shut_out, on ? 1u : ~0u, __ATOMIC_RELAXED);
}

void life_leaving(bool on)
{
        life_starts(on);
        if (*agent.gate == GATE_ON && sys_pid() == agent.pid)
                agent.head->leaving = on;
        if (on)
                stream_end(JOURNAL_END_EXEC, 0);
}

void life_allocated(void)
{
        if (__atomic_exchange_n(&agent.unfollowed, 0, __ATOMIC_RELAXED))
                __atomic_add_fetch(&agent.head->forks_not_followed, 1, __ATOMIC_RELAXED);
}

bool life_child(long copy)
{
        bool on = false;

        own_forked();
        if (agent.follow == FOLLOW_ALL && life_can_come(copy >= 0)) {
                if (copy < 0)
                        copy = arena_copy();
                on = copy >= 0 && life_adopt(copy);
        }
        /* Still the parent's ledger: it tells who was not recorded. */
        if (!on && agent.follow == FOLLOW_ALL && agent.sandboxed)
                __atomic_add_fetch(&agent.head->shut_out, 1, __ATOMIC_RELAXED);
        else if (!on)
                agent.unfollowed = 1;
        if (copy >= 0)
                sys_close(copy);
        *agent.gate = on ? GATE_ON : GATE_OFF;
        return on;
}
