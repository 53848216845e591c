/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h -- the port to x86-64 Linux.
 *
 * Room:   outside; the tracer of the thread in question.
 */
#ifndef SEEP_ATTACH_ARCH_X86_64_H
#define SEEP_ATTACH_ARCH_X86_64_H

#include <cpuid.h>
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

#define ARCH_CALL "\x0f\x05"
#define ARCH_CALL_BYTES 2u
#define ARCH_TRAP "\xcc"
#define ARCH_TRAP_BYTES 1u
#define ARCH_TRAP_PAST 1u
#define ARCH_ERESTARTNOINTR 513 /* the kernel's own */
#define ARCH_ERESTARTNOHAND 514
#define ARCH_KERNEL_DECIDES 1
#define ARCH_SYS_MMAP SYS_mmap
#define ARCH_RED_ZONE 128u
#define ARCH_CLONE_WORDS(flags) { flags }
#define ARCH_VECTOR_NOTE NT_X86_XSTATE

struct arch_registers {
        struct user_regs_struct r;
};

static inline bool arch_read(pid_t tid, struct arch_registers *to)
{
        struct iovec v = { &to->r, sizeof to->r };

        errno = 0;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
                return false;
        if (v.iov_len == sizeof to->r)
                return true;
        if (ptrace(PTRACE_GETREGS, tid, NULL, &to->r) == 0)
                errno = ENOEXEC;
        return false;
}

/* The segment of 32-bit code. */
static inline bool arch_is_narrow(const struct arch_registers *of)
{
        return of->r.cs == 0x23;
}

static inline bool arch_write(pid_t tid, const struct arch_registers *from)
{
        struct arch_registers copy = *from;
        struct iovec v = { &copy.r, sizeof copy.r };

        if (arch_is_narrow(from))
                return ptrace(PTRACE_SETREGS, tid, NULL, &copy.r) == 0;
        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0;
}

static inline uint64_t arch_thread_pointer_in(const struct arch_registers *from)
{
        return arch_is_narrow(from) ? from->r.gs_base : from->r.fs_base;
}

/* ---- for readers ---- */

/* In DWARF's order. */
#define ARCH_REGISTERS(X)                                                                        \
        X(rax) X(rdx) X(rcx) X(rbx) X(rsi) X(rdi) X(rbp) X(rsp) X(r8) X(r9) X(r10) X(r11) X(r12) \
        X(r13) X(r14) X(r15)

#define ARCH_NARROW_REGISTERS(X) X(rax) X(rcx) X(rdx) X(rbx) X(rsp) X(rbp) X(rsi) X(rdi)

/* What XSAVE has where: the 16 xmm registers, the upper halves that make them ymm, the
 * upper halves of these that make them zmm, and 16 more.  A copy of memory in progress may
 * have words nowhere else. */
#define ARCH_STATE_BYTES 16384u
#define ARCH_XMM_AT 160u
#define ARCH_XMM_BYTES 256u
enum { ARCH_STATE_YMM = 2, ARCH_STATE_ZMM = 6, ARCH_STATE_ZMM_MORE = 7 };

struct arch_context {
        ucontext_t of; /* as far as the kernel's is the same */
};

/* That are needed. */
#define ARCH_CONTEXT_BYTES (offsetof(ucontext_t, uc_mcontext.fpregs) + sizeof(fpregset_t))

/* What the kernel adds to the state that FXSAVE saves, in it and behind it. */
#define ARCH_FXSAVE_BYTES 512u
#define ARCH_EXTENDED_AT 464u
#define ARCH_EXTENDED 0x46505853u
#define ARCH_SSE 1u

static inline size_t arch_take_state(uint64_t *to, size_t room, const uint8_t *state,
                                     const struct iovec *all, uint32_t component)
{
        unsigned bytes, at, c, d;

        __cpuid_count(13, component, bytes, at, c, d);
        if (!bytes || bytes > room || (size_t)at + bytes > all->iov_len)
                return 0;
        memcpy(to, state + at, bytes);
        return bytes;
}

/* The vector registers in a saved state of V->iov_len bytes; of those parts only whose bits are in
 * PARTS: others may be old. */
