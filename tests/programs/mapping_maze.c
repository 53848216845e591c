/* SPDX-License-Identifier: MIT */
/*
 * mapping_maze.c -- thousands of mappings made, moved, cut and overwritten at random; argv[1] names
 * the case, argv[2] how many steps, argv[3] the seed.
 *
 * Room:   tests only.  Every page knows whose it is: "mapped START END" is one piece of one mapping
 *         that is left, "fact NAME=BYTES" what is left of those that a function made.
 */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096ul
#define PAGES 40000u /* of the area that all happens in */
#define THREADS 4u
#define OUTSIDE 256u

enum maker { NOBODY, RESERVE, PLACE, ANYWHERE, REMAP, MAKERS };

struct area {
        char *base;
        uint32_t pages, calls;
        uint64_t seed;
        uint64_t owner[PAGES]; /* number of the call, times MAKERS, plus the maker; 0 unmapped */
        struct {
                char *at;
                uint32_t pages;
        } outside[OUTSIDE]; /* what the kernel put elsewhere */
};

static struct area areas[THREADS];
static uint32_t go;

static uint32_t any(struct area *a, uint32_t below)
{
        a->seed ^= a->seed << 13;
        a->seed ^= a->seed >> 7;
        a->seed ^= a->seed << 17;
        return (uint32_t)((a->seed >> 11) % below);
}

static void *good(void *p)
{
        if (p == MAP_FAILED)
                truth_die("mapping_maze: mapping\n");
        return p;
}

static void owns(struct area *a, uint32_t first, uint32_t pages, enum maker maker)
{
        uint64_t owner = maker ? ++a->calls * (uint64_t)MAKERS + maker : 0;

        for (uint32_t i = first; i < first + pages; i++)
                a->owner[i] = owner;
}

