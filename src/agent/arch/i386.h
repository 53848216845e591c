/* SPDX-License-Identifier: MIT */
/*
 * i386.h -- the port to 32-bit x86 Linux.
 *
 * Room:   inside; any context.  Included through arch.h only.
 *
 * Compiled with -malign-double: 64-bit words of the ledger lie at multiples of 8 on every
 * processor, and no structure of the kernel's that we use has any.
 *
 * Stacks are unwound with all registers: functions that align their stack (main) have their frame
 * by a third register.
 */
#ifndef SEEP_AGENT_ARCH_I386_H
#define SEEP_AGENT_ARCH_I386_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_AUDIT 0x40000003u /* AUDIT_ARCH_I386 */
#define ARCH_CODE_MAX 0xffffefffull
#define ARCH_PAGE 4096ul
#define ARCH_PAGE_MOST 4096ul
#define ARCH_EMULATION 0

#define ARCH_SYS_MMAP SYS_mmap2
#define ARCH_SYS_FTRUNCATE SYS_ftruncate64
#define ARCH_OFFSET(at) (long)(uint32_t)(at), (long)((uint64_t)(at) >> 32), 0
#define ARCH_CLONE(flags) (flags), 0 /* flags and stack, in their order */

#define ARCH_ACTION_BYTES 140
#define ARCH_ACTION_FLAGS_AT 132
#define ARCH_ACTION_RESTORER 1

#define ARCH_HASH_WORD uint32_t /* entries of DT_HASH */

#define ARCH_FAST_CAPTURE 0
#define ARCH_FRAME_CHAIN ARCH_CHAIN_BASE
#define ARCH_REGS 9
#define ARCH_REG_STACK 4  /* esp */
#define ARCH_REG_BASE 5   /* ebp */
#define ARCH_REG_RETURN 8
#define ARCH_RETURN_AT 0
#define ARCH_CFA_ABOVE_STACK 0

/* After the handler's return esp points behind the return address: at the signal's number and the
 * registers (without SA_SIGINFO), or at number, two pointers, siginfo (128 bytes) and ucontext,
 * which has the registers at 20 and the signal mask at 108.  Registers: gs fs es ds edi esi ebp esp
 * ebx edx ecx eax trapno err eip. */
#define ARCH_SIG_PLAIN 4
#define ARCH_SIG_CONTEXT (4 + 4 + 4 + 128)
#define ARCH_SIG_GREGS 20
#define ARCH_SIG_MASK 108
#define ARCH_SIG_ORDER { 11, 10, 9, 8, 7, 6, 5, 4, 14 }
#define ARCH_SIG_BASE 6
#define ARCH_SIG_STACK 7
#define ARCH_SIG_PC 14
#define ARCH_SIG_BYTES (4 * 15)

#define ARCH_KEEPS

/* A hook with a frame pointer: [ebp] = caller's ebp, [ebp + 4] = return address,
 * ebp + 8 = caller's esp. */
#define ARCH_FRAME(caller)                                                     \
        do {                                                                   \
                const uint32_t *arch_fp = __builtin_frame_address(0);          \
                (caller).base = arch_fp[0];                                    \
                (caller).pc = arch_fp[1];                                      \
                (caller).sp = (uintptr_t)(arch_fp + 2);                        \
        } while (0)

/* Arguments lie in the caller's frame, and a function may write to its own.  musl calls
 * constructors without any and keeps registers there: one that has no parameters writes to nothing
 * of its caller's. */
#define ARCH_CONSTRUCTOR(begin)                                                \
        __attribute__((constructor)) static void begin##_now(void)             \
        {                                                                      \
                const arch_word *arch_fp = __builtin_frame_address(0);         \
                begin((char **)arch_fp[4]); /* behind a count and words */     \
        }

/* All seven registers are arguments, and the tables tell at each of its instructions where they are
 * saved: a signal may come at any. */
