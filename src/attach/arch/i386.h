/* SPDX-License-Identifier: MIT */
/* i386.h -- the port to 32-bit x86 Linux.  Compiled by the lint, not run yet: the seep of x86-64
 * holds its programs. */
#ifndef SEEP_ATTACH_ARCH_I386_H
#define SEEP_ATTACH_ARCH_I386_H

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

#define ARCH_CALL "\xcd\x80"
#define ARCH_CALL_BYTES 2u
#define ARCH_TRAP "\xcc"
#define ARCH_TRAP_BYTES 1u
#define ARCH_TRAP_PAST 1u
#define ARCH_ERESTARTNOINTR 513 /* the kernel's own */
#define ARCH_ERESTARTNOHAND 514
#define ARCH_KERNEL_DECIDES 1
#define ARCH_SYS_MMAP SYS_mmap2
#define ARCH_CLONE_WORDS(flags) { flags }
#define ARCH_VECTOR_NOTE NT_X86_XSTATE

/* What FXSAVE has where: eight xmm registers. */
#define ARCH_XMM_AT 160u
#define ARCH_XMM_BYTES 128u
#define ARCH_STATE_BYTES 512u
#define ARCH_FXSAVE_AT 112u /* in the frame of a signal, behind what FSAVE has */

#ifndef PTRACE_GET_THREAD_AREA
#define PTRACE_GET_THREAD_AREA 25
#endif

struct arch_registers {
        struct user_regs_struct r;
        uint32_t tp;
};

/* The thread pointer is the base of a segment that gs selects. */
static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { &to->r, sizeof to->r };
        uint32_t area[4] = { 0 }; /* number, base, limit, flags */

        errno = 0;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
                return false;
        if (v.iov_len != sizeof to->r)
                errno = ENOEXEC;
        else if (ptrace((enum __ptrace_request)PTRACE_GET_THREAD_AREA, tid,
                        (void *)(uintptr_t)((uint32_t)to->r.xgs >> 3), area) == 0)
                to->tp = area[1];
        else
                to->tp = 0;
        if (errno != ENOEXEC)
                errno = 0;
        return errno == 0;
}

static inline bool arch_write(pid_t tid, const struct arch_registers *from)
{
        struct arch_registers copy = *from;
        struct iovec v = { &copy.r, sizeof copy.r };

        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0;
}

static inline uint64_t arch_thread_pointer_in(const struct arch_registers *from)
{
        return from->tp;
}

/* ---- for readers ---- */

static inline void arch_take_note(struct freeze_thread *t, const struct iovec *v)
{
        if (v->iov_len >= ARCH_XMM_AT + ARCH_XMM_BYTES)
                memcpy(t->vectors, (const uint8_t *)v->iov_base + ARCH_XMM_AT, ARCH_XMM_BYTES);
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        const struct user_regs_struct *r = &from->r;
        const long values[] = { r->eax, r->ecx, r->edx, r->ebx, r->esp, r->ebp, r->esi, r->edi };
        uint8_t state[4096];
        struct iovec v = { state, sizeof state };

        _Static_assert(sizeof values / sizeof *values == FREEZE_REGISTERS, "all of them");
        for (uint32_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = (uint32_t)values[i];
        t->pc = (uint32_t)r->eip;
        t->sp = (uint32_t)r->esp;
        t->base = (uint32_t)r->ebp;
        t->tp = from->tp;
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_X86_XSTATE, &v) == 0)
                arch_take_note(t, &v);
}

/* ---- what a signal interrupted ---- */

struct arch_context {
        ucontext_t of; /* as far as the kernel's is the same */
};

#define ARCH_CONTEXT_BYTES (offsetof(ucontext_t, uc_mcontext.fpregs) + sizeof(fpregset_t))

static inline uint64_t arch_context_vectors(const struct arch_context *c)
{
        return (uintptr_t)c->of.uc_mcontext.fpregs + ARCH_FXSAVE_AT;
}

static inline void arch_describe_interrupted(struct freeze_thread *t, const struct arch_context *c,
                                             uint8_t *state, size_t count)
{
        static const int order[] = { REG_EAX, REG_ECX, REG_EDX, REG_EBX,
                                     REG_ESP, REG_EBP, REG_ESI, REG_EDI };
        const struct iovec v = { state, count };

        for (size_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = (uint32_t)c->of.uc_mcontext.gregs[order[i]];
        t->pc = (uint32_t)c->of.uc_mcontext.gregs[REG_EIP];
        t->sp = (uint32_t)c->of.uc_mcontext.gregs[REG_ESP];
        t->base = (uint32_t)c->of.uc_mcontext.gregs[REG_EBP];
        memset(t->vectors, 0, sizeof t->vectors);
        arch_take_note(t, &v);
}

/* ---- system calls ---- */

static inline long arch_interrupted(const struct arch_registers *from)
{
        return from->r.orig_eax >= 0 && from->r.eax == -EINTR ? from->r.orig_eax : -1;
}

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return from->r.orig_eax >= 0;
}

/* As that of x86-64. */
static inline void arch_again(struct arch_registers *to)
{
        to->r.eax = -ARCH_ERESTARTNOHAND;
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r.eip = (long)pc;
        to->r.esp = (long)stack - 4; /* as if called */
        to->r.eflags &= ~0x500l; /* no direction, no trap */
        to->r.orig_eax = -1;
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r.eip = (long)at;
        to->r.eax = call->number;
        to->r.orig_eax = -1;
        to->r.ebx = (long)call->arguments[0];
        to->r.ecx = (long)call->arguments[1];
        to->r.edx = (long)call->arguments[2];
        to->r.esi = (long)call->arguments[3];
        to->r.edi = (long)call->arguments[4];
        to->r.ebp = (long)call->arguments[5];
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return (uint32_t)of->r.eip;
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        of->r.eip = (long)pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return (uint32_t)from->r.esp;
}

static inline long arch_result(const struct arch_registers *from)
{
        return from->r.eax;
}

/* ---- code ---- */

/* Code that may lie anywhere finds its data by a call: it is not known. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        (void)code, (void)count, (void)address;
        *load = false;
        return 0;
}

#endif
