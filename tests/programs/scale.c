/* SPDX-License-Identifier: MIT */
/*
 * scale.c -- a great many mappings, or a very large heap; argv[1] names the case, the numbers that
 * follow how many and how large.
 *
 * Room:   tests only.  On stdout: microseconds of processor time per pair of munmap and mmap, in
 *         order, at random, and many at random before they are mapped again.
 */
#include "truth.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096ul
#define PAIRS 50000u
#define BATCH 20000u
#define LOST_EVERY 1000u

static uint64_t seed = 88172645463325252ul;
static void *first; /* of the blocks that are kept */

static uint64_t any(uint64_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed % below;
}

static double used_us(void)
{
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* APART: no two neighbours become one for the kernel. */
static char *map_page(uint64_t number, int apart)
{
        char *p = mmap(NULL, PAGE, apart && number % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                truth_die("scale: mmap\n");
        return p;
}

static void unmap_page(char *p)
{
        if (munmap(p, PAGE))
                truth_die("scale: munmap\n");
}

static double pairs(char **pages, uint64_t count, int random, int apart)
{
        double start = used_us();

        for (uint64_t i = 0; i < PAIRS; i++) {
                uint64_t k = random ? any(count) : i % count;

                unmap_page(pages[k]);
                pages[k] = map_page(k, apart);
        }
        return (used_us() - start) / PAIRS;
}

static double batch(char **pages, uint64_t count, int apart)
{
        uint64_t some = count / 3 < BATCH ? count / 3 : BATCH;
        double start;

        for (uint64_t i = 0; i < some; i++) {
                uint64_t k = i + any(count - i);
                char *p = pages[i];

                pages[i] = pages[k];
                pages[k] = p;
        }
        start = used_us();
        for (uint64_t i = 0; i < some; i++)
                unmap_page(pages[i]);
        for (uint64_t i = 0; i < some; i++)
                pages[i] = map_page(i, apart);
        return (used_us() - start) / (double)some;
}

static void mappings(uint64_t count, int apart)
{
        char **pages = calloc(count, sizeof *pages);
        uint64_t left = count;
        double in_order, random, many;

        for (uint64_t i = 0; i < count; i++)
                pages[i] = map_page(i, apart);
        in_order = pairs(pages, count, 0, apart);
        random = pairs(pages, count, 1, apart);
        many = batch(pages, count, apart);
        tell("%.3f %.3f %.3f\n", in_order, random, many);
        for (uint64_t i = 0; i < count; i += apart ? 3 : 1) {
                if (!apart && i >= count / 3) /* holes would be too many pieces for the kernel */
                        break;
                unmap_page(pages[i]);
                left--;
        }
        truth_say("fact pieces=%lu bytes=%lu\n", (unsigned long)left, (unsigned long)(left * PAGE));
        free(pages);
}

__attribute__((noinline)) static void *block(uint64_t size)
{
        void *p = malloc(size);

        if (!p)
                truth_die("scale: malloc\n");
        return p;
}

/* Only the first word of a block is written.  One in LOST_EVERY is held by nobody. */
static void heap(uint64_t count, uint64_t size)
{
        uint64_t lost = 0;

        for (uint64_t i = 0; i < count; i++) {
                void **p = block(size);

                if (i % LOST_EVERY == LOST_EVERY / 2) {
                        *p = NULL;
                        lost++;
                } else {
                        *p = first;
                        first = p;
                }
        }
        truth_say("fact blocks=%lu bytes=%lu lost=%lu\n", (unsigned long)count,
                  (unsigned long)(count * size), (unsigned long)lost);
}

/* What is left on the stack of a call that is over must not hold the last one. */
static void wipe_stack(void)
{
        volatile char page[4096];

        for (unsigned i = 0; i < sizeof page; i++)
                page[i] = 0;
}

int main(int argc, char **argv)
{
        uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000,
                 size = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

        if (argc > 1 && !strcmp(argv[1], "mappings"))
                mappings(count, 0);
        else if (argc > 1 && !strcmp(argv[1], "apart"))
                mappings(count, 1);
        else if (argc > 1 && !strcmp(argv[1], "heap"))
                heap(count, size);
        wipe_stack();
        return 0;
}
