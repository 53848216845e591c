/* SPDX-License-Identifier: MIT */
/*
 * passed_on.cpp -- one thread gets blocks, another one releases them: by free and by delete in
 * turn, at one and the same address.
 *
 * Room:   tests only.  On descriptor 3: what was done.
 */
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 100
#define BYTES 2000 /* too large for a thread's own stock of free blocks */

static sem_t given, taken;
static void *block;

/* The same frame for both, as in a program that keeps a function for each block. */
static void *release(void *)
{
        for (int i = 0; i < 2 * ROUNDS; i++) {
                sem_wait(&given);
                if (i & 1)
                        operator delete(block);
                else
                        free(block);
                sem_post(&taken);
        }
        return NULL;
}

int main()
{
        FILE *truth = fdopen(3, "w");
        void *before = NULL;
        int same = 0;
        pthread_t t;

        mallopt(M_ARENA_MAX, 1);
        sem_init(&given, 0, 0);
        sem_init(&taken, 0, 0);
        pthread_create(&t, NULL, release, NULL);
        for (int i = 0; i < 2 * ROUNDS; i++) {
                block = i & 1 ? operator new(BYTES) : malloc(BYTES);
                same += block == before;
                before = block;
                sem_post(&given);
                sem_wait(&taken);
        }
        pthread_join(t, NULL);
        if (truth)
                fprintf(truth, "fact blocks=%d same=%d\n", 2 * ROUNDS, same);
        return same < ROUNDS;
}
