/* SPDX-License-Identifier: MIT */
/*
 * viewed.c -- something for every page of the viewer: two phases, a tag between them, threads,
 * leaks, temporaries, recursion.
 *
 * usage: viewed [FACTOR [WORD]]      FACTOR: how many times as much the second phase holds (1);
 *                                    WORD: also a function that only this run has
 *
 * Room:   tests only.  Waits between its phases, so that they are apart on the timeline.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "seep.h"

#define ODD "</script><img src=x onerror=alert(1)>&lt;\"'"

static void *early[40], *late[400], *recursive[8], *once[16], *only;

static void pause_ms(long ms)
{
        nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void first_phase(void)
{
        for (int i = 0; i < 40; i++) {
                early[i] = malloc(3000);
                TRUTH_GOT(early[i], 3000);
        }
}

static void second_phase(int blocks)
{
        for (int i = 0; i < blocks; i++) {
                late[i] = malloc(5000);
                TRUTH_GOT(late[i], 5000);
        }
}

static void descend(int depth)
{
        recursive[depth] = malloc(700);
        TRUTH_GOT(recursive[depth], 700);
        if (depth > 0)
                descend(depth - 1);
}

static void churn(void)
{
        for (int i = 0; i < 5000; i++) {
                void *p = malloc(24);

                TRUTH_GOT(p, 24);
                truth_gone(p);
                free(p);
        }
}

/* Not in the tables of truth.h, which would keep them. */
static void lose(void)
{
        for (int i = 0; i < 10; i++) {
                void *volatile p = malloc(1111);

                p = (void *)(size_t)(p == NULL);
        }
        truth_say("fact lost_bytes=%d lost_blocks=%d\n", 11110, 10);
}

static void only_here(void)
{
        only = malloc(20000);
        TRUTH_GOT(only, 20000);
}

static void *work(void *unused)
{
        (void)unused;
        pthread_setname_np(pthread_self(), "<b>odd\"'&");
        for (int i = 0; i < 16; i++) {
                once[i] = malloc(900);
                TRUTH_GOT(once[i], 900);
        }
        churn();
        return NULL;
}

int main(int argc, char **argv)
{
        int factor = argc > 1 ? atoi(argv[1]) : 1;
        pthread_t thread;

        first_phase();
        pause_ms(300);
        SEEP_TAG("between");
        SEEP_SNAPSHOT(ODD);
        pause_ms(300);
        second_phase(20 * factor);
        descend(7);
        lose();
        if (argc > 2)
                only_here();
        if (pthread_create(&thread, NULL, work, NULL) != 0)
                return 1;
        pthread_join(thread, NULL);
        pause_ms(200);
        truth_print();
        return 0;
}
