/* SPDX-License-Identifier: MIT */
/*
 * thread_parade.c -- argv[1] threads, one after the other, each with a name of its own: n1, n2,
 * ...  Each keeps 50 bytes and frees 100.
 *
 * Room:   tests only.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept, *volatile freed;

static void *march(void *arg)
{
        char name[16];

        snprintf(name, sizeof name, "n%ld", *(long *)arg);
        pthread_setname_np(pthread_self(), name);
        freed = malloc(100);
        kept = malloc(50);
        free(freed);
        return NULL;
}

int main(int argc, char **argv)
{
        long count = argc > 1 ? atol(argv[1]) : 0;
        pthread_attr_t attr;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 65536);
        for (long i = 1; i <= count; i++) {
                pthread_t thread;

                if (pthread_create(&thread, &attr, march, &i) != 0)
                        return 1;
                pthread_join(thread, NULL);
        }
        return 0;
}
