/* SPDX-License-Identifier: MIT */
/*
 * six_arguments.c -- calls of syscall() with as many arguments as there are, the last of which
 * decides.
 *
 * Room:   tests only.  FUTEX_CMP_REQUEUE wakes nobody here, and fails unless the word has the value
 *         of its sixth argument.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

static uint32_t first, second;

static long compare(uint32_t value)
{
        return syscall(SYS_futex, &first, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 1L, 1L, &second,
                       (long)value);
}

int main(void)
{
        uint32_t same = 0, others = 0;

        for (uint32_t i = 0; i < 100; i++) {
                first = i * 20000003u;
                free(malloc(i));
                same += compare(first) == 0;
                others += compare(first + 1) == -1 && errno == EAGAIN;
        }
        printf("same %u, others %u\n", same, others);
        return 0;
}
