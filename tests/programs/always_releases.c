/* SPDX-License-Identifier: MIT */
/* always_releases.c -- threads that get and release blocks as long as their input is open. */
#include "lost.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 8
#define BLOCKS 64

static int ended;

static void *get_and_release(void *seed)
{
        unsigned random = (unsigned)(size_t)seed;
        char *all[BLOCKS] = { 0 };

        while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
                size_t bytes, i;

                random = random * 1103515245 + 12345;
                i = (random >> 8) % BLOCKS;
                bytes = (random >> 16) % 900 + 1;
                if (random >> 4 & 1) {
                        all[i] = realloc(all[i], bytes * 3);
                } else {
                        free(all[i]);
                        all[i] = malloc(bytes);
                }
                memset(all[i], 0, bytes);
        }
        for (size_t i = 0; i < BLOCKS; i++)
                free(all[i]);
        return NULL;
}

int main(void)
{
        pthread_t threads[THREADS];
        char byte;

        lose(33);
        for (size_t i = 0; i < THREADS; i++)
                pthread_create(&threads[i], NULL, get_and_release, (void *)(i + 1));
        clear_stack();
        dprintf(1, "%d\n", (int)getpid());
        while (read(0, &byte, 1) > 0)
                continue;
        __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