static inline void arch_take_vectors(struct freeze_thread *t, const struct iovec *v, uint64_t parts)
{
        static const uint32_t more[] = { ARCH_STATE_YMM, ARCH_STATE_ZMM, ARCH_STATE_ZMM_MORE };
        const uint8_t *state = v->iov_base;
        size_t used = ARCH_XMM_BYTES;

        if (parts >> ARCH_SSE & 1)
                memcpy(t->vectors, state + ARCH_XMM_AT, ARCH_XMM_BYTES);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
                if (parts >> more[i] & 1)
                        used += arch_take_state(t->vectors + used / 8, sizeof t->vectors - used,
                                                state, v, more[i]);
}

/* The same of what the note ARCH_VECTOR_NOTE of a core file has. */
static inline void arch_take_note(struct freeze_thread *t, const struct iovec *v)
{
        if (v->iov_len >= ARCH_XMM_AT + ARCH_XMM_BYTES)
                arch_take_vectors(t, v, UINT64_MAX);
}

static inline void arch_read_vectors(struct freeze_thread *t)
{
        uint8_t state[ARCH_STATE_BYTES];
        struct iovec v = { state, sizeof state };

        if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_X86_XSTATE, &v) != 0 ||
            v.iov_len < ARCH_XMM_AT + ARCH_XMM_BYTES) {
                v.iov_len = sizeof state;
                if (ptrace(PTRACE_GETREGSET, (pid_t)t->tid, (void *)NT_PRFPREG, &v) != 0 ||
                    v.iov_len < ARCH_XMM_AT + ARCH_XMM_BYTES)
                        return;
        }
        arch_take_vectors(t, &v, UINT64_MAX);
}

/* ---- what a signal interrupted ---- */

static inline uint64_t arch_context_vectors(const struct arch_context *c)
{
        return (uint64_t)c->of.uc_mcontext.fpregs;
}

/* How many of the COUNT bytes of STATE are a saved state, and which parts it has. */
static inline size_t arch_saved_bytes(const uint8_t *state, size_t count, uint64_t *parts)
{
        /* Magic, bytes with what the kernel adds, and twice the half of what there may be. */
        uint32_t extended[4];

        *parts = 1u << ARCH_SSE;
        if (count < ARCH_FXSAVE_BYTES)
                return 0;
        memcpy(extended, state + ARCH_EXTENDED_AT, sizeof extended);
        if (extended[0] != ARCH_EXTENDED || count < ARCH_FXSAVE_BYTES + sizeof *parts)
                return ARCH_FXSAVE_BYTES;
        memcpy(parts, state + ARCH_FXSAVE_BYTES, sizeof *parts);
        return extended[1] < count ? extended[1] : count;
}

/* STATE: COUNT bytes from arch_context_vectors() on, some of which may be anything. */
static inline void arch_describe_interrupted(struct freeze_thread *t, const struct arch_context *c,
                                             uint8_t *state, size_t count)
{
        static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP,
                                     REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
                                     REG_R14, REG_R15 };
        uint64_t parts;
        struct iovec v = { state, arch_saved_bytes(state, count, &parts) };

        for (size_t i = 0; i < FREEZE_REGISTERS; i++)
                t->registers[i] = (uint64_t)c->of.uc_mcontext.gregs[order[i]];
        t->pc = (uint64_t)c->of.uc_mcontext.gregs[REG_RIP];
        t->sp = (uint64_t)c->of.uc_mcontext.gregs[REG_RSP];
        t->base = (uint64_t)c->of.uc_mcontext.gregs[REG_RBP];
        memset(t->vectors, 0, sizeof t->vectors);
        if (v.iov_len)
                arch_take_vectors(t, &v, parts);
}

/* In the ucontext of i386 the words from 20 on are gs fs es ds edi esi ebp esp ebx edx ecx eax
 * trapno err eip.  What FXSAVE saved is not looked for. */
