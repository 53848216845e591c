/* SPDX-License-Identifier: MIT */
/*
 * powerpc.h -- the port to 32-bit PowerPC Linux, big endian.
 *
 * Room:   inside; any context.  Included through arch.h only.
 *
 * A function has its return address in the link register and saves it in its caller's frame:
 * stacks are unwound with all registers.  Each frame begins with the address of its caller's,
 * whatever the code was made from.
 */
#ifndef SEEP_AGENT_ARCH_POWERPC_H
#define SEEP_AGENT_ARCH_POWERPC_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/portable.h"

#define ARCH_AUDIT 0x14u /* AUDIT_ARCH_PPC */
#define ARCH_CODE_MAX 0xffffefffull
#define ARCH_PAGE 0ul /* 4 or 64 KiB (kernels of 64 bits), as the kernel was built */
#define ARCH_PAGE_MOST 65536ul
#define ARCH_EMULATION 1

/* An offset takes two registers, the first of them an odd one (r3 is the first argument). */
#define ARCH_SYS_MMAP SYS_mmap2
#define ARCH_SYS_FTRUNCATE SYS_ftruncate64
#define ARCH_OFFSET(at) 0, (long)((uint64_t)(at) >> 32), (long)(uint32_t)(at)
#define ARCH_CLONE(flags) (flags), 0 /* flags and stack, in their order */

#define ARCH_ACTION_BYTES 140
#define ARCH_ACTION_FLAGS_AT 132
#define ARCH_ACTION_RESTORER 1 /* its place is there; handlers return to the vdso */

#define ARCH_HASH_WORD uint32_t /* entries of DT_HASH */

#define ARCH_FAST_CAPTURE 0
#define ARCH_FRAME_CHAIN ARCH_CHAIN_STACK
#define ARCH_REGS 33 /* r0 to r31, lr */
#define ARCH_REG_BASE 31
#define ARCH_REG_STACK 1
#define ARCH_REG_RETURN 32
#define ARCH_RETURN_AT 0
#define ARCH_CFA_ABOVE_STACK 0
/* Columns 32 to 63 of the tables are floating-point registers, 65 is lr. */
#define ARCH_COLUMN(n) ((n) < 32 ? (n) : (n) == 65 ? ARCH_REG_RETURN : ARCH_REGS)

/* A frame with siginfo: 80 bytes for the handler, siginfo (128 bytes), ucontext, which has the
 * signal mask at 52 and the registers at 192.  One without: 64 bytes, 32 bytes, registers.  These
 * are r0 to r31, pc, msr, the first argument of a system call, ctr, lr, xer, cr. */
#define ARCH_SIG_CONTEXT (80 + 128)
#define ARCH_SIG_GREGS 192
#define ARCH_SIG_MASK 52
#define ARCH_SIG_PLAIN (64 + 32)
#define ARCH_SIG_ORDER                                                          \
        { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,   \
          17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 36 }
#define ARCH_SIG_BASE 31
#define ARCH_SIG_STACK 1
#define ARCH_SIG_PC 32
#define ARCH_SIG_BYTES (4 * 39)

#define ARCH_KEEPS
#define ARCH_FRAME(caller)                                                      \
        do {                                                                    \
                (caller).base = 0;                                              \
                (caller).pc = (uintptr_t)__builtin_return_address(0);           \
                (caller).sp = (uintptr_t)__builtin_dwarf_cfa();                 \
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

/* An error is a positive number, and a bit of the condition register. */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        register long r0 __asm__("r0") = number;
        register long r3 __asm__("r3") = a;
        register long r4 __asm__("r4") = b;
        register long r5 __asm__("r5") = c;
        register long r6 __asm__("r6") = d;
        register long r7 __asm__("r7") = e;
        register long r8 __asm__("r8") = f;

        __asm__ volatile("sc\n\t"
                         "bns+ 1f\n\t"
                         "neg %0, %0\n"
                         "1:"
                         : "+r"(r3), "+r"(r0), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
                         :
                         : "memory", "cr0", "ctr", "xer", "r9", "r10", "r11", "r12");
        return r3;
}

