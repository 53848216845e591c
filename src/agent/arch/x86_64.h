/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h -- the port to x86-64 Linux.
 *
 * Room:   inside; any context.  Included through arch.h only.
 */
#ifndef SEEP_AGENT_ARCH_X86_64_H
#define SEEP_AGENT_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_AUDIT 0xc000003eu   /* AUDIT_ARCH_X86_64 */
#define ARCH_CODE_MAX 0x7fffffffffffull
#define ARCH_PAGE 4096ul
#define ARCH_PAGE_MOST 4096ul
#define ARCH_EMULATION 0

#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_SYS_FTRUNCATE SYS_ftruncate
#define ARCH_OFFSET(at) (long)(at), 0, 0 /* an offset in a file, as arguments of a system call */
#define ARCH_CLONE(flags) (flags), 0 /* flags and stack, in their order */

/* Struct sigaction in glibc and musl alike; the handler is its first word. */
#define ARCH_ACTION_BYTES 152
#define ARCH_ACTION_FLAGS_AT 136
#define ARCH_ACTION_RESTORER 1

#define ARCH_HASH_WORD uint32_t /* entries of DT_HASH */

#define ARCH_FAST_CAPTURE 1
#define ARCH_FRAME_CHAIN ARCH_CHAIN_BASE
#define ARCH_REGS 17
#define ARCH_REG_BASE 6   /* rbp */
#define ARCH_REG_STACK 7  /* rsp */
#define ARCH_REG_RETURN 16
#define ARCH_RETURN_AT (-8)
#define ARCH_CFA_ABOVE_STACK 0

/* rt_sigframe after the handler's return: rsp points at the ucontext; gregs start at 40 (rax rdx
 * rcx rbx rsi rdi rbp rsp r8.. r15 rip). */
#define ARCH_SIG_GREGS 40
#define ARCH_SIG_ORDER { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 }
#define ARCH_SIG_BASE 10
#define ARCH_SIG_STACK 15
#define ARCH_SIG_PC 16
#define ARCH_SIG_BYTES (8 * 17)

#define ARCH_KEEPS __attribute__((no_caller_saved_registers))

/* A hook with a frame pointer: [rbp] = caller's rbp, [rbp + 8] = return address,
 * rbp + 16 = caller's rsp. */
#define ARCH_FRAME(caller)                                                     \
        do {                                                                   \
                const uint64_t *arch_fp = __builtin_frame_address(0);          \
                (caller).base = arch_fp[0];                                    \
                (caller).pc = arch_fp[1];                                      \
                (caller).sp = (uint64_t)(arch_fp + 2);                         \
        } while (0)

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
        /* The 4th argument of a system call is r10, not rcx. */
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = f;
        long result;

        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return result;
}

/* Turns of a register that come to nothing, which Valgrind knows as a request (0x1801). */
static inline void arch_unjudged(bool begins)
{
        uint64_t words[6] = { 0x1801, begins ? 1 : (uint64_t)-1 };
        uint64_t answer = 0;

        __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
                         "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                         "xchgq %%rbx, %%rbx"
                         : "+d"(answer)
                         : "a"(words)
                         : "cc", "memory");
}

static inline void arch_fill(void *to, uint8_t byte, uint64_t count)
{
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(byte) : "memory");
}

static inline void arch_copy(void *to, const void *from, uint64_t count)
{
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static inline uint64_t arch_code(uint64_t pc)
{
        return pc;
}

static inline bool arch_cfi_known(unsigned op)
{
        (void)op;
        return false;
}

/* Callee-saved registers, stack pointer and program counter of the function that calls this. */
static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        __asm__ volatile("movq %%rbx, 24(%0)\n\t"
                         "movq %%rbp, 48(%0)\n\t"
                         "movq %%rsp, 56(%0)\n\t"
                         "movq %%r12, 96(%0)\n\t"
                         "movq %%r13, 104(%0)\n\t"
                         "movq %%r14, 112(%0)\n\t"
                         "movq %%r15, 120(%0)\n\t"
                         "leaq 0(%%rip), %%rcx\n\t"
                         "movq %%rcx, 128(%0)"
                         :
                         : "a"(r)
                         : "rcx", "memory");
        return r[ARCH_REG_RETURN];
}

/* Start of the thread's own data; in musl and glibc alike it lies above the thread's stack. */
static inline uint64_t arch_thread_pointer(void)
{
        uint64_t self;

        __asm__("movq %%fs:0, %0" : "=r"(self));
        return self;
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        (void)pc;
        return sp + ARCH_SIG_GREGS;
}

