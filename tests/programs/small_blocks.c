/* SPDX-License-Identifier: MIT */
/*
 * small_blocks.c -- threads that allocate blocks of 1 to 16 bytes as fast as they can and release
 * each other's.
 *
 * Room:   tests only.  small_blocks THREADS ROUNDS.  No lock between them, each counts for itself:
 *         neighbours in memory belong to different threads at the same moment.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS 512

static void *slot[SLOTS];
static long rounds;

struct worker {
        pthread_t thread;
        unsigned long long state, allocs, frees, bytes;
};

static void *hammer(void *arg)
{
        struct worker *w = arg;
        for (long i = 0; i < rounds; i++) {
                size_t n;
                void *p;
                w->state = w->state * 6364136223846793005ull + 1442695040888963407ull;
                n = 1 + (w->state >> 33 & 15);
                p = malloc(n);
                w->allocs++;
                w->bytes += n;
                p = __atomic_exchange_n(&slot[(w->state >> 40) % SLOTS], p, __ATOMIC_ACQ_REL);
                free(p);
                w->frees += p != NULL;
        }
        return NULL;
}

int main(int argc, char **argv)
{
        static struct worker workers[16];
        int threads = argc > 2 ? atoi(argv[1]) : 4;
        unsigned long long allocs = 0, frees = 0, bytes = 0;
        rounds = argc > 2 ? atol(argv[2]) : 100000;
        for (int i = 0; i < threads; i++) {
                workers[i].state = (unsigned)i + 1;
                if (pthread_create(&workers[i].thread, NULL, hammer, &workers[i]))
                        return 1;
        }
        for (int i = 0; i < threads; i++) {
                pthread_join(workers[i].thread, NULL);
                allocs += workers[i].allocs, frees += workers[i].frees, bytes += workers[i].bytes;
        }
        for (int i = 0; i < SLOTS; i++)
                if (slot[i]) {
                        free(slot[i]);
                        frees++;
                }
        truth_say("fact allocs=%llu frees=%llu bytes=%llu\n", allocs, frees, bytes);
        return 0;
}
