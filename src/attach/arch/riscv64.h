/* SPDX-License-Identifier: MIT */
/*
 * riscv64.h -- the port to 64-bit RISC-V Linux (LP64D), little endian.
 *
 * Compiled by the lint, not run yet.  The kernel does not tell whether a thread is in a
 * system call: none is taken to be, and one that our stop cut short with EINTR is not made again.
 */
#ifndef SEEP_ATTACH_ARCH_RISCV64_H
#define SEEP_ATTACH_ARCH_RISCV64_H

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
#include "attach/arch/one_size.h"
#include "attach/arch/registers.h"
#include "attach/arch/unmarked.h"

#define ARCH_CALL "\x73\x00\x00\x00" /* ecall */
#define ARCH_CALL_BYTES 4u
#define ARCH_TRAP "\x02\x90" /* c.ebreak: fits into any instruction */
#define ARCH_TRAP_BYTES 2u
#define ARCH_TRAP_PAST 0u
#define ARCH_KERNEL_DECIDES 0
#define ARCH_ERESTARTNOINTR 513
#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_CLONE_WORDS(flags) { flags }
#define ARCH_VECTOR_NOTE NT_PRFPREG
#define ARCH_VECTOR_BYTES 256u /* f0 to f31; then fcsr */

/* The program counter in the place of x0, which is always 0. */
enum { ARCH_PC, ARCH_SP = 2, ARCH_TP = 4, ARCH_S0 = 8, ARCH_A0 = 10, ARCH_A7 = 17 };

struct arch_registers {
        uint64_t r[32];
};

static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { to->r, sizeof to->r };

        errno = 0;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
                return false;
        if (v.iov_len != sizeof to->r)
                errno = ENOEXEC;
        return errno == 0;
}

static inline bool arch_write(pid_t tid, const struct arch_registers *from)
{
        struct arch_registers copy = *from;
        struct iovec v = { copy.r, sizeof copy.r };

        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0;
}

static inline uint64_t arch_thread_pointer_in(const struct arch_registers *from)
{
        return from->r[ARCH_TP];
}

/* ---- for readers ---- */

static inline void arch_take_note(struct freeze_thread *t, const struct iovec *v)
{
        if (v->iov_len >= ARCH_VECTOR_BYTES)
                memcpy(t->vectors, v->iov_base, ARCH_VECTOR_BYTES);
}

/* Registers as the kernel has them for tracers and for handlers of signals alike. */
static inline void arch_take_general(struct freeze_thread *t, const void *from)
{
        memcpy(t->registers, from, sizeof t->registers);
        t->pc = t->registers[ARCH_PC];
        t->registers[0] = 0;
        t->sp = t->registers[ARCH_SP];
        t->base = t->registers[ARCH_S0];
        t->tp = t->registers[ARCH_TP];
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        uint8_t state[ARCH_VECTOR_BYTES + 8];
        struct iovec v = { state, sizeof state };

        _Static_assert(sizeof from->r == sizeof t->registers, "all general registers");
        arch_take_general(t, from->r);
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRFPREG, &v) == 0)
                arch_take_note(t, &v);
}

/* ---- what a signal interrupted ---- */

struct arch_context {
        ucontext_t of;
};

#define ARCH_CONTEXT_BYTES \
        (offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, __fpregs) + ARCH_VECTOR_BYTES)
#define ARCH_STATE_BYTES 16u

static inline uint64_t arch_context_vectors(const struct arch_context *c)
{
        (void)c;
        return 0; /* in the context itself */
}

static inline void arch_describe_interrupted(struct freeze_thread *t, const struct arch_context *c,
                                             uint8_t *state, size_t count)
{
        (void)state, (void)count;
        arch_take_general(t, c->of.uc_mcontext.__gregs);
        memset(t->vectors, 0, sizeof t->vectors);
        memcpy(t->vectors, &c->of.uc_mcontext.__fpregs, ARCH_VECTOR_BYTES);
}

/* ---- system calls ---- */

static inline long arch_interrupted(const struct arch_registers *from)
{
        (void)from;
        return -1;
}

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        (void)from;
        return false;
}

static inline void arch_again(struct arch_registers *to)
{
        (void)to;
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r[ARCH_PC] = pc;
        to->r[ARCH_SP] = stack;
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r[ARCH_PC] = at;
        to->r[ARCH_A7] = (uint64_t)call->number;
        for (int i = 0; i < 6; i++)
                to->r[ARCH_A0 + i] = call->arguments[i];
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return of->r[ARCH_PC];
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        of->r[ARCH_PC] = pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->r[ARCH_SP];
}

static inline long arch_result(const struct arch_registers *from)
{
        return (long)from->r[ARCH_A0];
}

/* ---- code ---- */

/* auipc a0, PAGES; addi a0, a0, OFFSET (or ld a0, OFFSET(a0)); behind a front of a few
 * instructions, if there is one. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        *load = false;
        for (size_t i = 0; i + 8 <= count; i += (code[i] & 3) == 3 ? 4 : 2) {
                uint32_t upper, next;

                memcpy(&upper, code + i, sizeof upper);
                memcpy(&next, code + i + 4, sizeof next);
                if ((upper & 0xfff) != 0x517) /* auipc a0 */
                        continue;
                *load = (next & 0xfffff) == 0x53503;        /* ld a0, n(a0) */
                if (*load || (next & 0xfffff) == 0x50513)   /* addi a0, a0, n */
                        return address + i + (uint64_t)(int64_t)(int32_t)(upper & ~0xfffu) +
                               (uint64_t)(int64_t)((int32_t)next >> 20);
        }
        return 0;
}

#endif
