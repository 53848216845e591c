/* SPDX-License-Identifier: MIT */
/*
 * fatal.c -- signals that end a program: what it sees of their dispositions, and how it and its
 * children end.
 *
 * Room:   tests only.
 * Usage:  fatal STEP...   Each step says what it saw; nothing of it may depend on who watches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const int numbers[] = { SIGHUP, SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,
                               SIGFPE, SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGUSR2 };
/* SA_RESTORER: libc's own business, there after system() even at the default */
#define LIBC_FLAG 0x4000000u
#define COUNT (sizeof numbers / sizeof *numbers)

static char stack[1 << 17];
static volatile sig_atomic_t on_stack, handled, depth;

static void handler(int number)
{
        char here;
        (void)number;
        handled++;
        on_stack = &here >= stack && &here < stack + sizeof stack;
}

static void deep_handler(int number)
{
        void *frames[64];
        struct sigaction a;
        depth = backtrace(frames, 64);
        if (sigaction(number, NULL, &a) || a.sa_handler != SIG_DFL)
                depth = -1;
}

static const char *word(void (*h)(int))
{
        return h == SIG_DFL        ? "default"
               : h == SIG_IGN      ? "ignored"
               : h == handler      ? "handled"
               : h == deep_handler ? "handled deeply"
               : h == SIG_ERR      ? "error"
               : h == SIG_HOLD     ? "held"
                                   : "other";
}

static void query(void)
{
        struct sigaction a;
        for (size_t i = 0; i < COUNT; i++) {
                memset(&a, 0xff, sizeof a);
                if (sigaction(numbers[i], NULL, &a))
                        perror("sigaction");
                printf("%d %s %x %d%d\n", numbers[i], word(a.sa_handler),
                       (unsigned)a.sa_flags & ~LIBC_FLAG, sigismember(&a.sa_mask, SIGUSR1),
                       sigismember(&a.sa_mask, SIGTERM));
        }
}

static void query_stack(void)
{
        stack_t s = {.ss_flags = -1};
        int result = sigaltstack(NULL, &s);
        printf("stack %d: %s, flags %d, %zu bytes\n", result,
               s.ss_sp == stack ? "own"
               : s.ss_sp        ? "another"
                                : "none",
               s.ss_flags, s.ss_size);
}

static void set_stack(int flags, const char *how)
{
        stack_t s = { .ss_sp = stack, .ss_size = sizeof stack, .ss_flags = flags },
                old = { .ss_flags = -1 };
        int result = sigaltstack(&s, &old);
        printf("%s %d, before: %s, flags %d, %zu bytes\n", how, result,
               old.ss_sp == stack ? "own"
               : old.ss_sp        ? "another"
                                  : "none",
               old.ss_flags, old.ss_size);
}

/* Set every signal to H with FLAGS. */
static void set_all(void (*h)(int), int flags)
{
        for (size_t i = 0; i < COUNT; i++) {
                struct sigaction a = {.sa_handler = h, .sa_flags = flags}, old;
                sigemptyset(&a.sa_mask);
                sigaddset(&a.sa_mask, SIGUSR1);
                memset(&old, 0xff, sizeof old);
                printf("%d %d, before: ", numbers[i], sigaction(numbers[i], &a, &old));
                printf("%s %x %d\n", word(old.sa_handler), (unsigned)old.sa_flags & ~LIBC_FLAG,
                       sigismember(&old.sa_mask, SIGUSR1));
        }
}

static void raise_all(void)
{
        for (size_t i = 0; i < COUNT; i++) {
                on_stack = handled = 0;
                raise(numbers[i]);
                printf("%d: %d times%s\n", numbers[i], handled,
                       on_stack ? ", on the stack for signals" : "");
        }
}

/* Handlers that are called once: raised, set anew by the function that does it so, raised again. */
static void once(void)
{
        set_all(deep_handler, SA_RESETHAND | SA_ONSTACK);
        query();
        for (int again = 0; again < 2; again++)
                for (size_t i = 0; i < COUNT; i++) {
                        raise(numbers[i]);
                        printf("%d: %d frames, then %s\n", numbers[i], (int)depth,
                               word(sysv_signal(numbers[i], deep_handler)));
                        printf("%s\n", word(sysv_signal(numbers[i], deep_handler)));
                }
        query();
}

