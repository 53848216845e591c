/* SPDX-License-Identifier: MIT */
/*
 * endings.c -- every way to end; argv[1] names it.  The truth is told just before.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void work(void)
{
        for (size_t i = 1; i <= 1000; i++) {
                void *p = malloc(i);
                TRUTH_GOT(p, i);
                if (i % 4) {
                        truth_gone(p);
                        free(p);
                }
        }
}

static volatile int sink;
static volatile uintptr_t nowhere = 8;

static int overflow(int n)
{
        volatile char frame[4096];
        frame[0] = (char)n;
        sink += frame[0];
        return n == -1 ? 0 : overflow(n + 1) + frame[0];
}

static pthread_t main_thread;

static void *thread_exits(void *arg)
{
        (void)arg;
        exit(6);
}

static void *thread_goes_on(void *arg)
{
        (void)arg;
        pthread_join(main_thread, NULL);
        void *p = malloc(500);
        TRUTH_GOT(p, 500);
        truth_print();
        exit(8);
}

static volatile int busy;

/* Allocates until the process is gone, also while destructors run. */
static void *thread_busy(void *arg)
{
        (void)arg;
        for (;;) {
                void *volatile p = malloc(40);
                busy = 1;
                free(p);
        }
        return NULL;
}

static void start(void *(*body)(void *))
{
        pthread_t t;
        main_thread = pthread_self();
        if (pthread_create(&t, NULL, body, NULL))
                truth_die("endings: no thread\n");
}

int main(int argc, char **argv)
{
        const char *way = argc > 1 ? argv[1] : "return";
        work();
        if (strcmp(way, "pthread_exit"))
                truth_print();
        if (!strcmp(way, "return"))
                return 5;
        if (!strcmp(way, "exit"))
                exit(5);
        if (!strcmp(way, "_exit"))
                _exit(5);
        if (!strcmp(way, "quick_exit"))
                quick_exit(5);
        if (!strcmp(way, "abort"))
                abort();
        if (!strcmp(way, "kill"))
                kill(getpid(), SIGKILL);
        if (!strcmp(way, "term"))
                kill(getpid(), SIGTERM);
        if (!strcmp(way, "segv"))
                *(volatile int *)nowhere = 1;
        if (!strcmp(way, "overflow"))
                return overflow(0);
        if (!strcmp(way, "thread_exit")) {
                start(thread_exits);
                for (;;)
                        pause();
        }
        if (!strcmp(way, "busy_exit")) {
                start(thread_busy);
                start(thread_busy);
                while (!busy)
                        sched_yield();
                return 5;
        }
        if (!strcmp(way, "pthread_exit")) {
                start(thread_goes_on);
                pthread_exit(NULL);
        }
        return 2;
}