static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        uint32_t kept[ARCH_REGS] = { 0 }, pc;

        __asm__ volatile("stmw 13, 52(%1)\n\t"
                         "stw 1, 4(%1)\n\t"
                         "stw 2, 8(%1)\n\t"
                         "mflr %0\n\t"
                         "stw %0, 128(%1)\n\t"
                         "bcl 20, 31, 1f\n"
                         "1:\n\t"
                         "mflr %0"
                         : "=&r"(pc)
                         : "b"(kept)
                         : "memory", "lr");
        for (uint32_t i = 0; i < ARCH_REGS; i++)
                r[i] = kept[i];
        return pc;
}

/* r2 points so far behind it that code reaches more of it. */
static inline uint64_t arch_thread_pointer(void)
{
        uint32_t self;

        __asm__("mr %0, 2" : "=r"(self));
        return self - 0x7000u;
}

static inline uint32_t *arch_sig_registers(void *context)
{
        return (uint32_t *)((uint8_t *)context + ARCH_SIG_GREGS);
}

static inline uint64_t arch_sig_mask(const void *context)
{
        uint64_t mask;

        __builtin_memcpy(&mask, (const uint8_t *)context + ARCH_SIG_MASK, sizeof mask);
        return arch_signals(mask);
}

static inline void arch_sig_unblock(void *context, uint64_t signals)
{
        uint64_t mask = arch_signals(arch_sig_mask(context) & ~signals);

        __builtin_memcpy((uint8_t *)context + ARCH_SIG_MASK, &mask, sizeof mask);
}

#define ARCH_SC 0x44000002u
#define ARCH_GREG_R3 3
#define ARCH_GREG_CR 38
#define ARCH_CR_FAILED 0x10000000u

static inline bool arch_is_sc(uint32_t at)
{
        return *(const uint32_t *)(uintptr_t)at == ARCH_SC;
}

static inline bool arch_sig_interrupted(void *context)
{
        const uint32_t *g = arch_sig_registers(context);

        return g[ARCH_GREG_R3] == 4 /* EINTR */ && g[ARCH_GREG_CR] & ARCH_CR_FAILED &&
               (g[ARCH_SIG_PC] & 0xfff) >= 4 && arch_is_sc(g[ARCH_SIG_PC] - 4);
}

/* The result is in the place of the first argument.  The kernel keeps that apart, qemu does not: no
 * call begins again.  Calls that wait are hooked. */
static inline long arch_sig_call(void *context)
{
        (void)context;
        return -1;
}

static inline void arch_sig_restart(void *context, long number)
{
        (void)context, (void)number;
}

static inline bool arch_sig_calls_next(void *context)
{
        return arch_is_sc(arch_sig_registers(context)[ARCH_SIG_PC]);
}

static inline void arch_sig_fail(void *context)
{
        uint32_t *g = arch_sig_registers(context);

        g[ARCH_GREG_R3] = 4; /* EINTR */
        g[ARCH_GREG_CR] |= ARCH_CR_FAILED;
        g[ARCH_SIG_PC] += 4;
}

/* li r0, 172; sc: where the kernel has no other. */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".balign 4\n"                                                  \
                ".type " #name ", @function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                #name ":\n"                                                    \
                "        li 0, 172\n"                                          \
                "        sc\n"                                                 \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

/* The system call of the trampoline at PC: li r0, n; sc.  (0: it is none.) */
static inline uint32_t arch_sigreturn_call(uint64_t pc)
{
        const uint32_t *p = (const uint32_t *)(uintptr_t)pc;

        return pc % 4 == 0 && p[0] >> 16 == 0x3800 && p[1] == ARCH_SC ? p[0] & 0xffff : 0;
}

static inline bool arch_is_sigreturn(uint64_t pc)
{
        uint32_t call = arch_sigreturn_call(pc);

        return call == 172 || call == 119;
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        return sp + (arch_sigreturn_call(pc) == 172 ? ARCH_SIG_CONTEXT + ARCH_SIG_GREGS
                                                    : ARCH_SIG_PLAIN);
}

/* bl, bcl, bctrl, blrl. */
static inline bool arch_follows_call(uint64_t pc)
{
        uint32_t code = *(const uint32_t *)(uintptr_t)(pc - 4), kind = code >> 26;

        return pc % 4 == 0 && code & 1 &&
               (kind == 18 || kind == 16 ||
                (kind == 19 && ((code >> 1 & 0x3ff) == 528 || (code >> 1 & 0x3ff) == 16)));
}

#endif
