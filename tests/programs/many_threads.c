/* SPDX-License-Identifier: MIT */
/*
 * many_threads.c -- threads that come, allocate and go: argv[1] of them, at most eight at a time.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

static void *given[8];

static void *thread_body(void *arg)
{
        void **slot = arg;
        void *p = malloc(24), *q = malloc(48);
        TRUTH_GOT(p, 24);
        TRUTH_GOT(q, 48);
        truth_gone(p);
        free(p);
        *slot = q;
        return NULL;
}

int main(int argc, char **argv)
{
        int count = argc > 1 ? atoi(argv[1]) : 10000;
        pthread_attr_t attr;
        pthread_t t[8];
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 65536);
        for (int done = 0; done < count; done += 8) {
                for (int i = 0; i < 8; i++)
                        if (pthread_create(&t[i], &attr, thread_body, &given[i]))
                                return 1;
                for (int i = 0; i < 8; i++) {
                        pthread_join(t[i], NULL);
                        if ((done + i) % 100 == 0)
                                continue;
                        truth_gone(given[i]);
                        free(given[i]);
                }
        }
        truth_print();
        return 0;
}
