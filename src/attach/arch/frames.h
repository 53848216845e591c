/* SPDX-License-Identifier: MIT */
/*
 * frames.h -- the frames of signal handlers: how one is known on a stack, and where it has what was
 * interrupted.
 *
 * FRAMES_MARK      a word that the kernel writes into each; 0: none is known
 * FRAMES_PC, _SP   from there back to the program counter and the stack pointer
 * frames_is_one    whether the mark at AT is that of a frame
 */
#ifndef SEEP_ATTACH_ARCH_FRAMES_H
#define SEEP_ATTACH_ARCH_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "attach/memory.h"

#if defined(__x86_64__) && defined(__LP64__)

/* The segments of 64-bit code (cs, gs, fs, ss).  The frame begins with the return address of its
 * handler, where the system call is that ends it. */
#define FRAMES_MARK 0x002b000000000033ull
#define FRAMES_PC 16u
#define FRAMES_SP 24u
#define FRAMES_BACK 192u

static inline bool frames_is_one(const struct memory *m, uint64_t at)
{
        uint8_t code[9];
        uint64_t back = 0;

        if (memory_read(m, at - FRAMES_BACK, &back, sizeof back) != sizeof back ||
            memory_read(m, back, code, sizeof code) != sizeof code)
                return false;
        /* mov $15, %rax (or %eax); syscall */
        return memcmp(code, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9) == 0 ||
               memcmp(code, "\xb8\x0f\0\0\0\x0f\x05", 7) == 0;
}

#elif defined(__aarch64__) && defined(__LP64__)

/* The head of the vector registers, which come first behind the others: magic and bytes.  Before
 * them are pstate, pc, sp, 31 registers; ucontext begins with two words that are 0. */
#define FRAMES_MARK 0x0000021046508001ull
#define FRAMES_PC 24u
#define FRAMES_SP 32u
#define FRAMES_CONTEXT 464u

static inline bool frames_is_one(const struct memory *m, uint64_t at)
{
        uint64_t head[2] = { 1, 1 }, state = 0;

        return memory_read(m, at - FRAMES_CONTEXT, head, sizeof head) == sizeof head && !head[0] &&
               !head[1] && memory_read(m, at - 16, &state, sizeof state) == sizeof state &&
               !(state & 0xf); /* of a program, not of the kernel */
}

#else

#define FRAMES_MARK 0
#define FRAMES_PC 0u
#define FRAMES_SP 0u

static inline bool frames_is_one(const struct memory *m, uint64_t at)
{
        (void)m, (void)at;
        return false;
}

#endif

#endif
