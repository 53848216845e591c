/* SPDX-License-Identifier: MIT */
/* clock.h -- the clocks of the kernel. */
#ifndef SEEP_BASE_CLOCK_H
#define SEEP_BASE_CLOCK_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds of a clock of the kernel's, also where a library makes the C library tell
 * another time (faketime). */
static inline uint64_t clock_ns(clockid_t clock)
{
        struct timespec t;

        syscall(SYS_clock_gettime, clock, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ... of CLOCK_MONOTONIC, as the agent sees it. */
static inline uint64_t clock_now_ns(void)
{
        return clock_ns(CLOCK_MONOTONIC);
}

#endif