/* The state that a signal interrupted, in the ucontext that its handler got. */
static inline uint64_t *arch_sig_registers(void *context)
{
        return (uint64_t *)((uint8_t *)context + ARCH_SIG_GREGS);
}

static inline uint64_t arch_sig_mask(const void *context)
{
        return *(const uint64_t *)((const uint8_t *)context + ARCH_SIG_GREGS + 256);
}

/* When the handler returns, these signals are not blocked. */
static inline void arch_sig_unblock(void *context, uint64_t signals)
{
        *(uint64_t *)((uint8_t *)context + ARCH_SIG_GREGS + 256) &= ~signals;
}

enum { ARCH_GREG_RAX = 13, ARCH_GREG_RIP = 16 };

/* Whether a system call was interrupted that is about to fail with EINTR.  (One that the kernel
 * begins again by itself is not.) */
static inline bool arch_sig_interrupted(void *context)
{
        const uint64_t *g = arch_sig_registers(context);
        const uint8_t *p = (const uint8_t *)g[ARCH_GREG_RIP];

        return (long)g[ARCH_GREG_RAX] == -4 /* EINTR */ && (g[ARCH_GREG_RIP] & 0xfff) >= 7 &&
               p[-2] == 0x0f && p[-1] == 0x05;
}

/* Its number; -1 when the code before it does not tell. */
static inline long arch_sig_call(void *context)
{
        const uint8_t *p = (const uint8_t *)arch_sig_registers(context)[ARCH_GREG_RIP];

        if (p[-7] == 0xb8) /* mov $n,%eax */
                return (long)(p[-6] | (uint32_t)p[-5] << 8 | (uint32_t)p[-4] << 16 |
                              (uint32_t)p[-3] << 24);
        return p[-4] == 0x31 && p[-3] == 0xc0 ? 0 : -1; /* xor %eax,%eax */
}

/* Let it begin again, with the same arguments. */
static inline void arch_sig_restart(void *context, long number)
{
        uint64_t *g = arch_sig_registers(context);

        g[ARCH_GREG_RAX] = (uint64_t)number;
        g[ARCH_GREG_RIP] -= 2;
}

/* Whether the next instruction is a system call: one that begins, or that the kernel is about to
 * begin again.  And let it fail with EINTR. */
static inline bool arch_sig_calls_next(void *context)
{
        const uint8_t *p = (const uint8_t *)arch_sig_registers(context)[ARCH_GREG_RIP];

        return p[0] == 0x0f && p[1] == 0x05;
}

static inline void arch_sig_fail(void *context)
{
        uint64_t *g = arch_sig_registers(context);

        g[ARCH_GREG_RAX] = (uint64_t)-4; /* EINTR */
        g[ARCH_GREG_RIP] += 2;
}

/* What a signal handler returns to.  Unwinders know it by these bytes. */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".type " #name ", @function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                #name ":\n"                                                    \
                "        .byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n"  \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

/* mov $15,%rax (7 or 5 bytes), syscall: what glibc, musl and the kernel's convention use. */
static inline bool arch_is_sigreturn(uint64_t pc)
{
        const uint8_t *p = (const uint8_t *)pc;

        if (p[0] == 0x48 && p[1] == 0xc7 && p[2] == 0xc0)
                p += 3;
        else if (p[0] == 0xb8)
                p += 1;
        else
                return false;
        return p[0] == 15 && !p[1] && !p[2] && !p[3] && p[4] == 0x0f && p[5] == 0x05;
}

static inline bool arch_follows_call(uint64_t pc)
{
        const uint8_t *p = (const uint8_t *)pc;

        if (p[-5] == 0xe8)
                return true;
        if (p[-2] == 0xff && (p[-1] & 0x38) == 0x10) /* call *reg, call *(reg) */
                return true;
        if (p[-3] == 0xff && (p[-2] & 0x38) == 0x10) /* call *disp8(reg) or with SIB */
                return true;
        if (p[-4] == 0xff && (p[-3] & 0x38) == 0x10)
                return true;
        if (p[-6] == 0xff && (p[-5] & 0x38) == 0x10) /* call *disp32(reg), call *disp32(%rip) */
                return true;
        return p[-7] == 0xff && (p[-6] & 0x38) == 0x10;
}

#endif
