/* SPDX-License-Identifier: MIT */
/*
 * aarch64.h -- the port to 64-bit ARM Linux, little endian.
 *
 * A call that our stop cut short with EINTR cannot be made again: its first argument is gone from
 * the registers (the kernel still tells it in /proc/TID/syscall).  Of programs of arm that is
 * kept; but no word tells whether a thread has just come out of a call.
 */
#ifndef SEEP_ATTACH_ARCH_AARCH64_H
#define SEEP_ATTACH_ARCH_AARCH64_H

#include <asm/sigcontext.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

#include "attach/arch/call.h"
#include "attach/arch/registers.h"
#include "attach/arch/unmarked.h"

#define ARCH_CALL "\x01\x00\x00\xd4" /* svc 0 */
#define ARCH_CALL_BYTES 4u
#define ARCH_TRAP "\x00\x00\x20\xd4"
#define ARCH_TRAP_BYTES 4u
#define ARCH_TRAP_PAST 0u
#define ARCH_KERNEL_DECIDES 0
#define ARCH_ERESTARTNOINTR 513
#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_CLONE_WORDS(flags) { flags }
#define ARCH_VECTOR_NOTE NT_PRFPREG
#define ARCH_VECTOR_BYTES 512u /* v0 to v31; then fpsr and fpcr */

/* Of programs of arm (32 bits). */
#define ARCH_NARROW_CALL "\x00\xdf" /* svc 0, in Thumb code, which C libraries are made of */
#define ARCH_NARROW_CALL_BYTES 2u
#define ARCH_NARROW_THUMB (1u << 5)
#define ARCH_NARROW_BLOCK 0x0600fc00u /* of the instructions that depend on a condition (it) */
#define ARCH_NARROW_VECTOR_BYTES 256u /* d0 to d31; then fpscr */

enum {
        ARCH_NARROW_BASE = 11,
        ARCH_NARROW_SP = 13,
        ARCH_NARROW_PC = 15,
        ARCH_NARROW_CPSR = 16,
        ARCH_NARROW_WORDS = 18 /* the last: the first argument of a call */
};

struct arch_registers {
        union {
                struct user_regs_struct r;
                uint32_t narrow[ARCH_NARROW_WORDS];
        };
        uint64_t tp;
        int32_t call; /* the system call that it is in; -1 none */
        bool is_narrow;
};

static inline bool arch_set(pid_t tid, int note, void *to, size_t bytes)
{
        struct iovec v = { to, bytes };

        return ptrace(PTRACE_GETREGSET, tid, (void *)(long)note, &v) == 0 && v.iov_len == bytes;
}

static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { &to->r, sizeof to->r };

        *to = (struct arch_registers){ .call = -1 };
        errno = 0;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
                return false;
        to->is_narrow = v.iov_len == sizeof to->narrow;
        if (!arch_set(tid, NT_ARM_TLS, &to->tp, to->is_narrow ? sizeof(uint32_t) : sizeof to->tp) ||
            !arch_set(tid, NT_ARM_SYSTEM_CALL, &to->call, sizeof to->call))
                return false;
        if (to->is_narrow)
                errno = ENOEXEC;
        return !to->is_narrow;
}

static inline bool arch_is_narrow(const struct arch_registers *of)
{
        return of->is_narrow;
}

static inline bool arch_write(pid_t tid, const struct arch_registers *from)
{
        struct arch_registers copy = *from;
        struct iovec v = { &copy.r, copy.is_narrow ? sizeof copy.narrow : sizeof copy.r },
                     call = { &copy.call, sizeof copy.call };

        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0 &&
               ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &call) == 0;
}

static inline uint64_t arch_thread_pointer_in(const struct arch_registers *from)
{
        return from->tp;
}

/* ---- for readers ---- */

static inline void arch_take_note(struct freeze_thread *t, const struct iovec *v)
{
        if (v->iov_len >= ARCH_VECTOR_BYTES)
                memcpy(t->vectors, v->iov_base, ARCH_VECTOR_BYTES);
}

