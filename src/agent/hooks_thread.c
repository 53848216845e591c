/* SPDX-License-Identifier: MIT */
/*
 * hooks_thread.c -- threads are made and joined: their stacks, which the C library maps by itself.
 *
 * Room:   inside; called by the program.
 * Keeps:  the real functions run as if nobody had been called: what they allocate (thread-local
 *         storage) are events of the program.  When pthread_create returns, the new thread may
 *         have ended (descriptor.h).
 * Cost:   two system calls per thread that is made, and one for each of a few old ones.
 */
#include "agent/descriptor.h"
#include "agent/hook.h"
#include "agent/queue.h"
#include "agent/region.h"
#include "agent/sys.h"

#include "agent/guest.h"

/* Looks at stacks that may be gone.  A thread that ends takes one with it. */
#define LOOKS_MADE 2u
#define LOOKS_JOINED 4u

int hook_pthread_create(void *thread, const void *attributes, void *start, void *argument)
        HOOK("pthread_create");
int hook_pthread_join(void *thread, void *value) HOOK("pthread_join");
int hook_pthread_tryjoin_np(void *thread, void *value) HOOK("pthread_tryjoin_np");
int hook_pthread_timedjoin_np(void *thread, void *value, const void *until)
        HOOK("pthread_timedjoin_np");
int hook_pthread_clockjoin_np(void *thread, void *value, int clock, const void *until)
        HOOK("pthread_clockjoin_np");
int hook_thrd_create(void *thread, void *start, void *argument) HOOK("thrd_create");
int hook_thrd_join(void *thread, int *value) HOOK("thrd_join");

static bool stacks_wanted(void)
{
        return agent_on() && !(agent.flags & WIRE_F_NO_MMAP) && !agent.sandboxed &&
               real.gnu_get_libc_version;
}

/* The program brings the memory: that is what it is already. */
static bool has_own_stack(const void *attributes)
{
        uint64_t start = 0, bytes = 0;

        if (!attributes)
                return false;
        return !real.attr_getstack || real.attr_getstack(attributes, &start, &bytes) ||
               start + bytes;
}

/* A ticket for what happens in the real function; 0: no stack of the C library's is expected. */
static uint64_t before_thread(const void *attributes)
{
        return stacks_wanted() && !has_own_stack(attributes) ? queue_ticket() : 0;
}

static void thread_made(const void *name, uint64_t ticket, struct arch_state caller)
{
        struct thread *t = ticket ? hook_enter(caller) : NULL;
        struct descriptor_stack stack;

        if (!t)
                return;
        hook_work(t);
        region_look(t, LOOKS_MADE);
        if (descriptor_find((uintptr_t)name, &stack))
                region_add_stack(t, &stack, ticket, caller);
        hook_leave(t);
}

#define MAKE(ATTRIBUTES, CALL)                                                 \
        struct arch_state caller;                                              \
        uint64_t ticket = before_thread(ATTRIBUTES);                           \
        int result;                                                            \
                                                                               \
        ARCH_FRAME(caller);                                                    \
        result = CALL;                                                         \
        if (result == 0)                                                       \
                thread_made(thread, ticket, caller);                           \
        return result

int hook_pthread_create(void *thread, const void *attributes, void *start, void *argument)
{
        MAKE(attributes, REAL(pthread_create_)(thread, attributes, start, argument));
}

int hook_thrd_create(void *thread, void *start, void *argument)
{
        MAKE(NULL, REAL(thrd_create_)(thread, start, argument));
}

#define JOIN(CALL)                                                             \
        struct arch_state caller;                                              \
        int result;                                                            \
                                                                               \
        ARCH_FRAME(caller);                                                    \
        result = CALL;                                                         \
        if (result == 0)                                                       \
                region_look_for(caller, LOOKS_JOINED);                         \
        return result

int hook_pthread_join(void *thread, void *value)
{
        JOIN(REAL(pthread_join_)(thread, value));
}

int hook_pthread_tryjoin_np(void *thread, void *value)
{
        JOIN(REAL(pthread_tryjoin_np_)(thread, value));
}

int hook_pthread_timedjoin_np(void *thread, void *value, const void *until)
{
        JOIN(REAL(pthread_timedjoin_np_)(thread, value, until));
}

int hook_pthread_clockjoin_np(void *thread, void *value, int clock, const void *until)
{
        JOIN(REAL(pthread_clockjoin_np_)(thread, value, clock, until));
}

int hook_thrd_join(void *thread, int *value)
{
        JOIN(REAL(thrd_join_)(thread, value));
}

#if ARCH_TWO_TIMES

#define JOIN_UNTIL(NAME, SYMBOL)                                               \
        int hook_##NAME(void *thread, void *value, const void *until) HOOK(SYMBOL); \
        int hook_##NAME(void *thread, void *value, const void *until)          \
        {                                                                      \
                JOIN(REAL(NAME##_)(thread, value, until));                     \
        }

JOIN_UNTIL(timedjoin_64, "__pthread_timedjoin_np64")
JOIN_UNTIL(timedjoin_musl, "__pthread_timedjoin_np_time64")

int hook_clockjoin_64(void *thread, void *value, int clock, const void *until)
        HOOK("__pthread_clockjoin_np64");

int hook_clockjoin_64(void *thread, void *value, int clock, const void *until)
{
        JOIN(REAL(clockjoin_64_)(thread, value, clock, until));
}

#endif
