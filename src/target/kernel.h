/* SPDX-License-Identifier: MIT */
/*
 * kernel.h -- the system calls that seep-target makes, without a C library.
 *
 * Keeps:  results are as the kernel gives them: negative errno on failure (agent/sys.h).
 */
#ifndef SEEP_TARGET_KERNEL_H
#define SEEP_TARGET_KERNEL_H

#include <asm/socket.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/bytes.h"
#include "agent/sys.h"

enum { KERNEL_UNIX = 1, KERNEL_V4 = 2, KERNEL_V6 = 10, KERNEL_STREAM = 1, KERNEL_SEQPACKET = 5,
       KERNEL_SOL_SOCKET = 1, KERNEL_SO_PEERCRED = SO_PEERCRED, KERNEL_NOSIGNAL = 0x4000,
       KERNEL_DONTWAIT = 0x40, KERNEL_IN = 1, KERNEL_OUT = 4, KERNEL_BROKEN = 8 | 16 };

struct kernel_poll {
        int32_t fd;
        int16_t events, revents;
};

struct kernel_unix {
        uint16_t family;
        char path[108];
};

/* Any address of the internet. */
struct kernel_inet {
        uint16_t family;
        uint8_t port[2];
        uint8_t rest[24]; /* v4: the address; v6: flow, address, scope */
};

/* Where the first call of that name knew users of 16 bits. */
#ifdef SYS_geteuid32
#define KERNEL_GETEUID SYS_geteuid32
#else
#define KERNEL_GETEUID SYS_geteuid
#endif

static inline uint64_t kernel_now_ms(void)
{
        return sys_clock_ns(SYS_CLOCK_MONO) / 1000000u;
}

static inline void kernel_nap(long ms)
{
        long time[2] = { ms / 1000, ms % 1000 * 1000000 };

        sys_call3(SYS_nanosleep, (long)time, 0, 0);
}

/* How many are ready, within MS. */
static inline long kernel_poll(struct kernel_poll *at, uint32_t count, long ms)
{
        long time[2] = { ms / 1000, ms % 1000 * 1000000 };

        return sys_call6(SYS_ppoll, (long)at, count, (long)time, 0, 0, 0);
}

static inline long kernel_fork(void)
{
        return sys_call6(SYS_clone, ARCH_CLONE(17 /* SIGCHLD */), 0, 0, 0, 0);
}

static inline void kernel_exit(int status)
{
        for (;;)
                sys_call3(SYS_exit_group, status, 0, 0);
}

/* PID, or (-1) any child that has ended; FLAGS: 1 at once. */
static inline long kernel_wait(long pid, int32_t *status, long flags)
{
        return sys_call6(SYS_wait4, pid, (long)status, flags, 0, 0, 0);
}

static inline void kernel_wake(uint32_t *word)
{
        sys_call6(SYS_futex, (long)word, 1 /* FUTEX_WAKE */, 0x7fffffff, 0, 0, 0);
}

#endif
