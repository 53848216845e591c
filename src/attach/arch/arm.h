/* SPDX-License-Identifier: MIT */
/* arm.h -- the port to 32-bit ARM Linux (EABI), little endian.  Compiled by the lint, not run
 * yet. */
#ifndef SEEP_ATTACH_ARCH_ARM_H
#define SEEP_ATTACH_ARCH_ARM_H

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

#define ARCH_CALL "\x00\x00\x00\xef" /* svc 0, in ARM code */
#define ARCH_CALL_BYTES 4u
#define ARCH_TRAP "\xf0\x01\xf0\xe7"
#define ARCH_TRAP_BYTES 4u
#define ARCH_TRAP_PAST 0u
#define ARCH_KERNEL_DECIDES 0
#define ARCH_ERESTARTNOINTR 513
#define ARCH_SYS_MMAP SYS_mmap2
#define ARCH_CLONE_WORDS(flags) { flags }
#define ARCH_VECTOR_NOTE NT_ARM_VFP
#define ARCH_VECTOR_BYTES 256u /* d0 to d31; then fpscr */
#define ARCH_GET_THREAD_AREA 22
#define ARCH_THUMB (1ul << 5)

enum {
        ARCH_SP = 13,
        ARCH_PC = 15,
        ARCH_CPSR = 16,
        ARCH_FIRST = 17 /* argument of the system call that it is in */
};

struct arch_registers {
        struct user_regs r;
        uint32_t tp;
};

static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { &to->r, sizeof to->r };

        errno = 0;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
                return false;
        if (v.iov_len != sizeof to->r)
                errno = ENOEXEC;
        else if (ptrace((enum __ptrace_request)ARCH_GET_THREAD_AREA, tid, NULL, &to->tp) != 0)
                return false;
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
        memcpy(t->vectors, v->iov_base,
               v->iov_len < ARCH_VECTOR_BYTES ? v->iov_len : ARCH_VECTOR_BYTES);
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
        uint8_t state[ARCH_VECTOR_BYTES + 8];
        struct iovec v = { state, sizeof state };

        for (uint32_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = from->r.uregs[i];
        t->pc = from->r.uregs[ARCH_PC];
        t->sp = from->r.uregs[ARCH_SP];
        t->base = from->r.uregs[11];
        t->tp = from->tp;
        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_ARM_VFP, &v) == 0)
                arch_take_note(t, &v);
}

/* ---- what a signal interrupted ---- */

struct arch_context {
        ucontext_t of;
};

/* Behind it are records, of which the one with the vectors is found by its magic. */
#define ARCH_CONTEXT_BYTES \
        (offsetof(ucontext_t, uc_regspace) + sizeof(uint32_t[2]) + ARCH_VECTOR_BYTES)
#define ARCH_STATE_BYTES 16u
#define ARCH_VFP 0x56465001u

static inline uint64_t arch_context_vectors(const struct arch_context *c)
{
        (void)c;
        return 0; /* in the context itself */
}

static inline void arch_describe_interrupted(struct freeze_thread *t, const struct arch_context *c,
                                             uint8_t *state, size_t count)
{
        const uint8_t *more = (const uint8_t *)c->of.uc_regspace;
        uint32_t saved[FREEZE_REGISTERS + 1], magic;

        (void)state, (void)count;
        memcpy(saved, &c->of.uc_mcontext.arm_r0, sizeof saved);
        for (uint32_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = saved[i];
        t->pc = saved[ARCH_PC];
        t->sp = saved[ARCH_SP];
        t->base = saved[11];
        memset(t->vectors, 0, sizeof t->vectors);
        memcpy(&magic, more, sizeof magic);
        if (magic == ARCH_VFP)
                memcpy(t->vectors, more + sizeof(uint32_t[2]), ARCH_VECTOR_BYTES);
}

/* ---- system calls ---- */

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return from->r.uregs[ARCH_FIRST] != (unsigned long)-1;
}

/* Its number is in r7. */
static inline long arch_interrupted(const struct arch_registers *from)
{
        return arch_is_in_call(from) && (long)from->r.uregs[0] == -EINTR ? (long)from->r.uregs[7]
                                                                         : -1;
}

static inline void arch_again(struct arch_registers *to)
{
        to->r.uregs[0] = to->r.uregs[ARCH_FIRST];
        to->r.uregs[ARCH_PC] -= to->r.uregs[ARCH_CPSR] & ARCH_THUMB ? 2 : 4;
        to->r.uregs[ARCH_FIRST] = (unsigned long)-1;
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r.uregs[ARCH_PC] = (unsigned long)pc;
        to->r.uregs[ARCH_SP] = (unsigned long)stack;
        to->r.uregs[ARCH_FIRST] = (unsigned long)-1;
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r.uregs[ARCH_PC] = (unsigned long)at;
        to->r.uregs[ARCH_CPSR] &= ~ARCH_THUMB;
        to->r.uregs[ARCH_FIRST] = (unsigned long)-1;
        to->r.uregs[7] = (unsigned long)call->number;
        for (int i = 0; i < 6; i++)
                to->r.uregs[i] = (unsigned long)call->arguments[i];
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return of->r.uregs[ARCH_PC];
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        of->r.uregs[ARCH_PC] = (unsigned long)pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->r.uregs[ARCH_SP];
}

static inline long arch_result(const struct arch_registers *from)
{
        return (long)from->r.uregs[0];
}

/* ---- code ---- */

/* ARM and Thumb build an address in too many ways to tell from a few instructions: it is not
 * known. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        (void)code, (void)count, (void)address;
        *load = false;
        return 0;
}

#endif
