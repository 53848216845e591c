/* SPDX-License-Identifier: MIT */
/*
 * coroutines.c -- ucontext coroutines that allocate; their stacks are unmapped and others mapped at
 * the same place.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES 65536
#define HELD 8

static ucontext_t scheduler, coroutine[HELD];

static void *co_allocate(int depth, size_t n)
{
        void *p;
        if (depth)
                return co_allocate(depth - 1, n);
        p = malloc(n);
        TRUTH_GOT(p, n);
        return p;
}

static void co_body(int number)
{
        for (int i = 0; i < 6; i++) {
                void *p = co_allocate((number + i) % 9, 64 + (size_t)number);
                swapcontext(&coroutine[number], &scheduler);
                if (i % 3) {
                        truth_gone(p);
                        free(p);
                }
        }
}

static void main_side(void)
{
        void *p = malloc(17);
        TRUTH_GOT(p, 17);
        truth_gone(p);
        free(p);
}

static void start(int number, char *stack)
{
        getcontext(&coroutine[number]);
        coroutine[number].uc_stack.ss_sp = stack;
        coroutine[number].uc_stack.ss_size = STACK_BYTES;
        coroutine[number].uc_link = &scheduler;
        makecontext(&coroutine[number], (void (*)(void))co_body, 1, number);
}

/* Each round runs on stacks of its own at the same addresses: the last round's are gone when the
 * next begins. */
static void round_of_all(char *place)
{
        char *stacks = mmap(place, HELD * STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
        if (stacks == MAP_FAILED)
                truth_die("coroutines: no stacks\n");
        for (int i = 0; i < HELD; i++)
                start(i, stacks + i * STACK_BYTES);
        for (int step = 0; step < 7; step++)
                for (int i = 0; i < HELD; i++) {
                        swapcontext(&scheduler, &coroutine[i]);
                        main_side();
                }
        munmap(stacks, HELD * STACK_BYTES);
        main_side();
}

int main(void)
{
        char *place = mmap(NULL, HELD * STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < 30; i++)
                round_of_all(place);
        truth_print();
        return 0;
}