static __attribute__((naked, noinline, noipa, unused)) long
arch_enter(long number, long a, long b, long c, long d, long e, long f)
{
        (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
        __asm__("pushl %ebp\n\t"
                ".cfi_adjust_cfa_offset 4\n\t"
                ".cfi_rel_offset %ebp, 0\n\t"
                "pushl %edi\n\t"
                ".cfi_adjust_cfa_offset 4\n\t"
                ".cfi_rel_offset %edi, 0\n\t"
                "pushl %esi\n\t"
                ".cfi_adjust_cfa_offset 4\n\t"
                ".cfi_rel_offset %esi, 0\n\t"
                "pushl %ebx\n\t"
                ".cfi_adjust_cfa_offset 4\n\t"
                ".cfi_rel_offset %ebx, 0\n\t"
                "movl 20(%esp), %eax\n\t"
                "movl 24(%esp), %ebx\n\t"
                "movl 28(%esp), %ecx\n\t"
                "movl 32(%esp), %edx\n\t"
                "movl 36(%esp), %esi\n\t"
                "movl 40(%esp), %edi\n\t"
                "movl 44(%esp), %ebp\n\t"
                "int $0x80\n\t"
                "popl %ebx\n\t"
                ".cfi_adjust_cfa_offset -4\n\t"
                ".cfi_restore %ebx\n\t"
                "popl %esi\n\t"
                ".cfi_adjust_cfa_offset -4\n\t"
                ".cfi_restore %esi\n\t"
                "popl %edi\n\t"
                ".cfi_adjust_cfa_offset -4\n\t"
                ".cfi_restore %edi\n\t"
                "popl %ebp\n\t"
                ".cfi_adjust_cfa_offset -4\n\t"
                ".cfi_restore %ebp\n\t"
                "ret");
}

/* A child that shares our stack must not find anything there that we come back to. */
static inline __attribute__((always_inline)) long arch_syscall(long number, long a, long b, long c,
                                                               long d, long e, long f)
{
        long result;

        if (number != 120 /* clone */)
                return arch_enter(number, a, b, c, d, e, f);
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                         : "memory");
        return result;
}

/* Turns of a register that come to nothing, which Valgrind knows as a request (0x1801). */
static inline void arch_unjudged(bool begins)
{
        uint32_t words[6] = { 0x1801, begins ? 1 : (uint32_t)-1 };
        uint32_t answer = 0;

        __asm__ volatile("roll $3, %%edi\n\troll $13, %%edi\n\t"
                         "roll $29, %%edi\n\troll $19, %%edi\n\t"
                         "xchgl %%ebx, %%ebx"
                         : "+d"(answer)
                         : "a"(words)
                         : "cc", "memory");
}

static inline void arch_fill(void *to, uint8_t byte, uint64_t count)
{
        uint32_t bytes = (uint32_t)count;

        __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
}

