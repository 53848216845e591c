/* SPDX-License-Identifier: MIT */
/*
 * one_size.h -- the part of the port contract for programs of a smaller word size, on processors
 * where they are not supported.
 *
 * Room:   outside.  Included by ports, behind their structures.
 */
#ifndef SEEP_ATTACH_ARCH_ONE_SIZE_H
#define SEEP_ATTACH_ARCH_ONE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

struct arch_context;
struct arch_registers;
struct freeze_thread;

static inline bool arch_is_narrow(const struct arch_registers *of)
{
        (void)of;
        return false;
}

#define arch_call_of(of) \
        ((void)(of), (struct arch_instruction){ ARCH_CALL, ARCH_CALL_BYTES, ARCH_TRAP_BYTES })

static inline void arch_describe_narrow(struct freeze_thread *t, const struct arch_context *c,
                                        size_t count)
{
        (void)t, (void)c, (void)count;
}

#endif
