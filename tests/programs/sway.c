// SPDX-License-Identifier: MIT
// sway.c -- a heap that goes up to MOST MiB and back without end, touched, in blocks of 2000 bytes
// that glibc keeps in its heap: what is live and what is resident change all the time.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE 2000u

static void pause_a_little(unsigned i)
{
        if (i % 64 == 0)
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

int main(int argc, char **argv)
{
        unsigned most = (argc > 1 ? (unsigned)atoi(argv[1]) : 32) * ((1u << 20) / SIZE);
        char **block = calloc(most, sizeof *block);

        for (;;) {
                for (unsigned i = 0; i < most; i++) {
                        block[i] = malloc(SIZE);
                        memset(block[i], 1, SIZE);
                        pause_a_little(i);
                }
                for (unsigned i = most; i-- > 0;) {
                        free(block[i]);
                        pause_a_little(i);
                }
        }
}
