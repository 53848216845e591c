/* SPDX-License-Identifier: MIT */
/*
 * switches.c -- recording off and on, counted, and from several threads.
 *
 * Room:   tests only.  Functions seen_* allocate while recording is on, unseen_* while it is off;
 *         each says what it keeps.  With the argument "off" the program expects to be started with
 *         recording off.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>

#include "seep.h"

static void *seen_kept(void) { void *p = malloc(101); TRUTH_GOT(p, 101); return p; }
static void *seen_freed(void) { void *p = malloc(102); TRUTH_GOT(p, 102); return p; }
static void *seen_again(void *old)
{
        void *p;
        truth_gone(old);
        p = realloc(old, 5000);
        TRUTH_GOT(p, 5000);
        return p;
}
static void *unseen_kept(void) { return malloc(103); }
static void *unseen_freed(void) { return malloc(104); }

static void release(void *p)
{
        truth_gone(p);
        free(p);
}

static void round_trip(void)
{
        void *off, *on = seen_freed(), *kept = seen_kept(), *grown = seen_kept();
        SEEP_DISABLE();
        unseen_kept();
        off = unseen_freed();
        release(on); /* made on, freed off: seen */
        SEEP_DISABLE();
        SEEP_ENABLE();
        free(unseen_freed()); /* still off: two need two */
        SEEP_ENABLE();
        free(off); /* made off, freed on: nothing to tell */
        seen_again(grown);
        (void)kept;
}

/* Whatever the others do, it is off between the two calls of a thread. */
static pthread_barrier_t start;

static void *thread(void *arg)
{
        (void)arg;
        pthread_barrier_wait(&start);
        for (int i = 0; i < 100000; i++) {
                SEEP_DISABLE();
                free(unseen_freed());
                SEEP_ENABLE();
        }
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t t[4];
        if (argc > 1 && !strcmp(argv[1], "off")) {
                void *early = unseen_kept();
                free(unseen_freed());
                SEEP_ENABLE();
                free(early);
        }
        round_trip();
        pthread_barrier_init(&start, NULL, 4);
        for (int i = 0; i < 4; i++)
                if (pthread_create(&t[i], NULL, thread, NULL))
                        return 1;
        for (int i = 0; i < 4; i++)
                pthread_join(t[i], NULL);
        release(seen_freed());
        truth_print();
        return 0;
}
