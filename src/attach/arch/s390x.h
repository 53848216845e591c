/* SPDX-License-Identifier: MIT */
/* s390x.h -- the port to 64-bit S/390 Linux, big endian.  Compiled by the lint, not run yet. */
#ifndef SEEP_ATTACH_ARCH_S390X_H
#define SEEP_ATTACH_ARCH_S390X_H

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

#define ARCH_CALL "\x0a\x00" /* svc 0: the number is in r1 */
#define ARCH_CALL_BYTES 2u
#define ARCH_TRAP "\x00\x01"
#define ARCH_TRAP_BYTES 2u
#define ARCH_TRAP_PAST 2u
#define ARCH_KERNEL_DECIDES 0
#define ARCH_ERESTARTNOINTR 513
#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_CLONE_WORDS(flags) { 0, flags } /* the stack comes first */
#define ARCH_VECTOR_NOTE NT_S390_VXRS_HIGH
#define ARCH_HIGH_BYTES 256u /* v16 to v31; the others share their upper halves with f0 to f15 */

struct arch_registers {
        struct { /* as the kernel has them in NT_PRSTATUS */
                uint64_t mask, pc, general[16];
                uint32_t access[16];
                uint64_t first; /* argument of the system call that it is in */
        } r;
        uint32_t call; /* its number; 0 none */
};

static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { &to->r, sizeof to->r }, call = { &to->call, sizeof to->call };

        errno = 0;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
                return false;
        if (v.iov_len != sizeof to->r)
                errno = ENOEXEC;
        else if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_S390_SYSTEM_CALL, &call) != 0)
                return false;
        return errno == 0;
}

static inline bool arch_write(pid_t tid, const struct arch_registers *from)
{
        struct arch_registers copy = *from;
        struct iovec v = { &copy.r, sizeof copy.r }, call = { &copy.call, sizeof copy.call };

        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0 &&
               ptrace(PTRACE_SETREGSET, tid, (void *)NT_S390_SYSTEM_CALL, &call) == 0;
}

static inline uint64_t arch_thread_pointer_in(const struct arch_registers *from)
{
        return (uint64_t)from->r.access[0] << 32 | from->r.access[1];
}

/* ---- for readers ---- */

static inline void arch_take_note(struct freeze_thread *t, const struct iovec *v)
{
        if (v->iov_len >= ARCH_HIGH_BYTES)
                memcpy(t->vectors + 2 * 16, v->iov_base, ARCH_HIGH_BYTES);
}

/* The lower sixteen: their upper halves are the floating-point registers, behind the word for
 * fpc. */
static inline void arch_read_vectors(struct freeze_thread *t)
{
        uint64_t high[ARCH_HIGH_BYTES / 8], low[16], floats[17];
        struct iovec v = { high, sizeof high }, l = { low, sizeof low }, f = { floats,
                                                                               sizeof floats };

        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_S390_VXRS_HIGH, &v) == 0)
                arch_take_note(t, &v);
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRFPREG, &f) == 0)
                for (int i = 0; i < 16; i++)
                        t->vectors[2 * i] = floats[1 + i];
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_S390_VXRS_LOW, &l) == 0)
                for (int i = 0; i < 16; i++)
                        t->vectors[2 * i + 1] = low[i];
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        _Static_assert(sizeof from->r.general == FREEZE_REGISTERS * 8, "all general registers");
        memcpy(t->registers, from->r.general, sizeof from->r.general);
        t->pc = from->r.pc;
        t->sp = from->r.general[15];
        t->base = from->r.general[11];
        t->tp = arch_thread_pointer_in(from);
        arch_read_vectors(t);
}

/* ---- what a signal interrupted ---- */

struct arch_context {
        ucontext_t of;
};

#define ARCH_CONTEXT_BYTES (offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t))
#define ARCH_STATE_BYTES 16u

static inline uint64_t arch_context_vectors(const struct arch_context *c)
{
        (void)c;
        return 0; /* the floating-point registers are in the context itself */
}

static inline void arch_describe_interrupted(struct freeze_thread *t, const struct arch_context *c,
                                             uint8_t *state, size_t count)
{
        (void)state, (void)count;
        memcpy(t->registers, c->of.uc_mcontext.gregs, FREEZE_REGISTERS * sizeof *t->registers);
        t->pc = c->of.uc_mcontext.psw.addr;
        t->sp = t->registers[15];
        t->base = t->registers[11];
        memset(t->vectors, 0, sizeof t->vectors);
        for (int i = 0; i < 16; i++)
                memcpy(&t->vectors[2 * i], &c->of.uc_mcontext.fpregs.fprs[i], sizeof t->vectors[0]);
}

/* ---- system calls ---- */

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return from->call != 0;
}

static inline long arch_interrupted(const struct arch_registers *from)
{
        return arch_is_in_call(from) && (long)from->r.general[2] == -EINTR ? (long)from->call : -1;
}

static inline void arch_again(struct arch_registers *to)
{
        to->r.general[2] = to->r.first;
        to->r.general[1] = to->call;
        to->r.pc -= ARCH_CALL_BYTES;
        to->call = 0;
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r.pc = pc;
        to->r.general[15] = stack;
        to->call = 0;
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r.pc = at;
        to->call = 0;
        to->r.general[1] = (uint64_t)call->number;
        for (int i = 0; i < 6; i++)
                to->r.general[2 + i] = call->arguments[i];
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return of->r.pc;
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        of->r.pc = pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->r.general[15];
}

static inline long arch_result(const struct arch_registers *from)
{
        return (long)from->r.general[2];
}

/* ---- code ---- */

/* larl %r2, X, or lgrl %r2, X; behind a front of a few instructions, if there is one. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        *load = false;
        for (size_t i = 0; i + 6 <= count;) {
                uint32_t halves = (uint32_t)code[i + 2] << 24 | (uint32_t)code[i + 3] << 16 |
                                  (uint32_t)code[i + 4] << 8 | code[i + 5];

                *load = code[i] == 0xc4 && code[i + 1] == 0x28;
                if (*load || (code[i] == 0xc0 && code[i + 1] == 0x20))
                        return address + i + 2 * (uint64_t)(int64_t)(int32_t)halves;
                i += code[i] < 0x40 ? 2 : code[i] < 0xc0 ? 4 : 6;
        }
        return 0;
}

#endif
