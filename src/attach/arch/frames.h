/* SPDX-License-Identifier: MIT */
/*
 * frames.h -- frames of signal handlers: how to recognize one on a stack, and where it saved the
 * interrupted registers.
 *
 * frames_form(narrow)   of programs with words of 8 or (NARROW) 4 bytes:
 *   .mark               a word that the kernel writes into each; 0: none is known
 *   .width              bytes of a word, and what frames are aligned to at least
 *   .pc, .sp            from there to the program counter and the stack pointer
 * frames_is_one         whether the mark at AT is that of a frame
 */
#ifndef SEEP_ATTACH_ARCH_FRAMES_H
#define SEEP_ATTACH_ARCH_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "attach/memory.h"

struct frames_form {
        uint64_t mark;
        uint32_t width;
        int32_t pc, sp;
};

#if defined(__x86_64__) && defined(__LP64__)

/* The segments of 64-bit code (cs, gs, fs, ss).  The frame begins with the return address of its
 * handler, where the system call is that ends it. */
#define FRAMES_MARK 0x002b000000000033ull
#define FRAMES_BACK 192u

/* Of 32-bit code: cs, which stands between eip and eflags, esp, ss; in front of eip are gs fs es ds
 * edi esi ebp esp ebx edx ecx eax trapno err.  Each with 32 bits. */
#define FRAMES_NARROW_MARK 0x23u
#define FRAMES_NARROW_DATA 0x2bu

static inline struct frames_form frames_form(bool narrow)
{
        return narrow ? (struct frames_form){ FRAMES_NARROW_MARK, 4, -4, 8 }
                      : (struct frames_form){ FRAMES_MARK, 8, -16, -24 };
}

/* What is there of the segments, and esp, which is there twice. */
static inline bool frames_is_narrow_one(const struct memory *m, uint64_t at)
{
        uint32_t words[19]; /* gs ... ss */

        return memory_read(m, at - 15 * sizeof *words, words, sizeof words) == sizeof words &&
               (uint16_t)words[2] == FRAMES_NARROW_DATA &&
               (uint16_t)words[3] == FRAMES_NARROW_DATA && words[7] == words[17] &&
               (uint16_t)words[18] == FRAMES_NARROW_DATA;
}

static inline bool frames_is_one(const struct memory *m, uint64_t at, bool narrow)
{
        uint8_t code[9];
        uint64_t back = 0;

        if (narrow)
                return frames_is_narrow_one(m, at);
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
#define FRAMES_CONTEXT 464u

static inline struct frames_form frames_form(bool narrow)
{
        (void)narrow;
        return (struct frames_form){ FRAMES_MARK, 8, -24, -32 };
}

static inline bool frames_is_one(const struct memory *m, uint64_t at, bool narrow)
{
        uint64_t head[2] = { 1, 1 }, state = 0;

        (void)narrow;
        return memory_read(m, at - FRAMES_CONTEXT, head, sizeof head) == sizeof head && !head[0] &&
               !head[1] && memory_read(m, at - 16, &state, sizeof state) == sizeof state &&
               !(state & 0xf); /* of a program, not of the kernel */
}

#else

static inline struct frames_form frames_form(bool narrow)
{
        return (struct frames_form){ 0, narrow ? 4 : 8, 0, 0 };
}

static inline bool frames_is_one(const struct memory *m, uint64_t at, bool narrow)
{
        (void)m, (void)at, (void)narrow;
        return false;
}

#endif

#endif
