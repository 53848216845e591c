/* SPDX-License-Identifier: MIT */
/*
 * tides.c -- a server whose heap grows and shrinks for as long as it is told: four threads that
 * allocate and free all the time.
 *
 * Room:   tests only.  usage: tides SECONDS PERIOD_SECONDS MOST_MIB FILE
 * The live bytes are at any time the first word of FILE.
 */
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define PLACES 400000

struct place {
        void *block;
        uint32_t size;
};

static double seconds, period, most;
static int64_t *live;

static double now(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t throw_dice(uint32_t *dice)
{
        *dice = *dice * 1103515245u + 12345u;
        return *dice >> 8;
}

/* Most blocks are small, some are not. */
static uint32_t any_size(uint32_t *dice)
{
        uint32_t class = throw_dice(dice) % 100;

        return class < 90   ? 16 + throw_dice(dice) % 240
               : class < 99 ? 256 + throw_dice(dice) % 4000
                            : 8192 + throw_dice(dice) % 60000;
}

static void exchange(struct place *p, uint32_t size)
{
        free(p->block);
        __atomic_fetch_add(live, (int64_t)size - (p->block ? p->size : 0), __ATOMIC_RELAXED);
        p->block = size ? malloc(size) : NULL;
        p->size = size;
}

/* So that the heap follows the tide: more blocks while there are too few bytes, fewer while there
 * are too many. */
static void *serve(void *argument)
{
        struct place *places = calloc(PLACES, sizeof *places);
        uint32_t dice = (uint32_t)(uintptr_t)argument, last_tide = 0;
        double start = now(), at;
        int64_t own = 0;

        while ((at = now() - start) < seconds) {
                int64_t wanted = (int64_t)(most / THREADS * (1 - cos(at / period * 2 * M_PI)) / 2);

                for (int i = 0; i < 2000; i++) {
                        struct place *p = &places[throw_dice(&dice) % PLACES];
                        uint32_t size = own < wanted ? any_size(&dice) : 0;

                        own += (int64_t)size - (p->block ? p->size : 0);
                        exchange(p, size);
                }
                if ((uint32_t)(at / period) != last_tide) {
                        last_tide = (uint32_t)(at / period);
                        malloc_trim(0);
                }
                usleep(5000);
        }
        for (uint32_t i = 0; i < PLACES; i++)
                exchange(&places[i], 0);
        free(places);
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t threads[THREADS];
        int fd = argc == 5 ? open(argv[4], O_RDWR | O_CREAT, 0600) : -1;

        if (fd < 0 || ftruncate(fd, 4096) < 0)
                return 2;
        seconds = atof(argv[1]);
        period = atof(argv[2]);
        most = atof(argv[3]) * 1048576;
        live = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        for (uintptr_t i = 0; i < THREADS; i++)
                if (pthread_create(&threads[i], NULL, serve, (void *)(i + 1)))
                        return 1;
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        return *live != 0;
}