static inline void arch_copy(void *to, const void *from, uint64_t count)
{
        uint32_t bytes = (uint32_t)count;

        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
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

/* Where it returns to, in %edx: a call that is left by a pop alone would have an instruction at
 * which the tables of its caller are wrong, and a signal may come there. */
static __attribute__((naked, noinline, noipa, used)) void arch_here(void)
{
        __asm__("movl (%esp), %edx\n\t"
                "ret");
}

/* Callee-saved registers, stack pointer and program counter of the function that calls this. */
static inline __attribute__((always_inline)) uint64_t arch_registers(uint64_t *r)
{
        uint32_t kept[ARCH_REGS] = { 0 };

        __asm__ volatile("movl %%ebx, 12(%0)\n\t"
                         "movl %%esp, 16(%0)\n\t"
                         "movl %%ebp, 20(%0)\n\t"
                         "movl %%esi, 24(%0)\n\t"
                         "movl %%edi, 28(%0)\n\t"
                         "call arch_here\n\t"
                         "movl %%edx, 32(%0)"
                         :
                         : "a"(kept)
                         : "edx", "memory");
        for (uint32_t i = 0; i < ARCH_REGS; i++)
                r[i] = kept[i];
        return r[ARCH_REG_RETURN];
}

/* Start of the thread's own data; in musl and glibc alike it lies above the thread's stack. */
static inline uint64_t arch_thread_pointer(void)
{
        uint32_t self;

        __asm__("movl %%gs:0, %0" : "=r"(self));
        return self;
}

/* The state that a signal interrupted, in the ucontext that its handler got. */
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

/* When the handler returns, these signals are not blocked. */
static inline void arch_sig_unblock(void *context, uint64_t signals)
{
        uint64_t mask = arch_sig_mask(context) & ~signals;

        __builtin_memcpy((uint8_t *)context + ARCH_SIG_MASK, &mask, sizeof mask);
}

enum { ARCH_GREG_EAX = 11, ARCH_GREG_EIP = 14 };

/* int $0x80; the kernel's own code, which enters it by other instructions, comes back behind one,
 * too. */
static inline bool arch_is_int80(uint32_t at)
{
        const uint8_t *p = (const uint8_t *)(uintptr_t)at;

        return p[0] == 0xcd && p[1] == 0x80;
}

/* Whether a system call was interrupted that is about to fail with EINTR.  (One that the kernel
 * begins again by itself is not.) */
static inline bool arch_sig_interrupted(void *context)
{
        const uint32_t *g = arch_sig_registers(context);

        return (int32_t)g[ARCH_GREG_EAX] == -4 /* EINTR */ && (g[ARCH_GREG_EIP] & 0xfff) >= 2 &&
               arch_is_int80(g[ARCH_GREG_EIP] - 2);
}

/* The kernel's code does not tell which call it was.  Calls that wait are hooked. */
static inline long arch_sig_call(void *context)
{
        (void)context;
        return -1;
}

/* Let it begin again, with the same arguments. */
static inline void arch_sig_restart(void *context, long number)
{
        uint32_t *g = arch_sig_registers(context);

        g[ARCH_GREG_EAX] = (uint32_t)number;
        g[ARCH_GREG_EIP] -= 2;
}

/* Whether the next instruction is a system call: one that begins, or that the kernel is about to
 * begin again.  And let it fail with EINTR. */
static inline bool arch_sig_calls_next(void *context)
{
        return arch_is_int80(arch_sig_registers(context)[ARCH_GREG_EIP]);
}

static inline void arch_sig_fail(void *context)
{
        uint32_t *g = arch_sig_registers(context);

        g[ARCH_GREG_EAX] = (uint32_t)-4; /* EINTR */
        g[ARCH_GREG_EIP] += 2;
}

/* What a signal handler with SA_SIGINFO returns to: mov $173,%eax; int $0x80.  Unwinders know it by
 * these bytes. */
#define ARCH_SIGRETURN(name)                                                   \
        __asm__(".pushsection .text\n"                                         \
                ".type " #name ", @function\n"                                 \
                ".globl " #name "\n"                                           \
                ".hidden " #name "\n"                                          \
                #name ":\n"                                                    \
                "        .byte 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80\n"              \
                ".size " #name ", . - " #name "\n"                             \
                ".popsection");                                                \
        extern void name(void) __attribute__((visibility("hidden")))

/* The system call of the trampoline at PC: mov $n,%eax; int $0x80, behind pop %eax where the
 * signal's number is to be left; 0: it is none. */
static inline uint32_t arch_sigreturn_call(uint64_t pc)
{
        const uint8_t *p = (const uint8_t *)(uintptr_t)pc;
        bool popped = p[0] == 0x58;

        p += popped;
        if (p[0] != 0xb8 || p[2] || p[3] || p[4] || p[5] != 0xcd || p[6] != 0x80 ||
            p[1] != (popped ? 119 : 173))
                return 0;
        return p[1];
}

static inline bool arch_is_sigreturn(uint64_t pc)
{
        return arch_sigreturn_call(pc) != 0;
}

static inline uint64_t arch_sig_saved(uint64_t pc, uint64_t sp)
{
        return sp + (arch_sigreturn_call(pc) == 173 ? ARCH_SIG_CONTEXT + ARCH_SIG_GREGS
                                                    : ARCH_SIG_PLAIN);
}

static inline bool arch_follows_call(uint64_t pc)
{
        const uint8_t *p = (const uint8_t *)(uintptr_t)pc;

        if (p[-5] == 0xe8)
                return true;
        if (p[-2] == 0xff && (p[-1] & 0x38) == 0x10) /* call *reg, call *(reg) */
                return true;
        if (p[-3] == 0xff && (p[-2] & 0x38) == 0x10) /* call *disp8(reg) or with SIB */
                return true;
        if (p[-4] == 0xff && (p[-3] & 0x38) == 0x10)
                return true;
        if (p[-6] == 0xff && (p[-5] & 0x38) == 0x10) /* call *disp32(reg), call *address */
                return true;
        return p[-7] == 0xff && (p[-6] & 0x38) == 0x10; /* ... of the thread: %gs */
}

#endif
