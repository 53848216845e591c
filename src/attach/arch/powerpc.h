/* SPDX-License-Identifier: MIT */
/* powerpc.h -- the port to 32-bit PowerPC Linux, big endian.  Compiled by the lint, not run yet. */
#ifndef SEEP_ATTACH_ARCH_POWERPC_H
#define SEEP_ATTACH_ARCH_POWERPC_H

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

#define ARCH_CALL "\x44\x00\x00\x02" /* sc */
#define ARCH_CALL_BYTES 4u
#define ARCH_TRAP "\x7f\xe0\x00\x08"
#define ARCH_TRAP_BYTES 4u
#define ARCH_TRAP_PAST 0u
#define ARCH_KERNEL_DECIDES 0
#define ARCH_ERESTARTNOINTR 513
#define ARCH_SYS_MMAP SYS_mmap2
#define ARCH_CLONE_WORDS(flags) { flags }
#define ARCH_VECTOR_NOTE NT_PRFPREG
#define ARCH_VECTOR_BYTES 256u /* f0 to f31; then fpscr */

enum {
        ARCH_SP = 1,
        ARCH_PC = 32,
        ARCH_FIRST = 34, /* argument of the system call that it is in */
        ARCH_CR = 38,
        ARCH_KIND = 40, /* of the way into the kernel */
        ARCH_WORDS = 48
};
#define ARCH_KIND_CALL 0xc00u
#define ARCH_CR_FAILED 0x10000000u

struct arch_registers {
        uint32_t r[ARCH_WORDS];
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

/* r2 points so far behind it that code reaches more of it. */
static inline uint64_t arch_thread_pointer_in(const struct arch_registers *from)
{
        return from->r[2] - 0x7000u;
}

/* ---- for readers ---- */

static inline void arch_take_note(struct freeze_thread *t, const struct iovec *v)
{
        memcpy(t->vectors, v->iov_base,
               v->iov_len < ARCH_VECTOR_BYTES ? v->iov_len : ARCH_VECTOR_BYTES);
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        uint8_t state[ARCH_VECTOR_BYTES + 8];
        struct iovec v = { state, sizeof state };

        for (uint32_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = from->r[i];
        t->pc = from->r[ARCH_PC];
        t->sp = from->r[ARCH_SP];
        t->base = from->r[31];
        t->tp = arch_thread_pointer_in(from);
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRFPREG, &v) == 0)
                arch_take_note(t, &v);
}

/* ---- what a signal interrupted ---- */

/* The kernel's, not the C library's, which has the registers elsewhere. */
struct arch_context {
        uint32_t head[48], registers[ARCH_WORDS];
        uint64_t floats[33];
};

#define ARCH_CONTEXT_BYTES sizeof(struct arch_context)
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
        for (uint32_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = c->registers[i];
        t->pc = c->registers[ARCH_PC];
        t->sp = c->registers[ARCH_SP];
        t->base = c->registers[31];
        memset(t->vectors, 0, sizeof t->vectors);
        memcpy(t->vectors, c->floats, ARCH_VECTOR_BYTES);
}

/* ---- system calls ---- */

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return (from->r[ARCH_KIND] & ~0xfu) == ARCH_KIND_CALL;
}

/* Its number is in r0. */
static inline long arch_interrupted(const struct arch_registers *from)
{
        return arch_is_in_call(from) && from->r[3] == EINTR && from->r[ARCH_CR] & ARCH_CR_FAILED
                       ? (long)from->r[0]
                       : -1;
}

static inline void arch_leave_call(struct arch_registers *to)
{
        to->r[ARCH_KIND] = 0;
}

static inline void arch_again(struct arch_registers *to)
{
        to->r[3] = to->r[ARCH_FIRST];
        to->r[ARCH_PC] -= ARCH_CALL_BYTES;
        arch_leave_call(to);
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r[ARCH_PC] = (uint32_t)pc;
        to->r[ARCH_SP] = (uint32_t)stack;
        arch_leave_call(to);
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r[ARCH_PC] = (uint32_t)at;
        arch_leave_call(to);
        to->r[0] = (uint32_t)call->number;
        for (int i = 0; i < 6; i++)
                to->r[3 + i] = (uint32_t)call->arguments[i];
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return of->r[ARCH_PC];
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        of->r[ARCH_PC] = (uint32_t)pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->r[ARCH_SP];
}

/* An error is a positive number, and a bit of the condition register. */
static inline long arch_result(const struct arch_registers *from)
{
        return from->r[ARCH_CR] & ARCH_CR_FAILED ? -(long)from->r[3] : (long)from->r[3];
}

/* ---- code ---- */

/* An address is built from where the code is, or from a table whose place it computes: in too many
 * ways to tell from a few instructions.  It is not known. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        (void)code, (void)count, (void)address;
        *load = false;
        return 0;
}

#endif
