/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h -- where the C library has the stacks of its threads.
 *
 * Room:   inside; any context.
 * Keeps:  a thread and its stack may be gone at any time, and so may the variable with its name:
 *         all is read by the kernel on our behalf.
 *
 * glibc's name for a thread is the address of its struct pthread, which lies at the end of the
 * stack and tells where that begins.  Other C libraries' are not looked for.
 */
#ifndef SEEP_AGENT_DESCRIPTOR_H
#define SEEP_AGENT_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

struct descriptor_stack {
        uint64_t start, end; /* above the guard; END need not be the end of a page */
};

/* The stack of the thread whose name is at NAME; false: it is gone, or not known. */
bool descriptor_find(uint64_t name, struct descriptor_stack *out);

/* Whether the C library still has a stack that was found once, for a thread or for one to come. */
bool descriptor_is_there(const struct descriptor_stack *stack);

#endif
