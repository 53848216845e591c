/* SPDX-License-Identifier: MIT */
/*
 * aarch64.h -- the port to 64-bit ARM Linux, little endian.
 *
 * Room:   inside; any context.  Included through arch.h only.
 *
 * A function has its return address in x30 and saves it anywhere in its frame, mostly beside x29: a
 * rule says where (rule.h).  A function that a signal interrupted may have it in x30 still: such
 * a stack is unwound with all registers.
 * Memory order: docs/PORTING.md has the orders that x86-64 gives for nothing, and where they are
 * made.
 */
#ifndef SEEP_AGENT_ARCH_AARCH64_H
#define SEEP_AGENT_ARCH_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/portable.h"

#define ARCH_AUDIT 0xc00000b7u /* AUDIT_ARCH_AARCH64 */
#define ARCH_CODE_MAX 0xffffffffffffull
#define ARCH_PAGE 0 /* 4, 16 or 64 KiB */
#define ARCH_PAGE_MOST 65536ul
#define ARCH_EMULATION 1

#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_SYS_FTRUNCATE SYS_ftruncate
#define ARCH_OFFSET(at) (long)(at), 0, 0
#define ARCH_CLONE(flags) (flags), 0 /* flags and stack, in their order */

#define ARCH_ACTION_BYTES 152
#define ARCH_ACTION_FLAGS_AT 136
#define ARCH_ACTION_RESTORER 1

#define ARCH_HASH_WORD uint32_t /* entries of DT_HASH */

#define ARCH_FAST_CAPTURE 1
/* A frame record lies anywhere in its frame: it does not tell the caller's stack pointer. */
#define ARCH_FRAME_CHAIN 0
#define ARCH_REGS 32
#define ARCH_REG_BASE 29
#define ARCH_REG_STACK 31
#define ARCH_REG_RETURN 30
#define ARCH_RETURN_AT 0
#define ARCH_CFA_ABOVE_STACK 0

/* rt_sigframe: siginfo (128 bytes), ucontext; in that the signal mask at 40, x0 at 184,
 * then all others, sp and pc. */
#define ARCH_SIG_CONTEXT 128
#define ARCH_SIG_GREGS 184
#define ARCH_SIG_MASK 40
#define ARCH_SIG_ORDER                                                                          \
        { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
         24, 25, 26, 27, 28,                                                                    \
          29, 30, 31 }
#define ARCH_SIG_BASE 29
#define ARCH_SIG_STACK 31
#define ARCH_SIG_PC 32
#define ARCH_SIG_BYTES (8 * 33)

#define ARCH_KEEPS
#define ARCH_FRAME(caller)                                                        \
        do {                                                                      \
                const uint64_t *arch_fp = __builtin_frame_address(0);             \
                (caller).base = arch_fp[0];                                       \
                (caller).pc = arch_code((uint64_t)__builtin_return_address(0));   \
                (caller).sp = (uint64_t)__builtin_dwarf_cfa();                    \
        } while (0)

/* Return addresses may be signed (pointer authentication).  xpaclri, which older
 * processors take for a nop. */
static inline uint64_t arch_code(uint64_t pc)
{
        register uint64_t x30 __asm__("x30") = pc;

        __asm__("hint 7" : "+r"(x30));
        return x30;
}

/* DW_CFA_AARCH64_negate_ra_state: from here on the return address is signed, or is not. */
static inline bool arch_cfi_known(unsigned op)
{
        return op == 0x2d;
}

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        register long x8 __asm__("x8") = number;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = d;
        register long x4 __asm__("x4") = e;
        register long x5 __asm__("x5") = f;

        __asm__ volatile("svc 0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory", "cc");
        return x0;
}

static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        uint64_t pc;

        __asm__ volatile("stp x19, x20, [%1, 152]\n\t"
                         "stp x21, x22, [%1, 168]\n\t"
                         "stp x23, x24, [%1, 184]\n\t"
                         "stp x25, x26, [%1, 200]\n\t"
                         "stp x27, x28, [%1, 216]\n\t"
                         "stp x29, x30, [%1, 232]\n\t"
                         "mov %0, sp\n\t"
                         "str %0, [%1, 248]\n\t"
                         "adr %0, ."
                         : "=&r"(pc)
                         : "r"(r)
                         : "memory");
        return pc;
}

static inline uint64_t arch_thread_pointer(void)
{
        uint64_t self;

        __asm__("mrs %0, tpidr_el0" : "=r"(self));
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

#define ARCH_SVC 0xd4000001u

static inline bool arch_sig_interrupted(void *context)
{
        const uint64_t *g = arch_sig_registers(context);

        return (long)g[0] == -4 /* EINTR */ && (g[ARCH_SIG_PC] & 0xfff) >= 4 &&
               ((const uint32_t *)g[ARCH_SIG_PC])[-1] == ARCH_SVC;
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

static inline bool arch_sig_calls_next(void *context)
{
        return *(const uint32_t *)arch_sig_registers(context)[ARCH_SIG_PC] == ARCH_SVC;
}

static inline void arch_sig_fail(void *context)
{
        uint64_t *g = arch_sig_registers(context);

        g[0] = (uint64_t)-4; /* EINTR */
        g[ARCH_SIG_PC] += 4;
}

/* mov x8, #139; svc #0: as in the kernel's own, which unwinders know by these two. */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".type " #name ", %function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                ".balign 4\n"                                                  \
                #name ":\n"                                                    \
                "        .inst 0xd2801168, 0xd4000001\n"                       \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

static inline bool arch_is_sigreturn(uint64_t pc)
{
        const uint32_t *p = (const uint32_t *)pc;

        return pc % 4 == 0 && p[0] == 0xd2801168u && p[1] == ARCH_SVC;
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        (void)pc;
        return sp + ARCH_SIG_CONTEXT + ARCH_SIG_GREGS;
}

/* bl, blr, and blr with a signed address. */
static inline bool arch_follows_call(uint64_t pc)
{
        uint32_t before = ((const uint32_t *)pc)[-1];

        return (before & 0xfc000000u) == 0x94000000u || (before & 0xfffffc1fu) == 0xd63f0000u ||
               (before & 0xfefff800u) == 0xd63f0800u;
}

#endif
