/* SPDX-License-Identifier: MIT */
/*
 * headless.c -- a process that goes on when its first thread has ended: headless.
 *
 * Room:   tests only.  Says "ready" when the kernel has nothing of the first thread any more but
 *         its number, waits for a byte, loads a library, makes ten blocks and loses three of them;
 *         again for each byte, until there is none.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 10
#define LOST 3
#define BYTES 321

static pthread_t first;
static void *volatile held[BLOCKS];

static int has_ended(void)
{
        char text[512] = "", *behind;
        int fd = open("/proc/self/stat", O_RDONLY);

        if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
                _exit(3);
        close(fd);
        behind = strrchr(text, ')');
        return behind && behind[2] == 'Z';
}

static __attribute__((noinline)) void make(void)
{
        for (int i = 0; i < BLOCKS; i++)
                held[i] = malloc(BYTES);
        for (int i = 0; i < BLOCKS; i++) {
                if (i >= LOST)
                        free(held[i]);
                held[i] = NULL;
        }
}

static void *go_on(void *unused)
{
        char byte;

        (void)unused;
        pthread_join(first, NULL);
        while (!has_ended())
                usleep(1000);
        if (write(1, "ready\n", 6) != 6)
                _exit(4);
        while (read(0, &byte, 1) == 1) {
                void *library = dlopen("libm.so.6", RTLD_NOW);

                make();
                if (!library || dlclose(library) || write(1, "done\n", 5) != 5)
                        _exit(5);
        }
        exit(0);
}

int main(void)
{
        pthread_t other;

        first = pthread_self();
        if (pthread_create(&other, NULL, go_on, NULL))
                return 2;
        pthread_exit(NULL);
}
