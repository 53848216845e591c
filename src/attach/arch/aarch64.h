/* SPDX-License-Identifier: MIT */
/*
 * aarch64.h -- the port to 64-bit ARM Linux, little endian.
 *
 * A call that our stop cut short with EINTR cannot be made again: its first argument is gone from
 * the registers (the kernel still tells it in /proc/TID/syscall).
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
#include "attach/arch/one_size.h"
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

struct arch_registers {
        struct user_regs_struct r;
        uint64_t tp;
        int32_t call; /* the system call that it is in; -1 none */
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
        if (v.iov_len != sizeof to->r)
                errno = ENOEXEC;
        else if (!arch_set(tid, NT_ARM_TLS, &to->tp, sizeof to->tp) ||
                 !arch_set(tid, NT_ARM_SYSTEM_CALL, &to->call, sizeof to->call))
                return false;
        return errno == 0;
}

static inline bool arch_write(pid_t tid, const struct arch_registers *from)
{
        struct arch_registers copy = *from;
        struct iovec v = { &copy.r, sizeof copy.r }, call = { &copy.call, sizeof copy.call };

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

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        uint8_t state[sizeof(struct user_fpsimd_struct)];
        struct iovec v = { state, sizeof state };

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

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r.pc = at;
        to->call = -1;
        to->r.regs[8] = (unsigned long long)call->number;
        for (int i = 0; i < 6; i++)
                to->r.regs[i] = call->arguments[i];
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
        return from->r.sp;
}

static inline long arch_result(const struct arch_registers *from)
{
        return (long)from->r.regs[0];
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
