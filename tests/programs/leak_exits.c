/* SPDX-License-Identifier: MIT */
/*
 * leak_exits.c -- every way to end, with a block that is lost and one that is not; argv[1] names
 * it.
 *
 * Room:   tests only.  See leak.h.  "exec PROGRAM ARG..." and "thread_exec PROGRAM ARG..." go on as
 *         another program.  "WAY 'at once'" has nothing that only exit() would free.
 */
#include "leak.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

typedef void *volatile place;

MAKER(lost_at_exit)
MAKER(kept_at_exit)
MAKER(lost_in_child)
MAKER(kept_in_child)
MAKER(lost_in_thread)
MAKER(lost_in_handler)

static place kept, freed_late[8], kept_in_fork;
static pthread_t main_thread;

/* ---- what is freed at the end is no leak ---- */

static void in_atexit(void)
{
        free((void *)freed_late[0]);
        freed_late[0] = NULL;
}

static void in_on_exit(int status, void *p)
{
        (void)status;
        free(p);
}

__attribute__((destructor)) static void in_destructor(void)
{
        free((void *)freed_late[1]);
        freed_late[1] = NULL;
}

static void freeing(void)
{
        freed_late[0] = malloc(5001);
        freed_late[1] = malloc(5003);
        atexit(in_atexit);
        on_exit(in_on_exit, malloc(5005));
}

/* Loses at the end what was reachable before. */
static void loses(void)
{
        lost_in_handler(DEFINITE, 5007);
        freed_late[2] = NULL;
        leak_wipe();
        leak_tell();
}

static void losing(void)
{
        freed_late[2] = lost_in_handler(DEFINITE, 5009);
        atexit(loses);
}

/* ---- ways to end ---- */

static void by_return(void)
{
}

static void by_exit(void)
{
        exit(5);
}

static void by__exit(void)
{
        _exit(5);
}

static void by_quick_exit(void)
{
        quick_exit(5);
}

static void by_abort(void)
{
        abort();
}

static void by_segv(void)
{
        volatile uintptr_t nowhere = 8;
        *(volatile int *)nowhere = 1;
}

static void by_kill(void)
{
        kill(getpid(), SIGKILL);
}

/* By each signal that ends a program, as it comes in life where that can be had without help. */
static void by_term(void)
{
        kill(getpid(), SIGTERM);
}

static void by_int(void)
{
        raise(SIGINT);
}

static void by_hup(void)
{
        kill(getpid(), SIGHUP);
}

static void by_quit(void)
{
        pthread_kill(pthread_self(), SIGQUIT);
}

static void by_bus(void)
{
        FILE *file = tmpfile();
        volatile char *page = file ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0)
                                   : MAP_FAILED;
        if (page != MAP_FAILED)
                (void)*page; /* behind the end of the file */
}

static void by_fpe(void)
{
        volatile int all = 1000, parts = 0;
        all /= parts;
}

static void by_ill(void)
{
        __builtin_trap();
}

static void by_pipe(void)
{
        int ends[2];
        if (pipe(ends) || close(ends[0]))
                truth_die("leak_exits: no pipe\n");
        if (write(ends[1], "x", 1) != 1)
                truth_die("leak_exits: the pipe is broken, and nothing happens\n");
}

static void by_alarm(void)
{
        struct itimerval soon = {.it_value = {.tv_usec = 1}};
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;)
                pause();
}

/* Blocked but for the time of a call: what the handler of a signal returns to is blocked again. */
static void by_suspend(void)
{
        sigset_t all, none;
        sigfillset(&all);
        sigemptyset(&none);
        sigprocmask(SIG_BLOCK, &all, NULL);
        kill(getpid(), SIGTERM);
        sigsuspend(&none);
        truth_die("leak_exits: survived\n");
}

LEAK_ALONE static int deeper(int depth)
{
        volatile char frame[512];
        memset((char *)frame, 0, sizeof frame);
        return depth < 0 ? 0 : deeper(depth + 1) + frame[depth % 512];
}

static void by_overflow(void)
{
        deeper(0);
}

static void start(void *(*body)(void *))
{
        pthread_t t;
        if (pthread_create(&t, NULL, body, NULL))
                truth_die("leak_exits: no thread\n");
}

static void *exits(void *arg)
{
        (void)arg;
        exit(5);
}

static void by_thread(void)
{
        start(exits);
        for (;;)
                pause();
}

static void *overflows(void *arg)
{
        (void)arg;
        free(malloc(100)); /* a thread that never did is not known */
        deeper(0);
        return NULL;
}

static void by_thread_overflow(void)
{
        start(overflows);
        for (;;)
                pause();
}

static void *crashes(void *arg)
{
        (void)arg;
        by_segv();
        return NULL;
}

/* All at once: one status, one search. */
static void by_thread_crashes(void)
{
        for (int i = 0; i < 4; i++)
                start(crashes);
        for (;;)
                pause();
}

static void by_order(void)
{
        if (write(1, "ready\n", 6) != 6)
                truth_die("leak_exits: nobody listens\n");
        for (;;)
                pause();
}

/* What the handler of one signal does about another. */
static void handler_ends(int number)
{
        signal(number, SIG_DFL);
        raise(number);
}

static void by_handler(void)
{
        signal(SIGSEGV, handler_ends);
        by_segv();
}

/* What crashed crashes again when the handler is gone. */
static void handler_returns(int number)
{
        (void)number;
}

