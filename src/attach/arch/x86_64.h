/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h -- the port to x86-64 Linux.
 *
 * Room:   outside; the tracer of the thread in question.
 */
#ifndef SEEP_ATTACH_ARCH_X86_64_H
#define SEEP_ATTACH_ARCH_X86_64_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "attach/arch/call.h"
#include "attach/freeze.h"

#define ARCH_CALL "\x0f\x05"
#define ARCH_CALL_BYTES 2u
#define ARCH_ERESTARTNOINTR 513 /* the kernel's own */

struct arch_registers {
        struct user_regs_struct r;
};

static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { &to->r, sizeof to->r };

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
        struct iovec v = { &copy.r, sizeof copy.r };

        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0;
}

/* ---- for readers ---- */

#define ARCH_REGISTERS(X) \
        X(rax) X(rbx) X(rcx) X(rdx) X(rsi) X(rdi) X(rbp) X(rsp) X(r8) X(r9) X(r10) X(r11) X(r12) X(r13) X(r14) X(r15)

#define ARCH_NAME(name) #name,
static const char *const arch_register_names[] = { ARCH_REGISTERS(ARCH_NAME) };
#undef ARCH_NAME
_Static_assert(sizeof arch_register_names / sizeof *arch_register_names == FREEZE_REGISTERS, "one name per register");

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
#define ARCH_VALUE(name) from->r.name,
        const uint64_t values[] = { ARCH_REGISTERS(ARCH_VALUE) };
#undef ARCH_VALUE
        struct user_fpregs_struct vectors;
        struct iovec v = { &vectors, sizeof vectors };

        memcpy(t->registers, values, sizeof values);
        t->pc = from->r.rip;
        t->sp = from->r.rsp;
        t->base = from->r.rbp;
        t->tp = from->r.fs_base;
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRFPREG, &v) == 0)
                memcpy(t->vectors, vectors.xmm_space, sizeof vectors.xmm_space);
        _Static_assert(sizeof vectors.xmm_space == sizeof t->vectors, "sixteen vectors of two halves");
}

/* ---- system calls ---- */

/* What the kernel gives for "interrupted, and not to be made again": see signal(7), where SIGSTOP and SIGCONT are told of. */
static inline long arch_interrupted(const struct arch_registers *from)
{
        return (long)from->r.orig_rax >= 0 && (long)from->r.rax == -EINTR ? (long)from->r.orig_rax : -1;
}

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return (long)from->r.orig_rax >= 0;
}

static inline void arch_again(struct arch_registers *to)
{
        to->r.rax = to->r.orig_rax;
        to->r.rip -= ARCH_CALL_BYTES;
        to->r.orig_rax = (unsigned long long)-1;
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at, const struct arch_call *call)
{
        to->r.rip = at;
        to->r.rax = (unsigned long long)call->number;
        to->r.orig_rax = (unsigned long long)-1;
        to->r.rdi = call->arguments[0];
        to->r.rsi = call->arguments[1];
        to->r.rdx = call->arguments[2];
        to->r.r10 = call->arguments[3];
        to->r.r8 = call->arguments[4];
}

static inline uint64_t *arch_pc(struct arch_registers *of)
{
        _Static_assert(sizeof of->r.rip == sizeof(uint64_t), "the same word");
        return (uint64_t *)&of->r.rip;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->r.rsp;
}

static inline long arch_result(const struct arch_registers *from)
{
        return (long)from->r.rax;
}

#endif
