/* SPDX-License-Identifier: MIT */
/*
 * shifts.c -- threads one after the other, each with a name of its own: given before its first
 * allocation, or (argv[1]: late) after it.
 *
 * Room:   tests only.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int late;

static void *work(void *number)
{
        char name[16];
        int count = *(int *)number;

        snprintf(name, sizeof name, "shift-%d", count);
        if (late)
                free(malloc(1));
        pthread_setname_np(pthread_self(), name);
        for (int i = 0; i < 100 * count; i++)
                free(malloc(1000));
        return NULL;
}

int main(int argc, char **argv)
{
        late = argc > 1 && strcmp(argv[1], "late") == 0;
        for (int i = 1; i <= 5; i++) {
                pthread_t thread;

                pthread_create(&thread, NULL, work, &i);
                pthread_join(thread, NULL);
        }
        return 0;
}
