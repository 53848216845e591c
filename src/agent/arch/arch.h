/* SPDX-License-Identifier: MIT */
/*
 * arch.h -- the port contract: what a processor must offer to the agent.
 *
 * Room:   inside; any context.  One header per processor with the same names; this file chooses.
 * Keeps:  tests/lint/ports.py compiles every file of the agent with every port.
 *         docs/PORTING.md tells how to write one.
 *
 * A port gives constants:
 *   ARCH_AUDIT                 what filters of system calls know the processor by
 *   ARCH_CODE_MAX              no code lies above this address
 *   ARCH_PAGE                  bytes of a page; 0: the kernel decides (sys_page_bytes).
 *                              ARCH_PAGE_MOST: no page is larger
 *   ARCH_EMULATION             1: its programs may run on another processor, by qemu
 *   ARCH_SYS_*, _OFFSET, _CLONE system calls whose names or arguments differ
 *   ARCH_ACTION_*              the C library's struct sigaction; _RESTORER: whether the kernel's
 *                              says what a handler returns to
 *   ARCH_HASH_WORD             the type of the words of DT_HASH
 *
 * the frames of functions:
 *   ARCH_KEEPS                 of a function: it changes no register but that of its result
 *   ARCH_FRAME(caller)         in a hook built with a frame pointer: the state of the hook's caller
 *   ARCH_CONSTRUCTOR(begin)    defines a constructor that calls BEGIN with the environment, if the
 *                              C library tells constructors.  (Unless a port says otherwise, it is
 *                              a parameter.)
 *   ARCH_REGS                  how many registers an unwind carries, by DWARF's numbers
 *   ARCH_REG_*                 DWARF's numbers of the stack pointer and the frame pointer, and the
 *                              column of the return address
 *   ARCH_RETURN_AT             where the return address always lies, from the CFA; 0: it is in a
 *                              register, and saved anywhere
 *   ARCH_COLUMN(n)             which of these registers column N of unwind tables is; ARCH_REGS or
 *                              more: none.  (Unless a port says otherwise, they are the same.)
 *   ARCH_CFA_ABOVE_STACK       bytes from the caller's stack pointer to the CFA
 *   ARCH_FAST_CAPTURE          1: stack pointer, frame pointer and return address are enough to
 *                              leave nearly all frames, and a stack is captured by comparing words
 *                              with those of the last one (stack.c).  0: each stack is unwound
 *                              with all registers (unwind.c), which is as exact and much slower
 *   ARCH_FRAME_CHAIN           ARCH_CHAIN_BASE: code without unwind tables that keeps a frame
 *                              pointer has the caller's at its address, the return address in the
 *                              next word, and the caller's stack behind these two.
 *                              ARCH_CHAIN_STACK: at the stack pointer is the caller's, and behind
 *                              what that points to the return address.  0: a stack is cut off
 *                              there
 *   arch_registers(r)          all registers a generic unwind starts from, taken in the calling
 *                              function; returns its program counter
 *   arch_code(pc)              a return address without what the processor adds to it (signatures,
 *                              modes)
 *   arch_cfi_known(op)         whether OP is an instruction in unwind tables of this processor's
 *                              own, which changes nothing here
 *   arch_follows_call(pc)      whether a call instruction ends at PC; only with ARCH_FRAME_CHAIN
 *
 * signals:
 *   arch_is_sigreturn(pc)      whether PC is the return trampoline of a signal handler
 *   arch_sig_saved(pc, sp)     ... and where it finds the interrupted registers;
 *                              ARCH_SIG_BYTES: so many of them
 *   ARCH_SIG_ORDER             the word there that each DWARF register lies in; ARCH_SIG_PC,
 *                              _STACK, _BASE: the same for those three
 *   arch_sig_*(context)        in a signal handler: the interrupted mask, and the
 *                              system call that did not end
 *   ARCH_SIGRETURN(name)       defines what a handler returns to
 *
 * and:
 *   arch_syscall(n, a..f)      raw system call: result or negative errno
 *   arch_thread_pointer()      start of the thread's own data, which lies above its stack
 *   arch_unjudged(begins)      in a program that runs in Valgrind: from here on what this thread
 *                              hands to the kernel is no matter of its, or is again
 *   arch_fill, arch_copy       overwriting and copying memory at the speed of the machine
 */
#ifndef SEEP_AGENT_ARCH_ARCH_H
#define SEEP_AGENT_ARCH_ARCH_H

#include <stdint.h>

#include "ledger/arch/arch.h"

