/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- the port contract: what a processor must offer to the agent.
 *
 * Room:   inside; any context.  One header per processor with the same names; this file chooses.
 *
 * A port gives:
 *   arch_syscall(n, a..f)      raw system call: result or negative errno
 *   ARCH_AUDIT                 what filters of system calls know the processor by
 *   ARCH_FRAME(caller)         in a hook built with a frame pointer: the state of the hook's caller
 *   arch_registers(r)          all registers a generic unwind starts from, taken in the calling function
 *   ARCH_REG_*                 DWARF numbers of the stack pointer, frame pointer, return address; ARCH_REGS
 *   arch_is_sigreturn(pc)      whether PC is the return trampoline of a signal handler
 *   ARCH_SIG_*                 where the interrupted registers lie, from the stack pointer at that trampoline
 *   arch_sig_*(context)        in a signal handler: the interrupted mask, and the system call that did not end
 *   ARCH_SIGRETURN(name)       defines what a handler returns to
 *   arch_follows_call(pc)      whether a call instruction ends at PC
 *   arch_thread_pointer()      start of the thread's own data
 *   arch_fill, arch_copy       overwriting and copying memory at the speed of the machine
 *   ARCH_CODE_MAX              no code lies above this address
 */
#ifndef SEEP_AGENT_ARCH_ARCH_H
#define SEEP_AGENT_ARCH_ARCH_H

#if defined(__x86_64__)
#include "agent/arch/x86_64.h"
#else
#error "no port of the agent for this processor yet: see agent/arch/arch.h for what it must offer"
#endif

#endif
