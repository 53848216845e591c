/* SPDX-License-Identifier: MIT */
/*
 * servers.c -- ns of CPU per event in three loads that are known from comparisons of allocators.
 *
 * Room:   a measured program of bench/run:  servers MODE THREADS EVENTS   (EVENTS are mallocs of
 * each thread) Prints: "ns_per_event N.NN": CPU time of the threads over their mallocs and frees.
 * Modes:  larson   a server: each thread has a thousand blocks and replaces one at random; now and
 *         then all of them go to another thread
 *         xmalloc  batches of blocks are allocated by one thread and freed by whichever comes first
 *         mstress  objects of all sizes, some large, kept for long or short and sometimes exchanged
 *                  through a table of all threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, KEPT = 1000, BATCH = 100, SHARED = 1000, TURN = 20000 };

struct worker {
        pthread_t thread;
        long events;
        uint64_t state;
        double cpu_ns;
};

static struct worker workers[THREADS_MAX];
static _Atomic(void *) shared[SHARED]; /* of all threads; what is taken out is the taker's */
static void (*work)(struct worker *w);

static uint64_t dice(struct worker *w)
{
        w->state ^= w->state << 13;
        w->state ^= w->state >> 7;
        return w->state ^= w->state << 17;
}

static void *make(size_t bytes)
{
        char *p = malloc(bytes);

        if (!p)
                exit(1);
        p[0] = p[bytes - 1] = 1;
        return p;
}

/* The blocks of a thread wait in SHARED for the next one that has none. */
static void run_larson(struct worker *w)
{
        void **kept = NULL;

        for (long i = 0; i < w->events; i++) {
                size_t at;

                if (i % TURN == 0) {
                        kept = atomic_exchange(&shared[dice(w) % 8], kept);
                        if (!kept)
                                kept = memset(make(KEPT * sizeof *kept), 0, KEPT * sizeof *kept);
                }
                at = dice(w) % KEPT;
                free(kept[at]);
                kept[at] = make(8 + dice(w) % 1000);
        }
        for (size_t i = 0; kept && i < KEPT; i++)
                free(kept[i]);
        free(kept);
}

struct batch {
        void *blocks[BATCH];
};

static void batch_free(struct batch *b)
{
        for (int i = 0; b && i < BATCH; i++)
                free(b->blocks[i]);
        free(b);
}

static void run_xmalloc(struct worker *w)
{
        for (long i = 0; i < w->events; i += BATCH) {
                struct batch *b = make(sizeof *b);

                for (int k = 0; k < BATCH; k++)
                        b->blocks[k] = make(16 + dice(w) % 4 * 64);
                batch_free(atomic_exchange(&shared[dice(w) % 4], b));
        }
}

static size_t stress_bytes(struct worker *w)
{
        uint64_t one = dice(w);

        return one % 4096 == 0 ? 16384 + one % 65536
               : one % 32 == 0 ? 1024 + one % 4096
                               : 8 * (1 + one / 64 % 32);
}

static void run_mstress(struct worker *w)
{
        void **kept = memset(make(KEPT * sizeof *kept), 0, KEPT * sizeof *kept);

        for (long i = 0; i < w->events; i++) {
                void *p = make(stress_bytes(w));
                uint64_t fate = dice(w);

                if (fate % 4 == 0) {
                        size_t at = fate / 64 % KEPT;

                        free(kept[at]);
                        kept[at] = p;
                } else if (fate % 16 == 1) {
                        free(atomic_exchange(&shared[fate / 64 % SHARED], p));
                } else {
                        free(p);
                }
        }
        for (size_t i = 0; i < KEPT; i++)
                free(kept[i]);
        free(kept);
}

static void *run(void *context)
{
        struct worker *w = context;
        struct timespec now;

        work(w);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        w->cpu_ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
        return NULL;
}

static void clean_up(const char *mode)
{
        for (size_t i = 0; i < SHARED; i++) {
                void **p = atomic_exchange(&shared[i], NULL);

                for (size_t k = 0; p && mode[0] == 'l' && k < KEPT; k++)
                        free(p[k]);
                if (mode[0] == 'x')
                        batch_free((struct batch *)p);
                else
                        free(p);
        }
}

int main(int argc, char **argv)
{
        long threads = argc > 2 ? atol(argv[2]) : 0, events = argc > 3 ? atol(argv[3]) : 0;
        double cpu_ns = 0;

        if (argc > 1)
                work = strcmp(argv[1], "larson") == 0 ? run_larson
                       : strcmp(argv[1], "xmalloc") == 0 ? run_xmalloc
                       : strcmp(argv[1], "mstress") == 0 ? run_mstress : NULL;
        if (!work || threads < 1 || threads > THREADS_MAX || events < 1) {
                fprintf(stderr, "usage: servers larson|xmalloc|mstress THREADS EVENTS\n");
                return 2;
        }
        for (long i = 0; i < threads; i++) {
                workers[i] = (struct worker){ .events = events,
                                              .state = 88172645463325252u + 7919 * (uint64_t)i };
                if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
                        return 1;
        }
        for (long i = 0; i < threads; i++) {
                pthread_join(workers[i].thread, NULL);
                cpu_ns += workers[i].cpu_ns;
        }
        clean_up(argv[1]);
        printf("ns_per_event %.2f\n", cpu_ns / (2.0 * (double)events * (double)threads));
        return 0;
}
