/* SPDX-License-Identifier: MIT */
/*
 * clock.h -- the time that passes.
 *
 * Room:   outside; any layer.
 */
#ifndef SEEP_BASE_CLOCK_H
#define SEEP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
