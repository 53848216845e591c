/* SPDX-License-Identifier: MIT */
/*
 * thread.c -- threads, as attach/ starts them: at its end, a tracing thread releases processes that
 * it could not stop.
 *
 * Keeps:  few at a time, each on a stack of its own in one piece of memory, by which a thread finds
 *         its errno.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "target/arch/arch.h"
#include "target/kernel.h"

#define THREADS_MOST 4u
#define STACK_BYTES (512u << 10)
#define CLONE_FLAGS 0x250f00 /* all is shared, and `tid` cleared at the end */

struct thread {
        void *(*run)(void *context);
        void *context;
        uint32_t tid; /* 0: it has ended */
        bool used;
        int error;
} __attribute__((aligned(16)));

static char *stacks;
static struct thread first; /* that we began with */

/* THREAD_CLONE: the new thread calls thread_begin() with what is at its STACK. */
long thread_clone(unsigned long flags, void *stack, uint32_t *tid);
void thread_begin(struct thread *t);

__asm__(".text\n" ARCH_THREAD);

/* At the end of its stack. */
static struct thread *thread_at(uint32_t i)
{
        return (struct thread *)(void *)(stacks + (i + 1) * (size_t)STACK_BYTES) - 1;
}

int *__errno_location(void)
{
        uintptr_t away = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stacks;

        return stacks && away < THREADS_MOST * STACK_BYTES
                       ? &thread_at((uint32_t)(away / STACK_BYTES))->error
                       : &first.error;
}

void thread_begin(struct thread *t)
{
        t->run(t->context);
        for (;;)
                sys_call3(SYS_exit, 0, 0, 0);
}

int pthread_create(pthread_t *out, const pthread_attr_t *how, void *(*run)(void *), void *context)
{
        (void)how;
        if (!stacks)
                stacks = sys_memory(THREADS_MOST * (uint64_t)STACK_BYTES);
        for (uint32_t i = 0; stacks && i < THREADS_MOST; i++) {
                struct thread *t = thread_at(i);
                long got;

                if (t->used)
                        continue;
                *t = (struct thread){ run, context, 1, true, 0 };
                got = thread_clone(CLONE_FLAGS, t, &t->tid);
                t->used = !sys_failed(got);
                *out = (pthread_t)(uintptr_t)t;
                return t->used ? 0 : (int)-got;
        }
        return EAGAIN;
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
        struct thread *t = (struct thread *)(uintptr_t)thread;
        uint32_t tid;

        (void)result;
        while ((tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE)))
                if (sys_call6(SYS_futex, (long)&t->tid,
                              9 | 256 /* FUTEX_WAIT_BITSET, CLOCK_REALTIME */, tid, (long)until, 0,
                              -1) == -ETIMEDOUT)
                        return ETIMEDOUT;
        t->used = false;
        return 0;
}

int pthread_join(pthread_t thread, void **result)
{
        return pthread_timedjoin_np(thread, result, NULL);
}

/* How: SIG_SETMASK, always. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
        return (int)-sys_call6(SYS_rt_sigprocmask, how, (long)set, (long)before, sizeof(uint64_t),
                               0, 0);
}

int sigfillset(sigset_t *set)
{
        memset(set, 0xff, sizeof *set);
        return 0;
}