static inline void arch_take_narrow(struct freeze_thread *t, const uint32_t *words)
{
        memset(t->registers, 0, sizeof t->registers);
        memset(t->vectors, 0, sizeof t->vectors);
        for (int i = 0; i < ARCH_NARROW_PC; i++)
                t->registers[i] = words[i];
        t->pc = words[ARCH_NARROW_PC];
        t->sp = words[ARCH_NARROW_SP];
        t->base = words[ARCH_NARROW_BASE];
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        uint8_t state[sizeof(struct user_fpsimd_struct)];
        struct iovec v = { state, sizeof state };

        if (from->is_narrow) {
                arch_take_narrow(t, from->narrow);
                t->tp = from->tp;
                if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_ARM_VFP, &v) == 0 &&
                    v.iov_len >= ARCH_NARROW_VECTOR_BYTES)
                        memcpy(t->vectors, state, ARCH_NARROW_VECTOR_BYTES);
                return;
        }
        _Static_assert(sizeof from->r.regs == FREEZE_REGISTERS * 8, "all general registers");
        memcpy(t->registers, from->r.regs, sizeof from->r.regs);
        t->pc = from->r.pc;
        t->sp = from->r.sp;
        t->base = from->r.regs[29];
        t->tp = from->tp;
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRFPREG, &v) == 0)
                arch_take_note(t, &v);
}

/* ---- what a signal interrupted ---- */

struct arch_context {
        ucontext_t of;
};

/* The general registers; behind them is what else the processor has, in records of which
 * the first has the vectors. */
#define ARCH_CONTEXT_BYTES \
        (offsetof(ucontext_t, uc_mcontext.__reserved) + sizeof(struct fpsimd_context))
#define ARCH_STATE_BYTES 16u

static inline uint64_t arch_context_vectors(const struct arch_context *c)
{
        (void)c;
        return 0; /* in the context itself */
}

static inline void arch_describe_interrupted(struct freeze_thread *t, const struct arch_context *c,
                                             uint8_t *state, size_t count)
{
        struct fpsimd_context vectors;

        (void)state, (void)count;
        memcpy(t->registers, c->of.uc_mcontext.regs, FREEZE_REGISTERS * sizeof *t->registers);
        t->pc = c->of.uc_mcontext.pc;
        t->sp = c->of.uc_mcontext.sp;
        t->base = t->registers[29];
        memset(t->vectors, 0, sizeof t->vectors);
        memcpy(&vectors, c->of.uc_mcontext.__reserved, sizeof vectors);
        if (vectors.head.magic == FPSIMD_MAGIC)
                memcpy(t->vectors, vectors.vregs, ARCH_VECTOR_BYTES);
}

/* In the ucontext of arm the words from 32 on are r0 to r15 and cpsr; from 232 on are records, of
 * which the first has the vectors behind its magic and bytes. */
static inline void arch_describe_narrow(struct freeze_thread *t, const struct arch_context *c,
                                        size_t count)
{
        enum { WORDS_AT = 32, RECORD_AT = 232, VECTORS_AT = 240, MAGIC = 0x56465001 };
        const uint8_t *bytes = (const uint8_t *)c;
        uint32_t words[ARCH_NARROW_CPSR + 1], magic;

        if (count < WORDS_AT + sizeof words)
                return;
        memcpy(words, bytes + WORDS_AT, sizeof words);
        arch_take_narrow(t, words);
        memcpy(&magic, bytes + RECORD_AT, sizeof magic);
        if (magic == MAGIC && count >= VECTORS_AT + ARCH_NARROW_VECTOR_BYTES)
                memcpy(t->vectors, bytes + VECTORS_AT, ARCH_NARROW_VECTOR_BYTES);
}

/* ---- system calls ---- */

