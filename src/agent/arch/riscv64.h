/* SPDX-License-Identifier: MIT */
/*
 * riscv64.h -- the port to 64-bit RISC-V Linux (LP64D), little endian.
 *
 * Room:   inside; any context.  Included through arch.h only.
 *
 * A function has its return address in ra and saves it anywhere in its frame: stacks are unwound
 * with all registers.  Instructions have two or four bytes and lie at even addresses.
 */
#ifndef SEEP_AGENT_ARCH_RISCV64_H
#define SEEP_AGENT_ARCH_RISCV64_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/portable.h"

#define ARCH_AUDIT 0xc00000f3u /* AUDIT_ARCH_RISCV64 */
#define ARCH_CODE_MAX 0x7fffffffffffull
#define ARCH_PAGE 4096ul
#define ARCH_PAGE_MOST 4096ul
#define ARCH_EMULATION 1

#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_SYS_FTRUNCATE SYS_ftruncate
#define ARCH_OFFSET(at) (long)(at), 0, 0
#define ARCH_CLONE(flags) (flags), 0 /* flags and stack, in their order */

#define ARCH_ACTION_BYTES 152
#define ARCH_ACTION_FLAGS_AT 136
#define ARCH_ACTION_RESTORER 0 /* handlers return to the vdso */

#define ARCH_HASH_WORD uint32_t /* entries of DT_HASH */

#define ARCH_FAST_CAPTURE 0
/* The frame pointer is the CFA, and what it points to lies below: another chain than x86-64's. */
#define ARCH_FRAME_CHAIN 0
#define ARCH_REGS 32
#define ARCH_REG_BASE 8
#define ARCH_REG_STACK 2
#define ARCH_REG_RETURN 1
#define ARCH_RETURN_AT 0
#define ARCH_CFA_ABOVE_STACK 0

/* rt_sigframe: siginfo (128 bytes), ucontext; in that the signal mask at 40, the program counter at
 * 176 in the place of x0, then x1 to x31. */
#define ARCH_SIG_CONTEXT 128
#define ARCH_SIG_GREGS 176
#define ARCH_SIG_MASK 40
#define ARCH_SIG_ORDER                                                                          \
        { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
          24, 25, 26, 27, 28, 29, 30, 31 }
#define ARCH_SIG_BASE 8
#define ARCH_SIG_STACK 2
#define ARCH_SIG_PC 0
#define ARCH_SIG_BYTES (8 * 32)

#define ARCH_KEEPS
#define ARCH_FRAME(caller)                                                  \
        do {                                                                \
                const uint64_t *arch_fp = __builtin_frame_address(0);       \
                (caller).base = arch_fp[-2];                                \
                (caller).pc = (uint64_t)__builtin_return_address(0);        \
                (caller).sp = (uint64_t)__builtin_dwarf_cfa();              \
        } while (0)

static inline uint64_t arch_code(uint64_t pc)
{
        return pc;
}

static inline bool arch_cfi_known(unsigned op)
{
        (void)op;
        return false;
}

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        register long a7 __asm__("a7") = number;
        register long a0 __asm__("a0") = a;
        register long a1 __asm__("a1") = b;
        register long a2 __asm__("a2") = c;
        register long a3 __asm__("a3") = d;
        register long a4 __asm__("a4") = e;
        register long a5 __asm__("a5") = f;

        __asm__ volatile("ecall"
                         : "+r"(a0)
                         : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                         : "memory");
        return a0;
}

static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        uint64_t pc;

        __asm__ volatile("sd ra, 8(%1)\n\t"
                         "sd sp, 16(%1)\n\t"
                         "sd s0, 64(%1)\n\t"
                         "sd s1, 72(%1)\n\t"
                         "sd s2, 144(%1)\n\t"
                         "sd s3, 152(%1)\n\t"
                         "sd s4, 160(%1)\n\t"
                         "sd s5, 168(%1)\n\t"
                         "sd s6, 176(%1)\n\t"
                         "sd s7, 184(%1)\n\t"
                         "sd s8, 192(%1)\n\t"
                         "sd s9, 200(%1)\n\t"
                         "sd s10, 208(%1)\n\t"
                         "sd s11, 216(%1)\n\t"
                         "auipc %0, 0"
                         : "=&r"(pc)
                         : "r"(r)
                         : "memory");
        return pc;
}

static inline uint64_t arch_thread_pointer(void)
{
        uint64_t self;

        __asm__("mv %0, tp" : "=r"(self));
        return self;
}

static inline uint64_t *arch_sig_registers(void *context)
{
        return (uint64_t *)((uint8_t *)context + ARCH_SIG_GREGS);
}

static inline uint64_t arch_sig_mask(const void *context)
{
        return *(const uint64_t *)((const uint8_t *)context + ARCH_SIG_MASK);
}

static inline void arch_sig_unblock(void *context, uint64_t signals)
{
        *(uint64_t *)((uint8_t *)context + ARCH_SIG_MASK) &= ~signals;
}

#define ARCH_ECALL 0x00000073u
#define ARCH_GREG_A0 10

/* The instruction of four bytes at PC, which need not be a multiple of four. */
static inline uint32_t arch_instruction(uint64_t pc)
{
        const uint16_t *p = (const uint16_t *)pc;

        return p[0] | (uint32_t)p[1] << 16;
}

static inline bool arch_sig_interrupted(void *context)
{
        const uint64_t *g = arch_sig_registers(context);

        return (long)g[ARCH_GREG_A0] == -4 /* EINTR */ && (g[ARCH_SIG_PC] & 0xfff) >= 4 &&
               arch_instruction(g[ARCH_SIG_PC] - 4) == ARCH_ECALL;
}

/* The result is in the place of the first argument, which is therefore gone: no call can begin
 * again.  Calls that wait are hooked. */
static inline long arch_sig_call(void *context)
{
        (void)context;
        return -1;
}

static inline void arch_sig_restart(void *context, long number)
{
        (void)context, (void)number;
}

/* Its first half is enough to know that all four bytes are there. */
static inline bool arch_sig_calls_next(void *context)
{
        uint64_t pc = arch_sig_registers(context)[ARCH_SIG_PC];

        return *(const uint16_t *)pc == ARCH_ECALL && arch_instruction(pc) == ARCH_ECALL;
}

static inline void arch_sig_fail(void *context)
{
        uint64_t *g = arch_sig_registers(context);

        g[ARCH_GREG_A0] = (uint64_t)-4; /* EINTR */
        g[ARCH_SIG_PC] += 4;
}

/* li a7, 139; ecall: as in the kernel's own, where handlers return to whatever we say. */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".type " #name ", @function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                ".balign 4\n"                                                  \
                #name ":\n"                                                    \
                "        .4byte 0x08b00893, 0x00000073\n"                      \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

static inline bool arch_is_sigreturn(uint64_t pc)
{
        return pc % 2 == 0 && arch_instruction(pc) == 0x08b00893u &&
               arch_instruction(pc + 4) == ARCH_ECALL;
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        (void)pc;
        return sp + ARCH_SIG_CONTEXT + ARCH_SIG_GREGS;
}

/* There is no chain of frames to follow. */
static inline bool arch_follows_call(uint64_t pc)
{
        (void)pc;
        return false;
}

#endif
