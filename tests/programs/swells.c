/* SPDX-License-Identifier: MIT */
/*
 * swells.c -- two threads that allocate and free nothing, some blocks at a time, until standard
 * input ends: the first word of the file argv[1] says how many blocks there are.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *made;

static void *swell(void *unused)
{
        (void)unused;
        for (;;) {
                for (int i = 0; i < 20; i++) {
                        void *volatile block = malloc(40);

                        __atomic_fetch_add(made, block != NULL, __ATOMIC_RELAXED);
                }
                usleep(1000);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
        pthread_t thread;
        char c;

        made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (made == MAP_FAILED)
                return 1;
        for (int i = 0; i < 2; i++)
                if (pthread_create(&thread, NULL, swell, NULL))
                        return 1;
        while (read(0, &c, 1) > 0)
                continue;
        _exit(0);
}
