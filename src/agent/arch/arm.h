/* SPDX-License-Identifier: MIT */
/*
 * arm.h -- the port to 32-bit ARM Linux (EABI), little endian.
 *
 * Room:   inside; any context.  Included through arch.h only.
 *
 * Programs have unwind tables of their own kind (ehabi.h), which say nothing of the first
 * instructions of a function, and seldom .eh_frame beside them.
 */
#ifndef SEEP_AGENT_ARCH_ARM_H
#define SEEP_AGENT_ARCH_ARM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/portable.h"

#define ARCH_AUDIT 0x40000028u /* AUDIT_ARCH_ARM */
#define ARCH_CODE_MAX 0xffffefffull
#define ARCH_PAGE 4096ul
#define ARCH_PAGE_MOST 4096ul
#define ARCH_EMULATION 1

/* An offset takes two registers, the first of them an even one. */
#define ARCH_SYS_MMAP SYS_mmap2
#define ARCH_SYS_FTRUNCATE SYS_ftruncate64
#define ARCH_OFFSET(at) 0, (long)(uint32_t)(at), (long)((uint64_t)(at) >> 32)
#define ARCH_CLONE(flags) (flags), 0 /* flags and stack, in their order */

#define ARCH_ACTION_BYTES 140
#define ARCH_ACTION_FLAGS_AT 132
#define ARCH_ACTION_RESTORER 1

#define ARCH_HASH_WORD uint32_t /* entries of DT_HASH */

#define ARCH_FAST_CAPTURE 0
/* r11 in ARM code, r7 in Thumb, and where they point to depends on the compiler. */
#define ARCH_FRAME_CHAIN 0
#define ARCH_REGS 16
#define ARCH_REG_BASE 11
#define ARCH_REG_STACK 13
#define ARCH_REG_RETURN 14
#define ARCH_RETURN_AT 0
#define ARCH_CFA_ABOVE_STACK 0

/* A frame with siginfo (128 bytes) has the ucontext behind it, one without begins with it; in that
 * r0 at 32, the signal mask at 104. */
#define ARCH_SIG_CONTEXT 128
#define ARCH_SIG_GREGS 32
#define ARCH_SIG_MASK 104
#define ARCH_SIG_ORDER { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#define ARCH_SIG_BASE 11
#define ARCH_SIG_STACK 13
#define ARCH_SIG_PC 15
#define ARCH_SIG_BYTES (4 * 16)

#define ARCH_KEEPS
#define ARCH_FRAME(caller)                                                              \
        do {                                                                            \
                (caller).base = 0;                                                      \
                (caller).pc = arch_code((uintptr_t)__builtin_return_address(0));        \
                (caller).sp = (uintptr_t)__builtin_dwarf_cfa();                         \
        } while (0)

/* Bit 0 says that the code there is Thumb. */
static inline uint64_t arch_code(uint64_t pc)
{
        return pc & ~1ull;
}

static inline bool arch_cfi_known(unsigned op)
{
        (void)op;
        return false;
}

/* r7 may be the frame pointer: it is put back. */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        register long r0 __asm__("r0") = a;
        register long r1 __asm__("r1") = b;
        register long r2 __asm__("r2") = c;
        register long r3 __asm__("r3") = d;
        register long r4 __asm__("r4") = e;
        register long r5 __asm__("r5") = f;
        register long r6 __asm__("r6") = number;
        long kept;

        __asm__ volatile("mov %1, r7\n\t"
                         "mov r7, %2\n\t"
                         "svc 0\n\t"
                         "mov r7, %1"
                         : "+r"(r0), "=&r"(kept)
                         : "r"(r6), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                         : "memory", "cc");
        return r0;
}

static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        uint32_t kept[16], pc;

        __asm__ volatile("str r4, [%1, #16]\n\t"
                         "str r5, [%1, #20]\n\t"
                         "str r6, [%1, #24]\n\t"
                         "str r7, [%1, #28]\n\t"
                         "str r8, [%1, #32]\n\t"
                         "str r9, [%1, #36]\n\t"
                         "str r10, [%1, #40]\n\t"
                         "str r11, [%1, #44]\n\t"
                         "mov %0, sp\n\t"
                         "str %0, [%1, #52]\n\t"
                         "str lr, [%1, #56]\n\t"
                         "mov %0, pc"
                         : "=&r"(pc)
                         : "r"(kept)
                         : "memory");
        for (uint32_t i = 4; i < ARCH_REGS; i++)
                r[i] = i == 12 || i == 15 ? 0 : kept[i];
        return pc;
}

