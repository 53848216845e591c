/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- the port contract: what a processor must offer for holding a process still.
 *
 * Room:   outside; the tracer of the thread in question.  One header per processor with the same
 *         names; this file chooses.
 *
 * A port gives:
 *   struct arch_registers             the general registers of a stopped thread
 *   arch_read, arch_write             from and to the thread; false: it does not stand still, or
 *                                     (ENOEXEC) is of another kind
 *   arch_is_narrow(r)                 it is, and runs code with words of 4 bytes: R has its
 *                                     registers all the same, for arch_describe and arch_again
 *   arch_describe(t, r)               the same for readers, and the vector registers
 *   struct arch_context               the registers that a signal interrupted, as the
 *                                     kernel saves them for its handler;
 *                                     ARCH_CONTEXT_BYTES: so many of them are needed
 *   arch_context_vectors(c)           ... and where it saves the vector registers;
 *                                     ARCH_STATE_BYTES: no more than so many
 *   arch_describe_interrupted(t, c, state, count)
 *                                     both, for readers
 *   arch_describe_narrow(t, c, count) the same of such code, from the COUNT bytes at C
 *   arch_interrupted(r)               which system call our stop cut short with EINTR; -1: none
 *   arch_is_in_call(r)                whether it was stopped in a system call
 *   arch_thread_pointer_in(r)         where its thread-local storage is
 *   arch_stack(r)                     its stack pointer
 *   arch_pc(r), arch_set_pc(r, pc)    its program counter
 *   arch_again(r)                     have it made again; ARCH_KERNEL_DECIDES: unless a signal
 *                                     comes before that for which EINTR is right
 *   arch_keeps_marks()                whether a call can carry a number of ours, of 31 bits:
 *                                     arch_set_mark(r, n) behind arch_again(r), and arch_mark(r)
 *                                     when it is cut short once more; 0 none.  Else: unmarked.h
 *   arch_argument(r, n)               an argument of it, from 0 on
 *   arch_give(r, result)              have it return that instead
 *   ARCH_RED_ZONE                     bytes below the stack pointer that are in use
 *   ARCH_CALL, ARCH_CALL_BYTES        the instruction that makes a system call
 *   arch_call_of(r)                   the same of the code that the thread runs, and what its
 *                                     address is a multiple of
 *   ARCH_TRAP, ARCH_TRAP_BYTES        a breakpoint; ARCH_TRAP_PAST: how far behind it
 *                                     the program counter is then
 *   ARCH_CLONE_WORDS(flags)           the arguments of clone(); ARCH_SYS_MMAP: the number of mmap()
 *   arch_prepare(r, at, call)         a system call, to be made with the instruction at AT
 *   arch_jump(r, pc, stack)           a function of ours, to be run on a stack of ours
 *   arch_result(r)                    what it gave; ARCH_ERESTARTNOINTR: to be made again
 *   ARCH_VECTOR_NOTE                  the note of core files with the vector registers
 *   arch_take_note(t, v)              ... as they are there
 *   arch_returned(code, count, at, load)
 *                                     the constant address that the function with this
 *                                     code at AT returns, or (LOAD) where it loads it
 *                                     from; 0: that cannot be told
 *
 * attach/arch/registers.h has the numbers of registers, ledger/arch/arch.h what both sides know.
 * docs/PORTING.md tells how to write one.
 */
#ifndef SEEP_ATTACH_ARCH_ARCH_H
#define SEEP_ATTACH_ARCH_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#include "attach/arch/x86_64.h"
#elif defined(__i386__)
#include "attach/arch/i386.h"
#elif defined(__aarch64__) && defined(__LP64__)
#include "attach/arch/aarch64.h"
#elif defined(__arm__)
#include "attach/arch/arm.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "attach/arch/riscv64.h"
#elif defined(__s390x__)
#include "attach/arch/s390x.h"
#elif defined(__powerpc__) && !defined(__powerpc64__)
#include "attach/arch/powerpc.h"
#else
#error "no port for this processor yet: see attach/arch/arch.h for what it must offer"
#endif

#endif