static void by_function(void (*h)(int))
{
        for (size_t i = 0; i < COUNT; i++)
                printf("signal %s, ", word(signal(numbers[i], h)));
        puts("");
}

static void say_end(const char *who, int status)
{
        printf("%s: %s %d\n", who, WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void end_child(const char *who, pid_t child)
{
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child)
                perror(who);
        say_end(who, status);
}

static void crash(int number)
{
        if (number == SIGSEGV)
                *(volatile int *)(uintptr_t)64 = 1;
        if (number == SIGABRT)
                abort();
        raise(number);
}

/* Children of every kind end as they should. */
static void children(int number)
{
        char command[64], *argv[] = {"sh", "-c", command, NULL};
        pid_t child;
        snprintf(command, sizeof command, "kill -%d $$", number);
        fflush(stdout);
        if (!(child = fork())) {
                free(malloc(10));
                crash(number);
                _exit(1);
        }
        end_child("fork", child);
        if (!(child = vfork())) {
                raise(number);
                _exit(1);
        }
        end_child("vfork", child);
        if (!(child = vfork())) {
                signal(number, SIG_IGN);
                signal(number, SIG_DFL);
                raise(number);
                _exit(1);
        }
        end_child("vfork again", child);
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ))
                child = -1;
        end_child("spawn", child);
        say_end("system", system(command));
}

/* Taken without a handler. */
static void take(void)
{
        sigset_t set;
        int got = 0, fd;
        struct signalfd_siginfo info = {0};
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        kill(getpid(), SIGTERM);
        sigwait(&set, &got);
        fd = signalfd(-1, &set, 0);
        kill(getpid(), SIGINT);
        if (read(fd, &info, sizeof info) != sizeof info)
                perror("signalfd");
        printf("took %d and %u\n", got, info.ssi_signo);
        close(fd);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void old_ways(void)
{
        printf("sigset: %s", word(sigset(SIGTERM, SIG_HOLD)));
        printf(", %s", word(sigset(SIGTERM, handler)));
        printf(", %s", word(sigset(SIGTERM, SIG_DFL)));
        printf(", %s\n", word(sigset(SIGTERM, SIG_DFL)));
        sigignore(SIGTERM);
        raise(SIGTERM);
        printf("sigignore: %s", word(signal(SIGTERM, SIG_DFL)));
        printf(", %s\n", word(signal(SIGTERM, SIG_DFL)));
}

/* A thread's own stack for signals. */
static void *in_thread(void *unused)
{
        free(malloc(10));
        query_stack();
        return unused;
}

static void thread(void)
{
        pthread_t t;
        if (!pthread_create(&t, NULL, in_thread, NULL))
                pthread_join(t, NULL);
}

static void step(const char *name)
{
        int number = atoi(strchr(name, ':') ? strchr(name, ':') + 1 : "0");
        if (!strcmp(name, "query"))
                query();
        else if (!strcmp(name, "stack"))
                query_stack();
        else if (!strcmp(name, "enable"))
                set_stack(0, "enable");
        else if (!strcmp(name, "disable"))
                set_stack(SS_DISABLE, "disable");
        else if (!strcmp(name, "handle"))
                set_all(handler, SA_ONSTACK | SA_RESTART);
        else if (!strcmp(name, "default"))
                set_all(SIG_DFL, SA_RESTART | SA_ONSTACK);
        else if (!strcmp(name, "ignore"))
                set_all(SIG_IGN, 0);
        else if (!strcmp(name, "raise"))
                raise_all();
        else if (!strcmp(name, "once"))
                once();
        else if (!strcmp(name, "signal"))
                by_function(handler);
        else if (!strcmp(name, "signal_default"))
                by_function(SIG_DFL);
        else if (!strncmp(name, "children:", 9))
                children(number);
        else if (!strcmp(name, "take"))
                take();
        else if (!strcmp(name, "old"))
                old_ways();
        else if (!strcmp(name, "thread"))
                thread();
        else if (!strncmp(name, "end:", 4))
                crash(number);
}

int main(int argc, char **argv)
{
        setvbuf(stdout, NULL, _IOLBF, 0);
        for (int i = 1; i < argc; i++)
                step(argv[i]);
        return 5;
}
