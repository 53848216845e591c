/* SPDX-License-Identifier: MIT */
/*
 * unmarked.h -- the part of the port contract for interrupted calls with a time limit, on
 * processors where a restarted call begins its time limit again.
 *
 * Room:   outside.  Included by ports, behind their structures.
 */
#ifndef SEEP_ATTACH_ARCH_UNMARKED_H
#define SEEP_ATTACH_ARCH_UNMARKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_RED_ZONE 0u

struct arch_registers;

static inline bool arch_keeps_marks(void)
{
        return false;
}

static inline uint32_t arch_mark(const struct arch_registers *from)
{
        (void)from;
        return 0;
}

static inline void arch_set_mark(struct arch_registers *to, uint32_t mark)
{
        (void)to, (void)mark;
}

static inline unsigned long long *arch_argument(struct arch_registers *of, uint32_t number)
{
        (void)of, (void)number;
        return NULL;
}

static inline void arch_give(struct arch_registers *to, long result)
{
        (void)to, (void)result;
}

#endif
