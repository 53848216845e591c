/* SPDX-License-Identifier: MIT */
/*
 * stops.c -- what a program does that stops at breakpoints: threads, children, signals, traps of
 * its own.
 *
 * Room:   tests only.  argv: what to do.
 *   threads    16 at once, each with a number of blocks, every tenth is kept
 *   children   one by each of fork, vfork, posix_spawn and system; their statuses are told
 *   grandchild what those run: seven blocks of 111 bytes, status 3
 *   signals    handlers that allocate, traps of its own, a signal that waits while it is blocked
 *   becomes    loses two blocks, and becomes another program, at the second try
 *   works      allocates until it is told to end by a byte on stdin; status 7
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>

#ifdef __aarch64__
#define OWN_TRAP() __asm__ volatile("brk #0")
#else
#define OWN_TRAP() __asm__ volatile("int3")
#endif

#define THREADS 16
#define ROUNDS 300

extern char **environ;

static void *keep[THREADS][ROUNDS];

static void *thread_body(void *number)
{
        void **kept = keep[(intptr_t)number];

        for (int i = 0; i < ROUNDS; i++) {
                void *p = malloc(40 + (size_t)i % 7);

                TRUTH_GOT(p, 40 + (size_t)i % 7);
                if (i % 10 == 0) {
                        kept[i] = p;
                        continue;
                }
                truth_gone(p);
                free(p);
        }
        return NULL;
}

static int threads(void)
{
        pthread_t t[THREADS];

        for (intptr_t i = 0; i < THREADS; i++)
                if (pthread_create(&t[i], NULL, thread_body, (void *)i) != 0)
                        truth_die("no thread\n");
        for (int i = 0; i < THREADS; i++)
                pthread_join(t[i], NULL);
        truth_print();
        return 0;
}

static int waited(pid_t pid)
{
        int status = 0;

        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *grandchild(void)
{
        void *last = NULL;

        for (int i = 0; i < 7; i++)
                last = malloc(111);
        return last;
}

static int children(char *self)
{
        char *argv[] = { self, (char *)"grandchild", NULL };
        void *before = malloc(1000), *volatile kept = malloc(500);
        pid_t pid = fork();

        if (pid == 0) {
                free(before);
                for (int i = 0; i < 20; i++)
                        kept = malloc(33);
                _exit(5);
        }
        printf("fork %d\n", waited(pid));
        pid = fork();
        if (pid == 0) {
                execv(self, argv);
                _exit(9);
        }
        printf("fork and exec %d\n", waited(pid));
        pid = vfork();
        if (pid == 0) {
                execv(self, argv);
                _exit(9);
        }
        printf("vfork %d\n", waited(pid));
        if (posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0)
                printf("spawn %d\n", waited(pid));
        printf("system %d\n", system("exit 4"));
        free(kept);
        free(before);
        before = malloc(2222);
        return before ? 0 : 1;
}

static volatile sig_atomic_t traps, users;

/* Where the processor stays at its breakpoint, the program goes on behind it. */
static void on_trap(int number, siginfo_t *info, void *context)
{
        traps += number == SIGTRAP;
#ifdef __aarch64__
        if (info->si_code > 0)
                ((ucontext_t *)context)->uc_mcontext.pc += 4;
#endif
        (void)info, (void)context;
}

static void on_user(int number)
{
        void *p = malloc(77);

        users += number == SIGUSR1;
        free(p);
}

static int signals(void)
{
        struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
        sigset_t set;

        sigaction(SIGTRAP, &trap, NULL);
        signal(SIGUSR1, on_user);
        for (int i = 0; i < 5; i++) {
                free(malloc(10));
                raise(SIGTRAP);
                OWN_TRAP();
                raise(SIGUSR1);
        }
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGUSR1);
        free(malloc(20));
        printf("while blocked %d\n", (int)users);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        printf("traps %d users %d\n", (int)traps, (int)users);
        return 0;
}

static void *lose(size_t size)
{
        return malloc(size);
}

static int works(void)
{
        char byte = 0;
        long rounds = 0;

        fcntl(0, F_SETFL, O_NONBLOCK);
        lose(4321);
        while (read(0, &byte, 1) != 1) {
                free(malloc(64));
                if (++rounds == 5)
                        if (write(1, "ready\n", 6) != 6)
                                return 1;
        }
        if (write(1, "end\n", 4) != 4)
                return 1;
        return 7;
}

static int becomes(void)
{
        lose(4321);
        execl("/nowhere/at/all", "all", NULL);
        lose(1234);
        execl("/bin/true", "true", NULL);
        return 1;
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";

        setvbuf(stdout, NULL, _IONBF, 0);
        if (strcmp(what, "threads") == 0)
                return threads();
        if (strcmp(what, "children") == 0)
                return children(argv[0]);
        if (strcmp(what, "grandchild") == 0)
                return grandchild() ? 3 : 1;
        if (strcmp(what, "signals") == 0)
                return signals();
        if (strcmp(what, "becomes") == 0)
                return becomes();
        return works();
}
