/* SPDX-License-Identifier: MIT */
/*
 * exports.cpp -- allocations with stacks that are hard to write down: recursion, inlined functions,
 * long names, threads.
 *
 * Room:   tests only.  Tells what each function made ("site NAME allocs= bytes= live= lost=", in
 *         bytes); what blocks there are it does not note down, because that would hold them.
 */
#include "truth.h"

#include <map>
#include <pthread.h>
#include <stdlib.h>
#include <string>

#include "seep.h"

#define FRAME __attribute__((noinline))

static void *held[64];
static unsigned held_count;

static struct tally {
        const char *name;
        unsigned long allocs, bytes, live, lost;
} tallies[16];

static struct tally *tally_of(const char *name)
{
        struct tally *t = tallies;

        while (t->name && strcmp(t->name, name) != 0)
                t++;
        t->name = name;
        return t;
}

static void count(const char *name, unsigned long bytes, bool live, bool lost)
{
        struct tally *t = tally_of(name);

        t->allocs++;
        t->bytes += bytes;
        t->live += live ? bytes : 0;
        t->lost += lost ? bytes : 0;
}

#define KEEP(bytes) (held[held_count++] = malloc(bytes), count(__func__, (bytes), true, false))

static FRAME void lose(void)
{
        for (int i = 0; i < 3; i++) {
                void *volatile block = malloc(1000);

                block = NULL;
                (void)block;
                count(__func__, 1000, true, true);
        }
}

static FRAME void passing(void)
{
        for (int i = 0; i < 7; i++) {
                free(malloc(11));
                count(__func__, 11, false, false);
        }
}

/* Calls itself. */
static FRAME void descend(int depth)
{
        if (depth > 0) {
                descend(depth - 1);
                asm volatile("");
        }
        KEEP(100);
}

/* Call each other; both allocate. */
static FRAME void odd(int depth);

static FRAME void even(int depth)
{
        if (depth > 0)
                odd(depth - 1);
        KEEP(10);
}

static FRAME void odd(int depth)
{
        if (depth > 0)
                even(depth - 1);
        KEEP(20);
}

static inline __attribute__((always_inline)) void inlined(void)
{
        KEEP(5000);
}

static FRAME void host(void)
{
        inlined();
        asm volatile("");
}

/* A name with spaces, commas and brackets of all kinds. */
template <class T> struct store {
        FRAME void operator()(const T *, unsigned long bytes = 64) const
        {
                KEEP(bytes);
        }
};

static FRAME void named(void)
{
        store<std::map<std::string, unsigned long>>()(nullptr);
        auto lambda = [](long bytes) FRAME {
                KEEP(bytes);
        };
        lambda(33);
}

static FRAME void shared(unsigned long bytes)
{
        KEEP(bytes);
}

/* Both are there at the same time; one allocates after the other. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

static void *work(void *argument)
{
        unsigned long number = (unsigned long)argument;
        char name[16];

        snprintf(name, sizeof name, "worker-%lu", number);
        pthread_setname_np(pthread_self(), name);
        pthread_barrier_wait(&together);
        pthread_mutex_lock(&turn);
        for (unsigned long i = 0; i < number; i++)
                shared(200);
        pthread_mutex_unlock(&turn);
        pthread_barrier_wait(&together);
        return NULL;
}

static FRAME void run_workers(void)
{
        pthread_t threads[2];

        pthread_barrier_init(&together, NULL, 2);
        for (unsigned long i = 0; i < 2; i++)
                if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
                        truth_die("exports: no thread\n");
        for (int i = 0; i < 2; i++)
                pthread_join(threads[i], NULL);
}

int main(void)
{
        descend(4);
        SEEP_TAG("descended");
        even(5);
        host();
        SEEP_TAG("hosted");
        named();
        run_workers();
        passing();
        lose();
        for (struct tally *t = tallies; t->name; t++)
                truth_say("site %s allocs=%lu bytes=%lu live=%lu lost=%lu\n", t->name, t->allocs,
                          t->bytes, t->live, t->lost);
        return 0;
}