static inline void arch_describe_narrow(struct freeze_thread *t, const struct arch_context *c,
                                        size_t count)
{
        static const uint8_t order[] = { 11, 10, 9, 8, 7, 6, 5, 4 };
        uint32_t words[15];

        if (count < 20 + sizeof words)
                return;
        memcpy(words, (const uint8_t *)c + 20, sizeof words);
        memset(t->registers, 0, sizeof t->registers);
        memset(t->vectors, 0, sizeof t->vectors);
        for (size_t i = 0; i < sizeof order; i++)
                t->registers[i] = words[order[i]];
        t->pc = words[14];
        t->sp = t->registers[4];
        t->base = t->registers[5];
}

static inline void arch_describe(struct freeze_thread *t, const struct arch_registers *from)
{
#define ARCH_VALUE(name) from->r.name,
        const uint64_t values[] = { ARCH_REGISTERS(ARCH_VALUE) };
#undef ARCH_VALUE
#define ARCH_HALF(name) (uint32_t)from->r.name,
        const uint64_t halves[] = { ARCH_NARROW_REGISTERS(ARCH_HALF) };
#undef ARCH_HALF
        _Static_assert(sizeof values == FREEZE_REGISTERS * 8, "all general registers");
        memset(t->registers, 0, sizeof t->registers);
        if (arch_is_narrow(from))
                memcpy(t->registers, halves, sizeof halves);
        else
                memcpy(t->registers, values, sizeof values);
        t->pc = from->r.rip;
        t->sp = from->r.rsp;
        t->base = from->r.rbp;
        t->tp = arch_thread_pointer_in(from);
        arch_read_vectors(t);
}

/* ---- system calls ---- */

/* What the kernel gives for "interrupted, and not to be made again": see signal(7), where SIGSTOP
 * and SIGCONT are told of. */
static inline long arch_interrupted(const struct arch_registers *from)
{
        enum { NARROW_CLOSE = 6 };

        if (arch_is_narrow(from)) { /* its calls have other numbers: only close() matters */
                if ((int32_t)from->r.orig_rax < 0 || (int32_t)from->r.rax != -EINTR)
                        return -1;
                return (int32_t)from->r.orig_rax == NARROW_CLOSE ? SYS_close : SYS_read;
        }
        return (long)from->r.orig_rax >= 0 && (long)from->r.rax == -EINTR
                       ? (long)(uint32_t)from->r.orig_rax
                       : -1;
}

static inline bool arch_is_in_call(const struct arch_registers *from)
{
        return arch_is_narrow(from) ? (int32_t)from->r.orig_rax >= 0 : (long)from->r.orig_rax >= 0;
}

/* The kernel looks at this when the thread goes on, behind the signals that came until then. */
static inline void arch_again(struct arch_registers *to)
{
        to->r.rax = (unsigned long long)-ARCH_ERESTARTNOHAND;
}

/* The number of a call is an int; since Linux 5.14 the kernel drops the upper half of the register,
 * and keeps it with the call. */
static inline bool arch_keeps_marks(void)
{
        long result, number = 1l << 32 | SYS_gettid;

        __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
        return result > 0;
}

static inline uint32_t arch_mark(const struct arch_registers *from)
{
        return arch_is_narrow(from) ? 0 : (uint32_t)(from->r.orig_rax >> 32);
}

static inline void arch_set_mark(struct arch_registers *to, uint32_t mark)
{
        to->r.orig_rax = (uint32_t)to->r.orig_rax | (uint64_t)mark << 32;
}

static inline unsigned long long *arch_argument(struct arch_registers *of, uint32_t number)
{
        unsigned long long *const all[] = { &of->r.rdi, &of->r.rsi, &of->r.rdx,
                                            &of->r.r10, &of->r.r8,  &of->r.r9 };

        return all[number];
}

static inline void arch_give(struct arch_registers *to, long result)
{
        to->r.rax = (unsigned long long)result;
        to->r.orig_rax = (unsigned long long)-1;
}

/* Go on at the function PC, on an empty STACK (a multiple of 16), outside of any system call. */
static inline void arch_jump(struct arch_registers *to, uint64_t pc, uint64_t stack)
{
        to->r.rip = pc;
        to->r.rsp = stack - (arch_is_narrow(to) ? 4 : 8); /* as if called */
        to->r.eflags &= ~0x500ull; /* no direction, no trap */
        to->r.orig_rax = (unsigned long long)-1;
}

