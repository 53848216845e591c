/* SPDX-License-Identifier: MIT */
/* churn_threads.c -- COUNT threads that allocate, grow and release until a line of input comes;
 * then all is released. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define HELD 64

static atomic_int over;

static void *churn(void *seed)
{
        unsigned state = (unsigned)(size_t)seed + 1;
        void *held[HELD] = { 0 };

        while (!over) {
                unsigned i = (state = state * 1103515245 + 12345) >> 16 & (HELD - 1);

                if (state & 1u << 30)
                        held[i] = realloc(held[i], 1 + (state >> 8) % 3000);
                else {
                        free(held[i]);
                        held[i] = malloc(1 + (state >> 8) % 3000);
                }
        }
        for (int i = 0; i < HELD; i++)
                free(held[i]);
        return NULL;
}

int main(int argc, char **argv)
{
        static char in[64], out[64];
        pthread_t threads[16];
        int count = argc > 1 ? atoi(argv[1]) : 1;

        setvbuf(stdin, in, _IOFBF, sizeof in);
        setvbuf(stdout, out, _IOFBF, sizeof out);
        for (int i = 0; i < count; i++)
                pthread_create(&threads[i], NULL, churn, (void *)(size_t)i);
        puts("ready");
        fflush(stdout);
        getchar();
        over = 1;
        for (int i = 0; i < count; i++)
                pthread_join(threads[i], NULL);
        return 0;
}
