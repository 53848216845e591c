/* SPDX-License-Identifier: MIT */
/*
 * tide.c -- threads that rise together to known heights and fall again: tide THREADS BYTES ROUNDS;
 * BYTES is what each holds at its highest.
 *
 * Room:   tests only.  All wait for each other when they have risen, so that the height of each
 *         round is known to the byte but for what they do all the time besides: blocks of at most
 *         NOISE bytes, one at a time for each thread.
 * Facts:  height (what all hold in the highest round, which is in the middle; the others are up to
 *         3 % lower), even and odd (what even and odd threads have of it), noise (how much more it
 *         can have been), bytes (all that was allocated).
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS_MAX 64
#define BLOCKS_MAX 4096
#define NOISE 48

static int threads, rounds;
static uint64_t most;
static pthread_barrier_t all;

static struct tider {
        pthread_t thread;
        unsigned number, seed;
        uint64_t bytes;
        uint32_t count;
        void *held[BLOCKS_MAX];
} tiders[THREADS_MAX];

static unsigned chance(struct tider *t)
{
        t->seed = t->seed * 1103515245u + 12345u;
        return t->seed >> 16;
}

static void *noise(size_t size)
{
        return malloc(size);
}

static void *even_holder(size_t size)
{
        return malloc(size);
}

static void *odd_holder(size_t size)
{
        return malloc(size);
}

static void ripple(struct tider *t)
{
        size_t size = 1 + chance(t) % NOISE;
        void *p = noise(size);
        if (!p)
                truth_die("tide: no memory\n");
        t->bytes += size;
        free(p);
}

/* What each holds in a round: all of it in the middle one. */
static uint64_t height_of(int round)
{
        unsigned off = (unsigned)abs(round - rounds / 2);
        return most - most / 1000 * (off < 30 ? off : 30);
}

/* Blocks of any size, the last one fitting. */
static void rise(struct tider *t, uint64_t height)
{
        uint64_t have = 0, average = most / (BLOCKS_MAX / 2);
        t->count = 0;
        while (have < height) {
                size_t size = 1 + chance(t) % (2 * average);
                if (size > height - have || t->count == BLOCKS_MAX - 1)
                        size = height - have;
                t->held[t->count] = t->number % 2 ? odd_holder(size) : even_holder(size);
                if (!t->held[t->count++])
                        truth_die("tide: no memory\n");
                have += size;
                t->bytes += size;
                ripple(t);
        }
}

/* The neighbour's blocks: what a thread gains, another one loses. */
static void fall(struct tider *t)
{
        struct tider *other = &tiders[(t->number + 1) % (unsigned)threads];
        while (other->count) {
                free(other->held[--other->count]);
                ripple(t);
        }
}

static void *tide(void *arg)
{
        struct tider *t = arg;
        for (int i = 0; i < rounds; i++) {
                rise(t, height_of(i));
                pthread_barrier_wait(&all);
                for (int k = 0; k < 50; k++)
                        ripple(t);
                pthread_barrier_wait(&all);
                fall(t);
                pthread_barrier_wait(&all);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        uint64_t bytes = 0;
        threads = argc > 1 ? atoi(argv[1]) : 8;
        most = argc > 2 ? strtoull(argv[2], NULL, 10) : 1u << 20;
        rounds = argc > 3 ? atoi(argv[3]) : 7;
        if (threads < 1 || threads > THREADS_MAX ||
            pthread_barrier_init(&all, NULL, (unsigned)threads))
                return 1;
        for (int i = 0; i < threads; i++) {
                tiders[i].number = (unsigned)i;
                tiders[i].seed = (unsigned)i + 1;
                if (pthread_create(&tiders[i].thread, NULL, tide, &tiders[i]))
                        return 1;
        }
        for (int i = 0; i < threads; i++) {
                pthread_join(tiders[i].thread, NULL);
                bytes += tiders[i].bytes;
        }
        truth_say("fact height=%llu even=%llu odd=%llu noise=%llu bytes=%llu\n",
                  (unsigned long long)(most * (unsigned)threads),
                  (unsigned long long)(most * (unsigned)((threads + 1) / 2)),
                  (unsigned long long)(most * (unsigned)(threads / 2)),
                  (unsigned long long)(NOISE * (unsigned)threads), (unsigned long long)bytes);
        return 0;
}