/* The kernel keeps it where user code may read it; the oldest processors have no such
 * register, and no Debian armhf. */
static inline uint64_t arch_thread_pointer(void)
{
        uint32_t self;

        __asm__("mrc p15, 0, %0, c13, c0, 3" : "=r"(self));
        return self;
}

static inline uint32_t *arch_sig_registers(void *context)
{
        return (uint32_t *)((uint8_t *)context + ARCH_SIG_GREGS);
}

static inline uint64_t arch_sig_mask(const void *context)
{
        uint64_t mask;

        __builtin_memcpy(&mask, (const uint8_t *)context + ARCH_SIG_MASK, sizeof mask);
        return mask;
}

static inline void arch_sig_unblock(void *context, uint64_t signals)
{
        uint64_t mask = arch_sig_mask(context) & ~signals;

        __builtin_memcpy((uint8_t *)context + ARCH_SIG_MASK, &mask, sizeof mask);
}

#define ARCH_CPSR 16 /* behind pc; bit 5: Thumb */

static inline uint32_t arch_svc_bytes(const uint32_t *g)
{
        return g[ARCH_CPSR] >> 5 & 1 ? 2 : 4;
}

static inline bool arch_is_svc(uint32_t at, uint32_t bytes)
{
        const uint16_t *p = (const uint16_t *)(uintptr_t)at;

        return bytes == 2 ? p[0] == 0xdf00 : p[0] == 0 && p[1] == 0xef00;
}

static inline bool arch_sig_interrupted(void *context)
{
        const uint32_t *g = arch_sig_registers(context);
        uint32_t bytes = arch_svc_bytes(g);

        return (int32_t)g[0] == -4 /* EINTR */ && (g[ARCH_SIG_PC] & 0xfff) >= bytes &&
               arch_is_svc(g[ARCH_SIG_PC] - bytes, bytes);
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
        const uint32_t *g = arch_sig_registers(context);

        return arch_is_svc(g[ARCH_SIG_PC], arch_svc_bytes(g));
}

static inline void arch_sig_fail(void *context)
{
        uint32_t *g = arch_sig_registers(context);

        g[0] = (uint32_t)-4; /* EINTR */
        g[ARCH_SIG_PC] += arch_svc_bytes(g);
}

/* mov r7, #173; svc 0, in ARM code. */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".balign 4\n"                                                  \
                ".arm\n"                                                       \
                ".type " #name ", %function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                #name ":\n"                                                    \
                "        .inst 0xe3a070ad, 0xef000000\n"                       \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

/* The number that the trampoline at PC gives r7: mov r7, #n; svc (ARM: and with the number in the
 * svc, too; Thumb: as the kernel and as the C library write it); 0: it is none. */
static inline uint32_t arch_sigreturn_call(uint64_t pc)
{
        const uint16_t *p = (const uint16_t *)(uintptr_t)(pc & ~1ull);

        if (p[1] == 0xdf00 && (p[0] & 0xff00) == 0x2700)
                return p[0] & 0xff;
        if (p[0] == 0xf04f && (p[1] & 0xff00) == 0x0700 && p[2] == 0xdf00)
                return p[1] & 0xff;
        if (pc % 4 == 0 && p[1] == 0xe3a0 && (p[0] & 0xff00) == 0x7000 && (p[3] & 0xff00) == 0xef00)
                return p[0] & 0xff;
        return 0;
}

static inline bool arch_is_sigreturn(uint64_t pc)
{
        uint32_t call = arch_sigreturn_call(pc);

        return call == 173 || call == 119;
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        return sp + (arch_sigreturn_call(pc) == 173 ? ARCH_SIG_CONTEXT : 0) + ARCH_SIG_GREGS;
}

/* There is no chain of frames to follow. */
static inline bool arch_follows_call(uint64_t pc)
{
        (void)pc;
        return false;
}

#endif
