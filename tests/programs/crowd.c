/* SPDX-License-Identifier: MIT */
/*
 * crowd.c -- threads that ask for snapshots and set tags at the same time: crowd THREADS ROUNDS.
 *
 * Room:   tests only.  Each round keeps a block of 10 bytes.  One thread out of two asks from a
 *         signal handler.
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "seep.h"

static int rounds;

static void handler(int sig)
{
        (void)sig;
        SEEP_SNAPSHOT("in a handler");
}

static void *asker(void *arg)
{
        int me = (int)(intptr_t)arg;
        char name[32];
        snprintf(name, sizeof name, "thread %d", me);
        for (int i = 0; i < rounds; i++) {
                void *p = malloc(10);
                TRUTH_GOT(p, 10);
                SEEP_TAG("round");
                if (me % 2)
                        pthread_kill(pthread_self(), SIGUSR2);
                else
                        SEEP_SNAPSHOT(name);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t t[16];
        int threads = argc > 1 ? atoi(argv[1]) : 4;
        rounds = argc > 2 ? atoi(argv[2]) : 5;
        signal(SIGUSR2, handler);
        for (int i = 0; i < threads && i < 16; i++)
                if (pthread_create(&t[i], NULL, asker, (void *)(intptr_t)i))
                        return 1;
        for (int i = 0; i < threads && i < 16; i++)
                pthread_join(t[i], NULL);
        truth_print();
        tell("done\n");
        return 0;
}
