/* SPDX-License-Identifier: MIT */
/*
 * churn.c -- two threads that allocate and free all the time, until standard input ends.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 5000 };

static void *churn(void *seed)
{
        uint64_t state = (uintptr_t)seed;
        void **slots = calloc(SLOTS, sizeof *slots);

        for (;;) {
                void **slot;

                state = state * 6364136223846793005u + 1442695040888963407u;
                slot = &slots[(state >> 33) % SLOTS];
                free(*slot);
                *slot = state >> 62 ? malloc(1 + (state >> 40) % 100) : NULL;
        }
        return slots;
}

int main(void)
{
        pthread_t thread;
        char c;

        for (uintptr_t i = 1; i <= 2; i++)
                if (pthread_create(&thread, NULL, churn, (void *)i))
                        return 1;
        while (read(0, &c, 1) > 0)
                continue;
        _exit(0);
}
