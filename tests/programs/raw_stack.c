/* SPDX-License-Identifier: MIT */
/* raw_stack.c -- a stack for signals that is set by a system call which no library sees, as Go's
 * runtime does, and a handler that must run there. */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

static char room[65536] __attribute__((aligned(16)));
static volatile int there = -1;

static long raw(long number, const void *a, void *b)
{
        long result;

        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b)
                         : "rcx", "r11", "memory");
        return result;
}

static void handler(int number)
{
        char here;

        (void)number;
        there = &here >= room && &here < room + sizeof room;
}

int main(void)
{
        stack_t own = {.ss_sp = room, .ss_size = sizeof room};
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, seen;

        free(malloc(100));
        if (raw(SYS_sigaltstack, &own, NULL))
                return 2;
        sigaction(SIGUSR2, &action, NULL);
        raise(SIGUSR2);
        sigaction(SIGUSR2, NULL, &seen);
        printf("%d %d\n", there, !!(seen.sa_flags & SA_ONSTACK));
        return 0;
}
