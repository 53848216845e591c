/* SPDX-License-Identifier: MIT */
/*
 * named_threads.c -- two threads, one after the other, that name themselves twice and end.
 *
 * Room:   tests only.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void *volatile kept;

static void *run(void *name)
{
        pthread_setname_np(pthread_self(), name);
        kept = malloc(10);
        free(kept);
        prctl(PR_SET_NAME, "renamed");
        return NULL;
}

int main(void)
{
        static char names[][8] = { "first", "second" };

        for (int i = 0; i < 2; i++) {
                pthread_t thread;

                if (pthread_create(&thread, NULL, run, names[i]) != 0)
                        return 1;
                pthread_join(thread, NULL);
        }
        kept = malloc(20);
        free(kept);
        return 0;
}
