/* SPDX-License-Identifier: MIT */
/*
 * random_trace.c -- a seeded random sequence of allocations, reallocations and releases by sixteen
 * functions, in argv[2] threads that release each other's blocks; keeps its own model of every
 * function's share of the peak.
 *
 * Room:   tests only.  random_trace SEED THREADS EVENTS
 */
#include "truth.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define SLOTS 4096

static void *slot[SLOTS];

static void *take_slot(unsigned i)
{
        return __atomic_exchange_n(&slot[i], NULL, __ATOMIC_ACQ_REL);
}

static void put_back(void *p)
{
        size_t size = truth_gone(p);
        free(p);
        truth_done(size);
}

#define ALLOCATOR(number, call)                                                \
        static void *allocate_##number(size_t n)                               \
        {                                                                      \
                void *p;                                                       \
                truth_want(n);                                                 \
                call;                                                          \
                if (!p)                                                        \
                        truth_die("random_trace: no memory\n");                \
                TRUTH_GOT(p, n);                                               \
                return p;                                                      \
        }

ALLOCATOR(0, p = malloc(n))
ALLOCATOR(1, p = malloc(n))
ALLOCATOR(2, p = calloc(1, n))
ALLOCATOR(3, p = calloc(n, 1))
ALLOCATOR(4, p = memalign(32, n))
ALLOCATOR(5, p = memalign(512, n))
ALLOCATOR(6, p = aligned_alloc(64, n))
ALLOCATOR(7, if (posix_memalign(&p, 16, n)) p = NULL)
ALLOCATOR(8, p = realloc(NULL, n))
ALLOCATOR(9, p = reallocarray(NULL, n, 1))
ALLOCATOR(10, p = malloc(n))
ALLOCATOR(11, p = malloc(n))

static void *(*const allocators[])(size_t) = {
        allocate_0, allocate_1, allocate_2, allocate_3, allocate_4,  allocate_5,
        allocate_6, allocate_7, allocate_8, allocate_9, allocate_10, allocate_11,
};

static void *reallocate(void *old, size_t n)
{
        size_t size;
        void *p;
        truth_want(n);
        size = truth_gone(old);
        p = realloc(old, n);
        truth_done(size);
        if (!p)
                truth_die("random_trace: no memory\n");
        TRUTH_GOT(p, n);
        return p;
}

struct walk {
        uint64_t state;
        unsigned events, phase;
};

static unsigned dice(struct walk *w, unsigned sides)
{
        w->state = w->state * 6364136223846793005ull + 1442695040888963407ull;
        return (unsigned)(w->state >> 33) % sides;
}

static size_t random_size(struct walk *w)
{
        unsigned kind = dice(w, 100);
        if (kind < 70)
                return 1 + dice(w, 200);
        if (kind < 97)
                return 1 + dice(w, 5000);
        return 1 + dice(w, 300000);
}

/* Rising and falling phases, so that the peak is passed many times and left again. */
static void step(struct walk *w)
{
        unsigned i = dice(w, SLOTS), choice = dice(w, 100), rising = w->phase / 3000 % 3 != 2;
        void *p = take_slot(i);
        w->phase++;
        if (p && choice < 15)
                p = reallocate(p, random_size(w));
        else if (p && (!rising || choice < 60)) {
                put_back(p);
                p = NULL;
        } else if (!p && (rising || choice < 30))
                p = allocators[dice(w, sizeof allocators / sizeof allocators[0])](random_size(w));
        p = __atomic_exchange_n(&slot[i], p, __ATOMIC_ACQ_REL);
        if (p)
                put_back(p);
}

static void *walker(void *arg)
{
        struct walk *w = arg;
        for (unsigned i = 0; i < w->events; i++)
                step(w);
        return NULL;
}

int main(int argc, char **argv)
{
        static struct walk walks[64];
        static pthread_t t[64];
        int threads = argc > 2 ? atoi(argv[2]) : 1;
        for (int i = 0; i < threads; i++) {
                walks[i].state = (uint64_t)atoi(argv[1]) * 1000003u + (unsigned)i;
                walks[i].events = (unsigned)atoi(argv[3]) / (unsigned)threads;
        }
        if (threads == 1)
                walker(&walks[0]);
        for (int i = 0; threads > 1 && i < threads; i++)
                if (pthread_create(&t[i], NULL, walker, &walks[i]))
                        return 1;
        for (int i = 0; threads > 1 && i < threads; i++)
                pthread_join(t[i], NULL);
        truth_print();
        return 0;
}
