/* SPDX-License-Identifier: MIT */
/* fork_caches.c -- a child whose parent had threads: what they kept in their caches of free blocks
 * is in use for its allocator. */
#include "lost.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define SIZES 12
#define EACH 7

static pthread_barrier_t filled, forked;

static void *keep_free_blocks(void *unused)
{
        char *all[SIZES * EACH];

        for (size_t i = 0; i < SIZES * EACH; i++) {
                all[i] = malloc(24 + i / EACH * 32);
                memset(all[i], 1, 24);
        }
        for (size_t i = 0; i < SIZES * EACH; i++)
                free(all[i]);
        pthread_barrier_wait(&filled);
        pthread_barrier_wait(&forked);
        return unused;
}

int main(void)
{
        pthread_t threads[THREADS];
        int status = 1;
        pid_t child;

        pthread_barrier_init(&filled, NULL, THREADS + 1);
        pthread_barrier_init(&forked, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
                pthread_create(&threads[i], NULL, keep_free_blocks, NULL);
        pthread_barrier_wait(&filled);
        child = fork();
        lose(child ? 33 : 44);
        clear_stack();
        if (!child)
                exit(0);
        waitpid(child, &status, 0);
        pthread_barrier_wait(&forked);
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        puts("end");
        return status;
}
