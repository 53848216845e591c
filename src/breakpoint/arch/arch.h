/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- the port contract: what a processor must offer for breakpoints, besides that of
 * attach/arch/arch.h.
 *
 * Room:   outside, in the engine.  One header per processor with the same names; this file chooses.
 *         move.h is the other part of the contract: move_NAME.c.
 *
 * A port gives:
 *   ARCH_NEAR                      so far from its place a displaced instruction may be executed
 *   ARCH_RETURN_BYTES              what a call puts on the stack, its return address; 0: that is in
 *                                  a register (arch_link)
 *   arch_parameter(r, n)           an argument of the function that was just entered, from 0 on
 *   arch_link(r)                   where that returns to, unless the stack has it
 *   arch_return(r, back)           R becomes that of its caller, whom it returns to at BACK
 *   arch_go(tid, r, pc)            the thread goes on at PC, R too
 *   arch_perform(tid, r, m, at, memory)
 *                                  what the instruction at AT does, where that is not MOVE_CODE
 *
 * of the call stack (walk.c), by DWARF's numbers:
 *   ARCH_WALK_REGISTERS            so many, the stack pointer and
 *   ARCH_WALK_RETURN               the column of the return address among them
 *   ARCH_WALK_STACK, _BASE         the stack pointer and the frame pointer
 *   ARCH_WALK_KEPT                 those that a function gives back, but the stack pointer
 *   arch_walk_begin(to, r)         R in that order; the column of the return address has the pc
 *                                  where that is no register
 *   arch_code(pc)                  a return address without what is no address in it
 *   ARCH_SIGRETURN, _BYTES         code that a signal handler returns to
 *   ARCH_SIGNAL_SAVED              from the stack pointer there to the registers that were saved
 *   ARCH_SIGNAL_ORDER              where register I is among them, in words; ARCH_SIGNAL_PC: the pc
 *   ARCH_FRAME_CHAIN               1: two words at the frame pointer tell the caller's frame
 *   arch_follows_call(code)        whether there is a call at the end of these 8 bytes
 *
 * of calls that lead through a table of addresses:
 *   ARCH_CALL_MOST, ARCH_STUB_MOST bytes of a call, and of a stub that it may lead to
 *   arch_callee(call, back, slot)  where the call leads that ends at BACK; 0 with *SLOT: through
 *                                  the word there; 0 and 0: that is not known
 *   arch_stub_slot(stub, at)       the word through which the stub at AT leads; 0: it is none
 */
#ifndef SEEP_BREAKPOINT_ARCH_ARCH_H
#define SEEP_BREAKPOINT_ARCH_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#include "breakpoint/arch/x86_64.h"
#elif defined(__aarch64__) && defined(__LP64__)
#include "breakpoint/arch/aarch64.h"
#else
#error "no breakpoints for this processor yet: breakpoint_none.c is built in their place"
#endif

#endif