static void by_handler_once(void)
{
        struct sigaction once = {.sa_handler = handler_returns, .sa_flags = SA_RESETHAND};
        sigaction(SIGSEGV, &once, NULL);
        by_segv();
}

/* Two at once: one wins, the other waits for ever. */
static void by_two_threads(void)
{
        start(exits);
        exit(5);
}

static void *goes_on(void *arg)
{
        (void)arg;
        pthread_join(main_thread, NULL);
        lost_in_thread(DEFINITE, 5011);
        leak_wipe();
        leak_tell();
        exit(5);
}

static void by_pthread_exit(void)
{
        start(goes_on);
        pthread_exit(NULL);
}

static volatile int busy;

static void *allocates(void *arg)
{
        (void)arg;
        for (size_t i = 0;; i++) {
                void *volatile p = malloc(100 + i % 3000);
                if (i == 1000)
                        __atomic_add_fetch(&busy, 1, __ATOMIC_SEQ_CST);
                free(p);
        }
        return NULL;
}

/* Others go on with malloc and free until there is no process any more. */
static void by_exit_while_busy(void)
{
        for (int i = 0; i < 4; i++)
                start(allocates);
        while (busy < 4)
                sched_yield();
        exit(5);
}

static void exit_again(void)
{
        exit(5);
}

static void by_exit_twice(void)
{
        atexit(exit_again);
        exit(6);
}

/* None of these ends the program. */
static void by_failed_exec(void)
{
        char *const argv[] = {"none", NULL};
        errno = 0;
        if (execv("/nonexistent/none", argv) != -1 || errno != ENOENT)
                truth_die("leak_exits: it exists\n");
        exit(5);
}

static void by_vfork(void)
{
        char *const argv[] = {"true", NULL};
        int status = 1;
        pid_t child = vfork();
        if (!child) {
                execv("/bin/true", argv);
                _exit(9);
        }
        if (waitpid(child, &status, 0) != child || status)
                truth_die("leak_exits: no child\n");
        child = vfork();
        if (!child)
                _exit(0);
        if (waitpid(child, &status, 0) != child || status)
                truth_die("leak_exits: no child\n");
        exit(5);
}

static void by_spawn(void)
{
        char *const argv[] = {"true", NULL};
        int status = 1;
        pid_t child;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) ||
            waitpid(child, &status, 0) != child || status || system("true"))
                truth_die("leak_exits: no child\n");
        exit(5);
}

static void *executes(void *argv)
{
        execv(((char **)argv)[0], argv);
        return NULL;
}

static void by_thread_exec(char **argv)
{
        pthread_t t;
        if (pthread_create(&t, NULL, executes, argv))
                truth_die("leak_exits: no thread\n");
        for (;;)
                pause();
}

static void by_exec(char **argv)
{
        execv(argv[0], argv);
        truth_die("leak_exits: not executed\n");
}

/* The child loses what the parent keeps, and something of its own.  What is true of each is the
 * test's to know. */
static void by_fork(void)
{
        int status;
        kept_in_fork = kept_in_child(REACHABLE, 5021);
        pid_t child = fork();
        if (!child) {
                kept_in_fork = NULL;
                lost_in_child(DEFINITE, 5023);
                leak_wipe();
                exit(7);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
                truth_die("leak_exits: no child\n");
        exit(5);
}

static const struct leak_case ways[] = {
        {"return", by_return},
        {"exit", by_exit},
        {"_exit", by__exit},
        {"quick_exit", by_quick_exit},
        {"abort", by_abort},
        {"segv", by_segv},
        {"kill", by_kill},
        {"term", by_term},
        {"int", by_int},
        {"hup", by_hup},
        {"quit", by_quit},
        {"bus", by_bus},
        {"fpe", by_fpe},
        {"ill", by_ill},
        {"pipe", by_pipe},
        {"alarm", by_alarm},
        {"suspend", by_suspend},
        {"overflow", by_overflow},
        {"thread_overflow", by_thread_overflow},
        {"thread_crashes", by_thread_crashes},
        {"handler", by_handler},
        {"handler_once", by_handler_once},
        {"order", by_order},
        {"thread", by_thread},
        {"two_threads", by_two_threads},
        {"pthread_exit", by_pthread_exit},
        {"busy", by_exit_while_busy},
        {"twice", by_exit_twice},
        {"fork", by_fork},
        {"failed_exec", by_failed_exec},
        {"vfork", by_vfork},
        {"spawn", by_spawn},
        {NULL, NULL},
};

int main(int argc, char **argv)
{
        const char *way = argc > 1 ? argv[1] : "return";
        main_thread = pthread_self();
        kept = kept_at_exit(REACHABLE, 5031);
        lost_at_exit(DEFINITE, 5033);
        if (strcmp(way, "_exit") && strcmp(way, "quick_exit") && !strstr(way, "exec") &&
            (argc < 3 || strcmp(argv[2], "at once")))
                freeing();
        if (!strcmp(way, "losing")) {
                losing();
                way = "exit";
        } else if (strcmp(way, "pthread_exit")) {
                leak_tell();
        }
        leak_wipe();
        if (!strcmp(way, "exec"))
                by_exec(argv + 2);
        if (!strcmp(way, "thread_exec"))
                by_thread_exec(argv + 2);
        leak_run(ways, way);
        return 5;
}
