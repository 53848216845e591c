/* SPDX-License-Identifier: MIT */
/*
 * hammer.c -- threads that allocate and free without pause until told to stop: hammer THREADS.
 *
 * Room:   tests only.  Says "ready" when all are at work and ends at the end of its input.  What
 *         stays is known per thread; the rest is freed, a part of it by another thread.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 16
#define SLOTS 512

static volatile int stop;
static int working, threads;
static void *slot[SLOTS];
static uint64_t made[THREADS_MAX], kept[THREADS_MAX], kept_bytes[THREADS_MAX];

static void *strike(size_t size)
{
        return malloc(size);
}

static void *keeper(size_t size)
{
        return malloc(size);
}

static void *hammer(void *arg)
{
        unsigned me = (unsigned)(intptr_t)arg, seed = me + 1;
        __atomic_add_fetch(&working, 1, __ATOMIC_RELAXED);
        while (!stop) {
                void *old;
                seed = seed * 1103515245u + 12345u;
                old = __atomic_exchange_n(&slot[seed >> 16 & (SLOTS - 1)],
                                          strike(1 + (seed >> 20 & 1023)), __ATOMIC_ACQ_REL);
                free(old);
                if (++made[me] % 1000 == 0 && kept[me] < 5000) {
                        if (!keeper(me + 1))
                                truth_die("hammer: no memory\n");
                        kept[me]++;
                        kept_bytes[me] += me + 1;
                }
        }
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t t[THREADS_MAX];
        uint64_t all = 0, all_kept = 0, all_bytes = 0;
        char byte;
        threads = argc > 1 ? atoi(argv[1]) : 4;
        for (int i = 0; i < threads && i < THREADS_MAX; i++)
                if (pthread_create(&t[i], NULL, hammer, (void *)(intptr_t)i))
                        return 1;
        while (__atomic_load_n(&working, __ATOMIC_RELAXED) < threads)
                sched_yield();
        tell("ready\n");
        if (read(0, &byte, 1) != 0)
                tell("read: %s\n", strerror(errno));
        stop = 1;
        for (int i = 0; i < threads; i++) {
                pthread_join(t[i], NULL);
                all += made[i];
                all_kept += kept[i];
                all_bytes += kept_bytes[i];
        }
        for (int i = 0; i < SLOTS; i++)
                free(slot[i]);
        truth_say("fact made=%llu kept=%llu kept_bytes=%llu\n", (unsigned long long)all,
                  (unsigned long long)all_kept, (unsigned long long)all_bytes);
        tell("done\n");
        return 17;
}
