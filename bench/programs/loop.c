/* SPDX-License-Identifier: MIT */
/*
 * loop.c -- ns per malloc+free pair, at a given stack depth, from one call site or from two in
 * turn.
 *
 * Room:   a measured program of bench/run:  loop DEPTH SITES PAIRS Prints: "ns_per_pair N.NN",
 * timed inside, so that the start of the program and of the tool does not count.
 * Keeps:  DEPTH counts the frames from the caller of malloc to main, both included; below main are
 *         libc's own. SITES 1: the stack is the same every time.  SITES 2: the two innermost frames
 *         change with every call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Whatever the compiler knew about P is forgotten here, so the pair of calls stays.  SITE makes the
 * two functions different, or they would be merged into one. */
#define USE(p, site) __asm__ volatile("# " site : "+r"(p) : : "memory")
/* Something behind the call to free, so that it is a call and not a jump. */
#define NOT_LAST(site) __asm__ volatile("# " site : : : "memory")

enum { BLOCK_BYTES = 64, FRAMES_BELOW_RECURSION = 3 /* site, turn, main */ };

static __attribute__((noinline)) void site_even(void)
{
        void *block = malloc(BLOCK_BYTES);
        USE(block, "even");
        free(block);
        NOT_LAST("even");
}

static __attribute__((noinline)) void site_odd(void)
{
        void *block = malloc(BLOCK_BYTES);
        USE(block, "odd");
        free(block);
        NOT_LAST("odd");
}

static __attribute__((noinline)) double turn(long sites, long pairs)
{
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        if (sites == 1) {
                for (long i = 0; i < pairs; i++)
                        site_even();
        } else {
                for (long i = 0; i < pairs; i += 2) {
                        site_even();
                        site_odd();
                }
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        return (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
}

static __attribute__((noinline)) double descend(long frames, long sites, long pairs)
{
        /* a frame with something in it, alive across the call: no tail call */
        volatile char room[32];
        room[0] = (char)frames;
        double ns = frames > 1 ? descend(frames - 1, sites, pairs) : turn(sites, pairs);
        return ns + (room[0] - (char)frames);
}

int main(int argc, char **argv)
{
        if (argc != 4) {
                fprintf(stderr, "usage: loop DEPTH SITES PAIRS\n");
                return 2;
        }
        long frames = atol(argv[1]) - FRAMES_BELOW_RECURSION;
        long sites = atol(argv[2]);
        long pairs = atol(argv[3]);
        if (frames < 1 || sites < 1 || sites > 2 || pairs < 1) {
                fprintf(stderr, "loop: DEPTH is at least 4, SITES 1 or 2, PAIRS at least 1\n");
                return 2;
        }
        descend(frames, sites, pairs / 10 + 1); /* warm: tables, caches, clock of the processor */
        printf("ns_per_pair %.2f\n", descend(frames, sites, pairs) / (double)pairs);
        return 0;
}
