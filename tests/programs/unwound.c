/* SPDX-License-Identifier: MIT */
/*
 * unwound.c -- allocates at the end of every kind of frame: recursion, variable arrays, realigned
 * frames, threads, signal handlers (also on their own stack), coroutines.
 *
 * Room:   tests only.  test_tables.py damages its unwind tables; what it prints must not depend on
 *         them.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static ucontext_t scheduler, coroutine;
static volatile unsigned sum, handled;

__attribute__((noinline)) static void allocate(size_t n)
{
        volatile unsigned char *p = malloc(n);

        if (!p)
                exit(3);
        p[0] = (unsigned char)n;
        sum = sum * 31 + p[0];
        free((void *)p);
}

/* Frames of fixed size. */
__attribute__((noinline)) static unsigned descend(unsigned depth, unsigned a, unsigned b)
{
        volatile unsigned here[4] = { a, b, depth, a ^ b };

        allocate(16 + depth);
        if (depth)
                here[0] += descend(depth - 1, here[1], here[2] + a);
        allocate(17 + depth);
        return here[0] + here[3];
}

/* A frame whose size only its frame pointer knows. */
__attribute__((noinline)) static unsigned variable(unsigned n)
{
        volatile char *room = alloca(n * 16);

        memset((void *)room, (int)n, n * 16);
        allocate(n);
        return n > 1 ? variable(n - 1) + (unsigned)room[n] : 1;
}

/* A frame that aligns its stack pointer itself. */
__attribute__((noinline)) static unsigned aligned(unsigned n)
{
        volatile _Alignas(64) unsigned char room[128] = { 0 };

        room[n % 128] = 1;
        allocate(n + 40);
        return n ? aligned(n - 1) + room[n % 128] : 0;
}

static void on_signal(int number)
{
        handled += (unsigned)number + descend(3, 1, 2);
}

static void raised(int flags)
{
        static char room[65536];
        stack_t own = { .ss_sp = room, .ss_size = sizeof room };
        struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags };

        sigaltstack(&own, NULL);
        sigaction(SIGURG, &act, NULL);
        raise(SIGURG);
}

static void co_body(void)
{
        for (unsigned i = 0; i < 3; i++) {
                descend(i + 2, i, 5);
                swapcontext(&coroutine, &scheduler);
        }
}

static void coroutines(void)
{
        static char room[65536];

        getcontext(&coroutine);
        coroutine.uc_stack = (stack_t){ .ss_sp = room, .ss_size = sizeof room };
        coroutine.uc_link = &scheduler;
        makecontext(&coroutine, co_body, 0);
        for (unsigned i = 0; i < 3; i++) {
                swapcontext(&scheduler, &coroutine);
                allocate(i + 1);
        }
}

static void *thread_body(void *unused)
{
        (void)unused;
        descend(20, 3, 4);
        aligned(3);
        return NULL;
}

int main(void)
{
        pthread_t t;

        for (unsigned round = 0; round < 3; round++) {
                descend(30 + round, 1, round);
                variable(5 + round);
                aligned(5);
                raised(0);
                raised(SA_ONSTACK);
                coroutines();
                if (pthread_create(&t, NULL, thread_body, NULL) || pthread_join(t, NULL))
                        return 2;
        }
        printf("%u %u\n", sum, handled);
        return 0;
}
