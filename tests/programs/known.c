/* SPDX-License-Identifier: MIT */
/*
 * known.c -- a program whose numbers are known beforehand, for the views and filters of the report.
 *
 * Room:   tests only.  known [PHASE_MS]: with an argument it holds 3 MB for that long, frees it,
 *         and holds 1 MB as long; each with a tag "held".
 *
 *   load   -> parse_big     10 blocks of 10,000 bytes, kept
 *   load   -> parse_small  100 blocks of 10 bytes, kept
 *   churn                 1000 blocks of 500 bytes, each freed at once
 *   peak_holder              1 block of 2,000,000 bytes, freed
 *   worker (thread)          5 blocks of 777 bytes, kept
 */
#include "seep.h"
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static void *kept[200];
static int kept_count;

static void keep(void *p)
{
        kept[kept_count++] = p;
}

static void parse_big(void)
{
        for (int i = 0; i < 10; i++)
                keep(malloc(10000));
}

static void parse_small(void)
{
        for (int i = 0; i < 100; i++)
                keep(malloc(10));
}

static void load(void)
{
        parse_big();
        parse_small();
}

static void churn(void)
{
        for (int i = 0; i < 1000; i++) {
                void *volatile p = malloc(500);
                free(p);
        }
}

static void peak_holder(void)
{
        void *volatile p = malloc(2000000);
        free(p);
}

static void *worker(void *arg)
{
        prctl(PR_SET_NAME, "seep-worker");
        for (int i = 0; i < 5; i++)
                keep(malloc(777));
        return arg;
}

/* The block's life is the point here: it must span several ticks of the observer. */
static void hold(size_t bytes, long ms)
{
        struct timespec left = {ms / 1000, ms % 1000 * 1000000};
        void *volatile p = malloc(bytes);
        SEEP_TAG("held");
        while (nanosleep(&left, &left) < 0)
                continue;
        free(p);
}

int main(int argc, char **argv)
{
        pthread_t t;
        load();
        churn();
        peak_holder();
        if (pthread_create(&t, NULL, worker, NULL))
                return 1;
        pthread_join(t, NULL);
        if (argc > 1) {
                hold(3000000, atol(argv[1]));
                hold(1000000, atol(argv[1]));
        }
        tell("known\n");
        return 0;
}
