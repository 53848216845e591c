/* SPDX-License-Identifier: MIT */
/* maps.h -- memory that the program mapped and unmapped itself. */
#ifndef SEEP_BREAKPOINT_MAPS_H
#define SEEP_BREAKPOINT_MAPS_H

#include <stdint.h>

struct task;

/* The call of mmap or mremap that T was in gave RESULT. */
void maps_mapped(struct task *t, uint64_t result);

/* SIZE bytes at START are about to be unmapped. */
void maps_unmapped(struct task *t, uint64_t start, uint64_t size);

#endif
