/* SPDX-License-Identifier: MIT */
/*
 * verify.c -- test mode: every captured stack is compared with an independent one.
 *
 * Room:   inside; with the thread THREAD_ACTIVE.  Calls the C library's backtrace(), which no
 *         other part of the agent does.
 */
#include "agent/verify.h"

#include "agent/arena.h"
#include "agent/ehabi.h"
#include "agent/object.h"
#include "agent/real.h"
#include "agent/stack.h"
#include "agent/sys.h"
#include "agent/unwind.h"

#include "agent/guest.h"

#define BACKTRACE_MAX 8192

static bool verify_without_table(uint64_t pc)
{
        const struct object *o = object_get(object_find((pc & ~FRAME_EXACT) - !(pc & FRAME_EXACT)));

        return !o || !object_has_tables(o);
}

/* Where tables are those of arm, backtrace() leaves out a last frame whose code says that nothing
 * leads out of it; where frames are a chain, one whose code is in no table. */
static bool verify_is_left_out(const struct thread *t, uint64_t pc)
{
        uint64_t code = (pc & ~FRAME_EXACT) - !(pc & FRAME_EXACT);
        const struct object *o = object_get(object_find(code));
        struct ehabi_code found;

        if (ARCH_FRAME_CHAIN == ARCH_CHAIN_STACK)
                return o && !cfi_find(o, code, t->work);
        return ARCH_EHABI && o && ehabi_find(o, code, &found) != EHABI_FOUND;
}

/* backtrace() begins with frames of ours; the comparison starts at CALLER.  It does not know frames
 * without unwind tables, so it may end early there, and only there. */
static bool same_as_backtrace(void *const *pcs, int count, const struct thread *t, uint32_t frames)
{
        bool guessed = false;
        uint32_t n = 0;
        int i = 0;

        while (i < count && (uintptr_t)pcs[i] != t->fresh[0].pc)
                i++;
        if (i == count)
                return frames == 1 && verify_is_left_out(t, t->fresh[0].pc);
        for (; i < count && n < frames; i++, n++) {
                if ((t->fresh[n].pc & ~FRAME_EXACT) != (uintptr_t)pcs[i])
                        return guessed;
                guessed |= verify_without_table(t->fresh[n].pc);
        }
        return (i == count && n == frames) || guessed || count == BACKTRACE_MAX ||
               (i == count && n + 1 == frames && verify_is_left_out(t, t->fresh[n].pc));
}

/* Compare the FRAMES frames of the full unwind with the C library's idea of the same stack. */
static void verify_backtrace(struct thread *t, uint32_t frames, struct arch_state caller)
{
        static void **pcs;
        static uint32_t lock;
        uint64_t inside = t->inside;
        bool cut;
        int count;

        if (!real.backtrace || __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
                return;
        if (!pcs)
                pcs = arena_private(BACKTRACE_MAX * sizeof *pcs);
        if (pcs) {
                t->inside = caller.sp; /* what backtrace() allocates is no event */
                count = real.backtrace(pcs, BACKTRACE_MAX);
                t->inside = inside;
                if (!ARCH_FAST_CAPTURE) /* what it allocated was unwound, in the same room */
                        frames = unwind_full(t, caller, &cut);
                __atomic_add_fetch(&agent.head->verify_backtraces, 1, __ATOMIC_RELAXED);
                if (!same_as_backtrace(pcs, count, t, frames))
                        __atomic_add_fetch(&agent.head->verify_backtrace_differences, 1,
                                           __ATOMIC_RELAXED);
        }
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

uint64_t verify_capture(struct thread *t, struct arch_state caller)
{
        uint64_t again, stack;
        uint32_t count, scans;
        bool cut, same;

        if (t->frame_count && !t->unsure)
                thread_set_top(t, &t->frames[t->frame_count - 1]);
        scans = object_scans();
        again = stack_again(t, caller) ? t->top->hash : 0;
        stack = stack_capture(t, &caller);
        thread_set_top(t, &thread_no_frame); /* so that the next event comes here too */
        count = unwind_full(t, caller, &cut);
        same = count && (!again || again == stack) && stack == stack_unwound_hash(t, count, cut);
        /* Another thread that loads or unloads a library in between gives code other
         * numbers: no judgement then. */
        if (same || scans == object_scans())
                __atomic_add_fetch(&agent.head->verify_captures, 1, __ATOMIC_RELAXED);
        if (!same && scans == object_scans())
                __atomic_add_fetch(&agent.head->verify_differences, 1, __ATOMIC_RELAXED);
        if (count && t->captures++ % VERIFY_SAMPLE == 0)
                verify_backtrace(t, count, caller);
        return stack_capture(t, &caller); /* the unwind used the room of its fresh frames */
}
