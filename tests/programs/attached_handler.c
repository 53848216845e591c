/* SPDX-License-Identifier: MIT */
/*
 * attached_handler.c -- a signal handler that interrupts a function of the allocator at a chosen
 * instruction, and lasts: attached_handler [alternate].
 *
 * Room:   tests only; x86-64 and i386.  Commands on the input: "NAME N" calls malloc, free, calloc
 *         or realloc and stops behind its N-th instruction, in a handler: the answer is "in" (or
 *         "over": the call was shorter), and the handler ends at the next line; then "done".
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100
#ifdef __i386__
#define PC REG_EIP
#define SET_FLAGS(change) __asm__ volatile("pushfl; " change "; popfl" ::: "cc", "memory")
#define SET "orl $0x100, (%%esp)"
#define UNSET "andl $~0x100, (%%esp)"
#else
#define PC REG_RIP
#define SET_FLAGS(change) __asm__ volatile("pushfq; " change "; popfq" ::: "cc", "memory")
#define SET "orq $0x100, (%%rsp)"
#define UNSET "andq $~0x100, (%%rsp)"
#endif

static volatile long steps, wanted;
static volatile int stopped;
static char other_stack[1 << 16];

static void *(*volatile get)(size_t) = malloc;
static void (*volatile put)(void *) = free;
static void *(*volatile zeroed)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;

static void answer(const char *text)
{
        if (write(1, text, strlen(text)) < 0)
                _exit(9);
}

static void read_line(char *line, size_t room)
{
        size_t used = 0;
        ssize_t got;

        while (used + 1 < room && (got = read(0, line + used, 1)) == 1 && line[used] != '\n')
                used++;
        line[used] = 0;
}

/* The first steps are the way to the function: they are counted from its first instruction on. */
static void on_trap(int number, siginfo_t *info, void *context)
{
        greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
        const greg_t entries[] = { (greg_t)get, (greg_t)put, (greg_t)zeroed, (greg_t)resize };
        char line[64];

        (void)number;
        (void)info;
        for (int i = 0; i < 4 && steps < 0; i++)
                if (r[PC] == entries[i])
                        steps = 0;
        if (steps < 0 || steps++ < wanted)
                return;
        r[REG_EFL] &= ~TRAP_FLAG;
        stopped = 1;
        answer("in\n");
        read_line(line, sizeof line);
}

static void trap(int on)
{
        steps = -1;
        stopped = 0;
        if (on)
                SET_FLAGS(SET);
        else
                SET_FLAGS(UNSET);
}

static int obey(const char *line)
{
        char *p = malloc(100);
        const char *number = strchr(line, ' ');

        wanted = number ? atol(number) : 0;
        trap(1);
        switch (line[0]) {
        case 'm': {
                char *other = get(50);

                free(other);
                break;
        }
        case 'f': put(p); p = NULL; break;
        case 'c': {
                char *other = zeroed(5, 10);

                free(other);
                break;
        }
        default: p = resize(p, 3000); break;
        }
        if (!stopped) {
                trap(0);
                answer("over\n");
        } else {
                answer("done\n");
        }
        free(p);
        return 0;
}

int main(int argc, char **argv)
{
        struct sigaction a = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
        stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof other_stack };
        char line[64];

        if (argc > 1 && strcmp(argv[1], "alternate") == 0) {
                a.sa_flags |= SA_ONSTACK;
                sigaltstack(&stack, NULL);
        }
        sigaction(SIGTRAP, &a, NULL);
        for (read_line(line, sizeof line); line[0] && line[0] != 'q'; read_line(line, sizeof line))
                obey(line);
        return 0;
}
