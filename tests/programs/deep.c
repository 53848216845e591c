/* SPDX-License-Identifier: MIT */
/*
 * deep.c -- one allocation under 100,000 frames, and some on the way down.
 *
 * Room:   tests only.  Needs 16 MiB of stack, so it runs in a thread.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

static void at_bottom(void)
{
        void *p = malloc(77);
        TRUTH_GOT(p, 77);
}

static int descend(int n)
{
        if (n % 10000 == 0) {
                void *p = malloc(5);
                TRUTH_GOT(p, 5);
        }
        if (n == 0) {
                at_bottom();
                return 1;
        }
        return descend(n - 1) + 1;
}

static void *body(void *arg)
{
        return (void *)(intptr_t)descend(*(int *)arg);
}

int main(int argc, char **argv)
{
        int depth = argc > 1 ? atoi(argv[1]) : 100000;
        pthread_attr_t attr;
        pthread_t t;
        void *result;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 64u << 20);
        if (pthread_create(&t, &attr, body, &depth))
                return 1;
        pthread_join(t, &result);
        tell("depth %ld\n", (long)(intptr_t)result);
        truth_say("fact frames=%d\n", depth + 1);
        truth_print();
        return 0;
}
