/* SPDX-License-Identifier: MIT */
/*
 * region.h -- what mmap gave: address ranges in their order, kept right under threads and
 * signals without waiting.
 *
 * Room:   inside; any context.
 * Keeps:  every operation has a ticket: an unmapping takes it before the system call, a mapping
 *         after it.  An unmapping touches only regions with older tickets, so another thread that
 *         got the address in between keeps its region.
 */
#ifndef SEEP_AGENT_REGION_H
#define SEEP_AGENT_REGION_H

#include "agent/descriptor.h"
#include "agent/thread.h"

/* [START, START + SIZE) is about to be unmapped; the answer is the ticket for region_remove().
 * region_stays: it was not after all. */
uint64_t region_leaves(struct thread *t, uint64_t start, uint64_t size);
void region_stays(struct thread *t);

/* [START, START + SIZE) was mapped for CALLER.  False: it is not recorded. */
bool region_add(struct thread *t, uint64_t start, uint64_t size, uint32_t kind,
                struct arch_state caller);

/* STACK is that of a thread that CALLER made; TICKET was taken before. */
void region_add_stack(struct thread *t, const struct descriptor_stack *stack, uint64_t ticket,
                      struct arch_state caller);

/* The C library unmaps stacks unseen: forget those that are gone.  LOOKS: how many may be asked for
 * now.  The second one is for a hook of CALLER that has nothing else to record. */
void region_look(struct thread *t, uint32_t looks);
void region_look_for(struct arch_state caller, uint32_t looks);
#define REGION_LOOK_ALL UINT32_MAX

/* In the child of a fork, with a ledger of its own. */
void region_forked(void);

/* [START, START + SIZE) was unmapped; TICKET was taken before. */
void region_remove(struct thread *t, uint64_t start, uint64_t size, uint64_t ticket);

#endif
