/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- the port contract: what a processor must offer to those who hold a process still.
 *
 * Room:   outside; the tracer of the thread in question.  One header per processor with the same names; this file chooses.
 *
 * A port gives:
 *   struct arch_registers             the general registers of a stopped thread
 *   arch_read, arch_write             from and to the thread; false: it does not stand still, or (ENOEXEC) is of another kind
 *   arch_describe(t, r)               the same for readers, and the vector registers
 *   struct arch_context               the registers that a signal interrupted, as the kernel saves them for its handler; ARCH_CONTEXT_BYTES: so
 *                                     many of them are needed
 *   arch_context_vectors(c)           ... and where it saves the vector registers; ARCH_STATE_BYTES: no more than so many
 *   arch_describe_interrupted(t, c, state, count)
 *                                     both, for readers
 *   arch_interrupted(r)               which system call our stop cut short with EINTR; -1: none
 *   arch_is_in_call(r)                whether it was stopped in a system call
 *   arch_thread_pointer_in(r)         where its thread-local storage is
 *   arch_stack(r), arch_pc(r)         its stack pointer; where its program counter is kept
 *   arch_again(r)                     have it made again
 *   ARCH_CALL, ARCH_CALL_BYTES        the instruction that makes a system call
 *   arch_prepare(r, at, call)         a system call, to be made with the instruction at AT
 *   arch_result(r)                    what it gave; ARCH_ERESTARTNOINTR: to be made again
 */
#ifndef SEEP_ATTACH_ARCH_ARCH_H
#define SEEP_ATTACH_ARCH_ARCH_H

#if defined(__x86_64__)
#include "attach/arch/x86_64.h"
#else
#error "no port for this processor yet: see attach/arch/arch.h for what it must offer"
#endif

#endif