/* A word of the program: an address, a saved register, a size_t.  Addresses are carried in 64 bits
 * on every processor; this is what is read from and written to memory that others lay out. */
typedef uintptr_t arch_word;

/* An offset in a file as mmap() has it: its type, its name among the parameters, and how it is
 * passed on.  With words of 32 bits musl's has 64, glibc's 32, and what has 64 begins at an even
 * word on some processors: all words that it may be in are passed on. */
#if __SIZEOF_POINTER__ == 8
#define ARCH_MAP_OFFSET int64_t
#define ARCH_MAP_PARAMETER int64_t offset
#define ARCH_MAP_ARGUMENT offset
#else
#define ARCH_MAP_OFFSET long, long, long
#define ARCH_MAP_PARAMETER long first, long second, long third
#define ARCH_MAP_ARGUMENT first, second, third
#endif

/* size_t in the names of C++ functions: unsigned long, or unsigned int. */
#if __SIZEOF_POINTER__ == 8
#define ARCH_SIZE "m"
#else
#define ARCH_SIZE "j"
#endif

/* 1: the C library has functions for times of 64 bits beside those for times of one word. */
#if __SIZEOF_POINTER__ == 8
#define ARCH_TWO_TIMES 0
#else
#define ARCH_TWO_TIMES 1
#endif

/* Programs of the other word size, which the same kernel may run: their kind, the folder that the
 * agent for one of the two has below that of the other, and whether that is theirs. */
#if defined(__x86_64__)
#define ARCH_OTHER_MACHINE 3u /* EM_386 */
#define ARCH_OTHER_CLASS 1u   /* ELFCLASS32 */
#define ARCH_OTHER_FOLDER "i386/"
#define ARCH_OTHER_BELOW 1
#elif defined(__i386__)
#define ARCH_OTHER_MACHINE 62u /* EM_X86_64 */
#define ARCH_OTHER_CLASS 2u
#define ARCH_OTHER_FOLDER "i386/"
#define ARCH_OTHER_BELOW 0
#elif defined(__aarch64__)
#define ARCH_OTHER_MACHINE 40u /* EM_ARM */
#define ARCH_OTHER_CLASS 1u
#define ARCH_OTHER_FOLDER "arm/"
#define ARCH_OTHER_BELOW 1
#elif defined(__arm__)
#define ARCH_OTHER_MACHINE 183u /* EM_AARCH64 */
#define ARCH_OTHER_CLASS 2u
#define ARCH_OTHER_FOLDER "arm/"
#define ARCH_OTHER_BELOW 0
#else
#define ARCH_OTHER_MACHINE 0u /* no agent for them */
#define ARCH_OTHER_CLASS 0u
#define ARCH_OTHER_FOLDER ""
#define ARCH_OTHER_BELOW 0
#endif

/* 1: programs have unwind tables of a kind of their own (ehabi.h). */
#if defined(__arm__)
#define ARCH_EHABI 1
#else
#define ARCH_EHABI 0
#endif

/* A set of signals between the kernel's form and ours, in which signal N is bit N - 1: the kernel's
 * is made of words of the program, the first signals in the first. */
static inline uint64_t arch_signals(uint64_t set)
{
        return LEDGER_BIG_ENDIAN && sizeof(arch_word) == 4 ? set << 32 | set >> 32 : set;
}

enum { ARCH_CHAIN_BASE = 1, ARCH_CHAIN_STACK = 2 };

struct arch_state {
        uint64_t pc, sp, base;
};

#if defined(__x86_64__) && defined(__LP64__)
#include "agent/arch/x86_64.h"
#elif defined(__i386__)
#include "agent/arch/i386.h"
#elif defined(__aarch64__) && defined(__LP64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include "agent/arch/aarch64.h"
#elif defined(__arm__) && defined(__ARM_EABI__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include "agent/arch/arm.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "agent/arch/riscv64.h"
#elif defined(__s390x__)
#include "agent/arch/s390x.h"
#elif defined(__powerpc__) && !defined(__powerpc64__)
#include "agent/arch/powerpc.h"
#else
#error "no port of the agent for this processor yet: see agent/arch/arch.h for what it must offer"
#endif

#ifndef ARCH_COLUMN
#define ARCH_COLUMN(n) (n)
#endif

#ifndef ARCH_CONSTRUCTOR
#define ARCH_CONSTRUCTOR(begin)                                                                  \
        __attribute__((constructor)) static void begin##_now(int count, char **words, char **env) \
        {                                                                                        \
                (void)count;                                                                     \
                (void)words;                                                                     \
                begin(env);                                                                      \
        }
#endif

#endif