/* Its number for 32-bit code: those calls that are made for us.  -1: the kernel has none of it. */
static inline long arch_narrow_number(long number)
{
        switch (number) {
        case SYS_mmap: return 192; /* mmap2: its offset is in pages */
        case SYS_munmap: return 91;
        case SYS_mprotect: return 125;
        case SYS_madvise: return 219;
        case SYS_prctl: return 172;
        case SYS_clone: return 120;
        case SYS_wait4: return 114;
        case SYS_close_range: return 436;
        default: return -1;
        }
}

static inline void arch_prepare_narrow(struct arch_registers *to, const struct arch_call *call)
{
        to->r.rax = (unsigned long long)arch_narrow_number(call->number);
        to->r.rbx = (uint32_t)call->arguments[0];
        to->r.rcx = (uint32_t)call->arguments[1];
        to->r.rdx = (uint32_t)call->arguments[2];
        to->r.rsi = (uint32_t)call->arguments[3];
        to->r.rdi = (uint32_t)call->arguments[4];
        to->r.rbp = (uint32_t)call->arguments[5];
}

static inline void arch_prepare(struct arch_registers *to, uint64_t at,
                                const struct arch_call *call)
{
        to->r.rip = at;
        if (arch_is_narrow(to)) {
                to->r.orig_rax = (unsigned long long)-1;
                arch_prepare_narrow(to, call);
                return;
        }
        to->r.rax = (unsigned long long)call->number;
        to->r.orig_rax = (unsigned long long)-1;
        to->r.rdi = call->arguments[0];
        to->r.rsi = call->arguments[1];
        to->r.rdx = call->arguments[2];
        to->r.r10 = call->arguments[3];
        to->r.r8 = call->arguments[4];
        to->r.r9 = call->arguments[5];
}

/* 32-bit code makes them by another instruction, of as many bytes. */
static inline struct arch_instruction arch_call_of(const struct arch_registers *of)
{
        return (struct arch_instruction){ arch_is_narrow(of) ? "\xcd\x80" : ARCH_CALL,
                                          ARCH_CALL_BYTES, 1 };
}

static inline uint64_t arch_pc(const struct arch_registers *of)
{
        return of->r.rip;
}

static inline void arch_set_pc(struct arch_registers *of, uint64_t pc)
{
        of->r.rip = pc;
}

static inline uint64_t arch_stack(const struct arch_registers *from)
{
        return from->r.rsp;
}

/* Addresses above 2 GiB are no errors. */
static inline long arch_result(const struct arch_registers *from)
{
        int32_t half = (int32_t)from->r.rax;

        if (!arch_is_narrow(from))
                return (long)from->r.rax;
        return half < 0 && half > -4096 ? half : (long)(uint32_t)half;
}

/* ---- code ---- */

/* endbr64, push %rbp, mov %rsp,%rbp may come first; then lea X(%rip),%rax, mov
 * X(%rip),%rax or mov $X,%eax. */
static inline uint64_t arch_returned(const uint8_t *code, size_t count, uint64_t address,
                                     bool *load)
{
        static const struct {
                uint8_t bytes[4];
                uint32_t count;
        } fronts[] = { { { 0xf3, 0x0f, 0x1e, 0xfa }, 4 },
                       { { 0x55 }, 1 },
                       { { 0x48, 0x89, 0xe5 }, 3 } };
        uint32_t at = 0;
        int32_t value;

        *load = false;
        if (count < 16)
                return 0;
        for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
                if (memcmp(code + at, fronts[i].bytes, fronts[i].count) == 0)
                        at += fronts[i].count;
        if (code[at] == 0x48 && (code[at + 1] == 0x8d || code[at + 1] == 0x8b) &&
            code[at + 2] == 0x05) {
                *load = code[at + 1] == 0x8b;
                memcpy(&value, code + at + 3, sizeof value);
                return address + at + 7 + (uint64_t)(int64_t)value;
        }
        if (code[at] == 0xb8 ||
            (code[at] == 0x48 && code[at + 1] == 0xc7 && code[at + 2] == 0xc0)) {
                memcpy(&value, code + at + (code[at] == 0xb8 ? 1 : 3), sizeof value);
                return (uint64_t)(uint32_t)value;
        }
        return 0;
}

#endif
