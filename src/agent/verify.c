/* SPDX-License-Identifier: MIT */
/*
 * verify.c -- test mode: every captured stack is compared with an independent one.
 *
 * Room:   inside; with the thread THREAD_ACTIVE.  Calls the C library's backtrace(), which no other part of the agent does.
 */
#include "agent/verify.h"

#include "agent/object.h"
#include "agent/real.h"
#include "agent/stack.h"
#include "agent/sys.h"
#include "agent/unwind.h"

#include "agent/guest.h"

#define BACKTRACE_MAX 8192

/* Whether NODE's stack is exactly the COUNT frames in t->fresh. */
static bool same_as_unwind(const struct thread *t, uint32_t node, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                const struct ledger_node *n = &agent.nodes[node];

                if (node <= LEDGER_NODE_CUT || LEDGER_NODE_PC(n->pc_module) != (t->fresh[i].pc & ~FRAME_EXACT))
                        return false;
                node = n->parent;
        }
        return node <= LEDGER_NODE_CUT;
}

static bool verify_without_table(uint64_t pc_module)
{
        const struct object *o = object_get(LEDGER_NODE_MODULE(pc_module));

        return !o || !object_has_tables(o);
}

/* backtrace() begins with frames of ours; the comparison starts at CALLER.  It does not know frames without unwind tables, so it
 * may end early there, and only there. */
static bool same_as_backtrace(void *const *pcs, int count, uint32_t node, struct arch_state caller)
{
        bool guessed = false;
        int i = 0;

        while (i < count && (uint64_t)pcs[i] != caller.pc)
                i++;
        if (i == count)
                return false;
        for (; i < count && node > LEDGER_NODE_CUT; i++) {
                const struct ledger_node *n = &agent.nodes[node];

                if (LEDGER_NODE_PC(n->pc_module) != (uint64_t)pcs[i])
                        return guessed;
                guessed |= verify_without_table(n->pc_module);
                node = n->parent;
        }
        return (i == count && node <= LEDGER_NODE_CUT) || guessed || count == BACKTRACE_MAX;
}

static void verify_backtrace(struct thread *t, uint32_t node, struct arch_state caller)
{
        static void **pcs;
        static uint32_t lock;
        uint64_t inside = t->inside;
        int count;

        if (!real.backtrace || __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
                return;
        if (!pcs)
                pcs = sys_memory(BACKTRACE_MAX * sizeof *pcs);
        if (pcs) {
                t->inside = caller.sp; /* what backtrace() allocates is no event */
                count = real.backtrace(pcs, BACKTRACE_MAX);
                t->inside = inside;
                __atomic_add_fetch(&agent.head->verify_backtraces, 1, __ATOMIC_RELAXED);
                if (!same_as_backtrace(pcs, count, node, caller))
                        __atomic_add_fetch(&agent.head->verify_backtrace_differences, 1, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

uint64_t verify_capture(struct thread *t, struct arch_state caller)
{
        uint64_t again, captured, stack;
        uint32_t node, count;
        bool cut;

        if (t->frame_count && !t->unsure)
                t->top = &t->frames[t->frame_count - 1];
        again = stack_again(t, caller);
        captured = stack_capture(t, caller);
        stack = stack_capture_whole(t, caller);
        node = stack_node(t);
        t->top = &thread_no_frame; /* so that the next event comes here too */
        count = unwind_full(t, caller, &cut);
        __atomic_add_fetch(&agent.head->verify_captures, 1, __ATOMIC_RELAXED);
        if (!count || (again && again != stack) || captured != stack || !same_as_unwind(t, node, count))
                __atomic_add_fetch(&agent.head->verify_differences, 1, __ATOMIC_RELAXED);
        if (t->captures++ % VERIFY_SAMPLE == 0)
                verify_backtrace(t, node, caller);
        return stack;
}