static inline long arch_interrupted(const struct arch_registers *from)
{
        (void)from;
        return -1;
}

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return from->call >= 0;
}

static inline void arch_again(struct arch_registers *to)
{
        (void)to;
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r.pc = pc;
        to->r.sp = stack;
        to->call = -1;
}

/* Its number for programs of arm: those calls that are made for us.  -1: the kernel has none of
 * it. */
static inline uint32_t arch_narrow_number(long number)
{
        switch (number) {
        case SYS_mmap: return 192; /* mmap2: its offset is in pages */
        case SYS_munmap: return 91;
        case SYS_mprotect: return 125;
        case SYS_madvise: return 220;
        case SYS_prctl: return 172;
        case SYS_clone: return 120;
        case SYS_wait4: return 114;
        case SYS_close_range: return 436;
        default: return UINT32_MAX;
        }
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        if (to->is_narrow) {
                to->narrow[ARCH_NARROW_PC] = (uint32_t)at;
                to->narrow[ARCH_NARROW_CPSR] |= ARCH_NARROW_THUMB;
                to->narrow[ARCH_NARROW_CPSR] &= ~ARCH_NARROW_BLOCK;
                to->narrow[7] = arch_narrow_number(call->number);
                for (int i = 0; i < 6; i++)
                        to->narrow[i] = (uint32_t)call->arguments[i];
                to->call = -1;
                return;
        }
        to->r.pc = at;
        to->call = -1;
        to->r.regs[8] = (unsigned long long)call->number;
        for (int i = 0; i < 6; i++)
                to->r.regs[i] = call->arguments[i];
}

/* The code of a program of arm is Thumb here and ARM there: the call is made as Thumb does. */
static inline struct arch_instruction arch_call_of(const struct arch_registers *of)
{
        return of->is_narrow ? (struct arch_instruction){ ARCH_NARROW_CALL, ARCH_NARROW_CALL_BYTES,
                                                          ARCH_NARROW_CALL_BYTES }
                             : (struct arch_instruction){ ARCH_CALL, ARCH_CALL_BYTES,
                                                          ARCH_CALL_BYTES };
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return of->is_narrow ? of->narrow[ARCH_NARROW_PC] : of->r.pc;
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        if (of->is_narrow)
                of->narrow[ARCH_NARROW_PC] = (uint32_t)pc;
        else
                of->r.pc = pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->is_narrow ? from->narrow[ARCH_NARROW_SP] : from->r.sp;
}

/* Addresses above 2 GiB are no errors. */
static inline long arch_result(const struct arch_registers *from)
{
        int32_t half = (int32_t)from->narrow[0];

        if (!from->is_narrow)
                return (long)from->r.regs[0];
        return half < 0 && half > -4096 ? half : (long)(uint32_t)half;
}

/* ---- code ---- */

/* adrp x0, PAGE; add x0, x0, #OFFSET (or ldr x0, [x0, #OFFSET]); ret: behind bti, paciasp and a
 * frame record, if there is one. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        uint32_t words[8];

        if (count < sizeof words)
                return 0;
        memcpy(words, code, sizeof words);
        for (size_t i = 0; i + 1 < sizeof words / sizeof *words; i++) {
                uint32_t w = words[i], next = words[i + 1];
                int64_t pages = (int64_t)((uint64_t)((w >> 5 & 0x7ffff) << 2 | (w >> 29 & 3))
                                          << 43) >>
                                43;
                uint64_t page = ((address + 4 * i) & ~0xfffull) + (uint64_t)pages * 4096;

                if ((w & 0x9f00001f) != 0x90000000) /* adrp x0 */
                        continue;
                *load = (next & 0xffc003ff) == 0xf9400000;          /* ldr x0, [x0, #n] */
                if (*load || (next & 0xffc003ff) == 0x91000000)     /* add x0, x0, #n */
                        return page + (*load ? 8 : 1) * (next >> 10 & 0xfff);
        }
        return 0;
}

#endif
