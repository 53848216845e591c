/* SPDX-License-Identifier: MIT */
/*
 * portable.h -- what ports share that have no instruction of their own for it
 */
#ifndef SEEP_AGENT_ARCH_PORTABLE_H
#define SEEP_AGENT_ARCH_PORTABLE_H

#include <stdbool.h>
#include <stdint.h>

static inline void arch_unjudged(bool begins)
{
        (void)begins;
}

static inline void arch_fill(void *to, uint8_t byte, uint64_t count)
{
        for (uint8_t *p = to; count--; p++)
                *p = byte;
}

static inline void arch_copy(void *to, const void *from, uint64_t count)
{
        const uint8_t *f = from;

        for (uint8_t *p = to; count--; p++)
                *p = *f++;
}

#endif
