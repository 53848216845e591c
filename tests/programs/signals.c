/* SPDX-License-Identifier: MIT */
/*
 * signals.c -- allocation inside signal handlers: raised, on an alternate stack, and by a timer
 * that strikes anywhere.
 *
 * Room:   tests only.  The timer's handler maps memory only (malloc is not safe there); raised
 *         handlers use malloc.
 */
#include "truth.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

static void handler_allocating(int sig)
{
        void *p = malloc(200), *q = malloc(300);
        (void)sig;
        TRUTH_GOT(p, 200);
        TRUTH_GOT(q, 300);
        truth_gone(p);
        free(p);
}

static void raiser(void)
{
        void *p = malloc(10);
        TRUTH_GOT(p, 10);
        for (int i = 0; i < 20; i++)
                raise(SIGUSR1);
        truth_gone(p);
        free(p);
}

static volatile sig_atomic_t strikes;
static volatile unsigned long mapped;

static void handler_mapping(int sig)
{
        (void)sig;
        char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
                _exit(3);
        p[5000] = 1;
        if (strikes++ % 8)
                munmap(p, 16384);
        else
                mapped += 16384;
}

static void *churn_slot[64];

static void churner(void)
{
        unsigned seed = 1;
        while (strikes < 300) {
                void **slot;
                seed = seed * 1103515245u + 12345u;
                slot = &churn_slot[seed >> 16 & 63];
                if (*slot) {
                        truth_gone(*slot);
                        free(*slot);
                }
                *slot = malloc(seed >> 20);
                TRUTH_GOT(*slot, seed >> 20);
        }
}

static void on_timer(void)
{
        struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
        signal(SIGALRM, handler_mapping);
        setitimer(ITIMER_REAL, &every, NULL);
        churner();
        setitimer(ITIMER_REAL, &never, NULL);
        truth_say("fact mapped=%lu\n", mapped);
}

static void on_other_stack(void)
{
        static char stack[65536];
        stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
        struct sigaction act = {.sa_handler = handler_allocating, .sa_flags = SA_ONSTACK};
        sigaltstack(&alt, NULL);
        sigaction(SIGUSR2, &act, NULL);
        for (int i = 0; i < 20; i++) {
                void *p = malloc(7);
                TRUTH_GOT(p, 7);
                raise(SIGUSR2);
        }
}

int main(void)
{
        signal(SIGUSR1, handler_allocating);
        raiser();
        on_other_stack();
        on_timer();
        truth_print();
        return 0;
}
