/* SPDX-License-Identifier: MIT */
/*
 * s390x.h -- the port to 64-bit S/390 Linux, big endian.
 *
 * Room:   inside; any context.  Included through arch.h only.
 *
 * A function has its return address in r14 and saves it in its caller's frame if it needs to:
 * stacks are unwound with all registers.
 */
#ifndef SEEP_AGENT_ARCH_S390X_H
#define SEEP_AGENT_ARCH_S390X_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/portable.h"

#define ARCH_AUDIT 0x80000016u /* AUDIT_ARCH_S390X */
#define ARCH_CODE_MAX 0x7fffffffffffull
#define ARCH_PAGE 4096ul
#define ARCH_PAGE_MOST 4096ul
#define ARCH_EMULATION 1

#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_SYS_FTRUNCATE SYS_ftruncate
#define ARCH_OFFSET(at) (long)(at), 0, 0
#define ARCH_CLONE(flags) 0, (flags) /* flags and stack, in their order */

#define ARCH_ACTION_BYTES 152
#define ARCH_ACTION_FLAGS_AT 12 /* glibc's; musl has them at 136, as everywhere */
#define ARCH_ACTION_RESTORER 1

#define ARCH_HASH_WORD uint64_t /* entries of DT_HASH: twice as long as elsewhere */

#define ARCH_FAST_CAPTURE 0
#define ARCH_FRAME_CHAIN 0 /* compilers keep no chain unless told so */
#define ARCH_REGS 16
#define ARCH_REG_BASE 11
#define ARCH_REG_STACK 15
#define ARCH_REG_RETURN 14
#define ARCH_RETURN_AT 0
#define ARCH_CFA_ABOVE_STACK 160

/* A frame with siginfo: 160 bytes for the handler, a system call, siginfo, ucontext.  One without:
 * 160 bytes, 16 bytes, registers.  These are the psw (mask and address), r0 to r15, access and
 * floating-point registers. */
#define ARCH_SIG_CONTEXT 296
#define ARCH_SIG_GREGS 40
#define ARCH_SIG_MASK 384
#define ARCH_SIG_PLAIN 176
#define ARCH_SIG_ORDER { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 }
#define ARCH_SIG_BASE 13
#define ARCH_SIG_STACK 17
#define ARCH_SIG_PC 1
#define ARCH_SIG_BYTES (8 * 18)

#define ARCH_KEEPS
#define ARCH_FRAME(caller)                                                                  \
        do {                                                                                \
                (caller).base = 0;                                                          \
                (caller).pc = (uint64_t)__builtin_return_address(0);                        \
                (caller).sp = (uint64_t)__builtin_dwarf_cfa() - ARCH_CFA_ABOVE_STACK;       \
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

static inline long arch_svc(long number, const long *arguments)
{
        register long r1 __asm__("r1") = number;
        register long r2 __asm__("r2") = arguments[0];
        register long r3 __asm__("r3") = arguments[1];
        register long r4 __asm__("r4") = arguments[2];
        register long r5 __asm__("r5") = arguments[3];
        register long r6 __asm__("r6") = arguments[4];
        register long r7 __asm__("r7") = arguments[5];

        __asm__ volatile("svc 0"
                         : "+d"(r2)
                         : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7)
                         : "memory", "cc");
        return r2;
}

#define ARCH_NR_MMAP 90 /* takes its arguments in memory */

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        long arguments[] = { a, b, c, d, e, f }, block[] = { (long)arguments, 0, 0, 0, 0, 0 };

        return arch_svc(number, number == ARCH_NR_MMAP ? block : arguments);
}

static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        uint64_t pc;

        __asm__ volatile("stmg %%r6, %%r15, 48(%1)\n\t"
                         "larl %0, ."
                         : "=&a"(pc)
                         : "a"(r)
                         : "memory");
        return pc;
}

static inline uint64_t arch_thread_pointer(void)
{
        uint64_t self;

        __asm__("ear %0, %%a0\n\t"
                "sllg %0, %0, 32\n\t"
                "ear %0, %%a1"
                : "=&d"(self));
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

#define ARCH_GREG_R2 4
#define ARCH_SVC 0x0a /* and the number, or 0 and the number in r1 */

static inline bool arch_sig_interrupted(void *context)
{
        const uint64_t *g = arch_sig_registers(context);

        return (long)g[ARCH_GREG_R2] == -4 /* EINTR */ && (g[ARCH_SIG_PC] & 0xfff) >= 2 &&
               ((const uint8_t *)g[ARCH_SIG_PC])[-2] == ARCH_SVC;
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
        return *(const uint8_t *)arch_sig_registers(context)[ARCH_SIG_PC] == ARCH_SVC;
}

static inline void arch_sig_fail(void *context)
{
        uint64_t *g = arch_sig_registers(context);

        g[ARCH_GREG_R2] = (uint64_t)-4; /* EINTR */
        g[ARCH_SIG_PC] += 2;
}

/* svc 173 */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".balign 2\n"                                                  \
                ".type " #name ", @function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                #name ":\n"                                                    \
                "        .byte 0x0a, 173\n"                                    \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

static inline bool arch_is_sigreturn(uint64_t pc)
{
        const uint8_t *p = (const uint8_t *)pc;

        return p[0] == ARCH_SVC && (p[1] == 173 || p[1] == 119);
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        return sp + (((const uint8_t *)pc)[1] == 173 ? ARCH_SIG_CONTEXT + ARCH_SIG_GREGS
                                                     : ARCH_SIG_PLAIN);
}

/* There is no chain of frames to follow. */
static inline bool arch_follows_call(uint64_t pc)
{
        (void)pc;
        return false;
}

#endif