__attribute__((noinline)) static void reserve(struct area *a, uint32_t pages)
{
        a->base = good(mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        a->pages = pages;
        owns(a, 0, pages, RESERVE);
}

__attribute__((noinline)) static void place(struct area *a, uint32_t first, uint32_t pages)
{
        good(mmap(a->base + first * PAGE, pages * PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
        owns(a, first, pages, PLACE);
}

/* The kernel may choose a hole of the area. */
__attribute__((noinline)) static void anywhere(struct area *a, uint32_t slot, uint32_t pages)
{
        char *p = good(mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0));

        if (p >= a->base && p < a->base + a->pages * PAGE) {
                owns(a, (uint32_t)((size_t)(p - a->base) / PAGE), pages, ANYWHERE);
                return;
        }
        a->outside[slot].at = p;
        a->outside[slot].pages = pages;
}

/* What is left of one mapping from FIRST on becomes PAGES pages at TO. */
__attribute__((noinline)) static void move_to(struct area *a, uint32_t first, uint32_t to,
                                              uint32_t pages)
{
        uint32_t end = first;

        while (end < a->pages && end - first < 32 && a->owner[end] == a->owner[first])
                end++;
        if (!a->owner[first] || (to < end && first < to + pages))
                return;
        good(mremap(a->base + first * PAGE, (end - first) * PAGE, pages * PAGE,
                    MREMAP_MAYMOVE | MREMAP_FIXED, a->base + to * PAGE));
        owns(a, first, end - first, NOBODY);
        owns(a, to, pages, REMAP);
}

static void take(char *at, uint32_t pages)
{
        if (munmap(at, pages * PAGE))
                truth_die("mapping_maze: munmap\n");
}

static void outside_step(struct area *a)
{
        uint32_t slot = any(a, OUTSIDE);

        if (a->outside[slot].at)
                take(a->outside[slot].at, a->outside[slot].pages);
        a->outside[slot].at = NULL;
        if (any(a, 4))
                anywhere(a, slot, 1 + any(a, 8));
}

/* HOLES: others may not map meanwhile, or they would get into them. */
static void step(struct area *a, int holes)
{
        uint32_t what = any(a, 100), long_one = any(a, 500) == 0,
                 pages = 1 + any(a, long_one ? 3000 : 12), first = any(a, a->pages - pages);

        if (what < 50) {
                place(a, first, pages);
        } else if (what < 70 && holes) {
                take(a->base + first * PAGE, pages);
                owns(a, first, pages, NOBODY);
        } else if (what < 85 && holes) {
                move_to(a, any(a, a->pages), first, pages < 40 ? pages : 40);
        } else {
                outside_step(a);
        }
}

static void take_all(struct area *a)
{
        take(a->base, a->pages);
        owns(a, 0, a->pages, NOBODY);
        for (uint32_t i = 0; i < OUTSIDE; i++)
                if (a->outside[i].at) {
                        take(a->outside[i].at, a->outside[i].pages);
                        a->outside[i].at = NULL;
                }
}

static uint64_t left[MAKERS];

static void tell_piece(char *start, uint64_t pages, uint32_t maker, int all)
{
        left[maker] += pages * PAGE;
        if (all)
                truth_say("mapped %lu %lu\n", (unsigned long)start,
                          (unsigned long)(start + pages * PAGE));
}

static uint64_t tell_area(struct area *a, int all)
{
        uint64_t pieces = 0;

        for (uint32_t i = 0, end; i < a->pages; i = end) {
                for (end = i + 1; end < a->pages && a->owner[end] == a->owner[i]; end++)
                        ;
                if (!a->owner[i])
                        continue;
                tell_piece(a->base + i * PAGE, end - i, a->owner[i] % MAKERS, all);
                pieces++;
        }
        for (uint32_t i = 0; i < OUTSIDE; i++)
                if (a->outside[i].at) {
                        tell_piece(a->outside[i].at, a->outside[i].pages, ANYWHERE, all);
                        pieces++;
                }
        return pieces;
}

static void tell_makers(void)
{
        truth_say("fact reserve=%lu place=%lu anywhere=%lu move_to=%lu\n",
                  (unsigned long)left[RESERVE], (unsigned long)left[PLACE],
                  (unsigned long)left[ANYWHERE], (unsigned long)left[REMAP]);
}

static void alone(long steps)
{
        for (long i = 0; i < steps; i++)
                step(&areas[0], 1);
}

static void *work(void *argument)
{
        struct area *a = argument;

        while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
                sched_yield();
        for (uint32_t i = 0; i < go; i++)
                step(a, 0);
        return NULL;
}

static void threads(long steps, uint64_t seed)
{
        pthread_t made[THREADS];
        pthread_attr_t attributes;
        static char stacks[THREADS][256 << 10] __attribute__((aligned(4096)));

        for (uint32_t i = 0; i < THREADS; i++) {
                pthread_attr_init(&attributes);
                pthread_attr_setstack(&attributes, stacks[i], sizeof stacks[i]);
                areas[i].seed = seed + 1000 * i;
                if (i)
                        reserve(&areas[i], PAGES / 4);
                if (pthread_create(&made[i], &attributes, work, &areas[i]))
                        truth_die("mapping_maze: thread\n");
        }
        __atomic_store_n(&go, (uint32_t)steps, __ATOMIC_RELEASE);
        for (uint32_t i = 0; i < THREADS; i++)
                pthread_join(made[i], NULL);
}

/* The child goes on where the parent was, and tells sums only. */
static void forked(long steps)
{
        pid_t child;
        uint64_t pieces;

        alone(steps);
        child = fork();
        if (child == 0) {
                areas[0].seed += 77;
                alone(steps);
                pieces = tell_area(&areas[0], 0);
                truth_say("fact child_pieces=%lu child_bytes=%lu\n", (unsigned long)pieces,
                          (unsigned long)(left[RESERVE] + left[PLACE] + left[ANYWHERE] +
                                          left[REMAP]));
                _exit(0);
        }
        waitpid(child, NULL, 0);
        alone(steps);
}

static void busy_threads(uint64_t seed)
{
        pthread_t made;

        for (uint32_t i = 1; i < THREADS; i++) {
                areas[i].seed = seed + 1000 * i;
                reserve(&areas[i], PAGES / 4);
                pthread_create(&made, NULL, work, &areas[i]);
        }
        __atomic_store_n(&go, UINT32_MAX, __ATOMIC_RELEASE);
}

/* The same while threads are busy elsewhere.  The child tells of area 0, in which there are no
 * holes for others. */
static void forked_amid(long steps, uint64_t seed)
{
        pid_t child;

        busy_threads(seed);
        for (long i = 0; i < steps; i++)
                step(&areas[0], 0);
        child = fork();
        if (child == 0) {
                for (long i = 0; i < steps; i++)
                        step(&areas[0], 0);
                memset(areas[0].outside, 0, sizeof areas[0].outside);
                tell_area(&areas[0], 1);
                truth_say("fact area=%lu area_end=%lu\n", (unsigned long)areas[0].base,
                          (unsigned long)(areas[0].base + areas[0].pages * PAGE));
        } else {
                waitpid(child, NULL, 0);
        }
        _exit(0);
}

/* All of area 0 stays as it is told; threads are busy in others and in its holes when the end
 * comes. */
static void killed(long steps, uint64_t seed)
{
        alone(steps);
        tell_area(&areas[0], 1);
        busy_threads(seed);
        usleep(1000 + (unsigned)(seed * 7919 % 5000)); /* any moment will do */
        kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "alone";
        long steps = argc > 2 ? atol(argv[2]) : 1000;
        uint64_t seed = 88172645463325252ul * (argc > 3 ? strtoul(argv[3], NULL, 10) : 1);

        areas[0].seed = seed;
        reserve(&areas[0], !strcmp(what, "threads") ? PAGES / 4 : PAGES);
        if (!strcmp(what, "alone") || !strcmp(what, "emptied"))
                alone(steps);
        else if (!strcmp(what, "threads"))
                threads(steps, seed);
        else if (!strcmp(what, "forked"))
                forked(steps);
        else if (!strcmp(what, "forked_amid"))
                forked_amid(steps, seed);
        else if (!strcmp(what, "killed"))
                killed(steps, seed);
        if (!strcmp(what, "emptied"))
                take_all(&areas[0]);
        for (uint32_t i = 0; i < THREADS; i++)
                tell_area(&areas[i], 1);
        tell_makers();
        return 0;
}
