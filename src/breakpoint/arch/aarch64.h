/* SPDX-License-Identifier: MIT */
/*
 * aarch64.h -- breakpoints on 64-bit ARM Linux.
 *
 * A call leaves its return address in x30, so nothing on the stack says by itself whether a call is
 * still under way: the stack is unwound for that (walk_leads_to).
 */
#ifndef SEEP_BREAKPOINT_ARCH_AARCH64_H
#define SEEP_BREAKPOINT_ARCH_AARCH64_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "attach/arch/arch.h"
#include "attach/arch/moved_aarch64.h"
#include "breakpoint/move.h"

#define ARCH_NEAR (96ull << 20) /* of what a branch reaches, with the code between */
#define ARCH_RETURN_BYTES 0u

static inline uint64_t arch_parameter(const struct arch_registers *r, uint32_t number)
{
        return number < 8 ? r->r.regs[number] : 0;
}

static inline uint64_t arch_link(const struct arch_registers *r)
{
        return r->r.regs[30];
}

static inline void arch_return(struct arch_registers *r, uint64_t back)
{
        r->r.pc = back;
}

static inline bool arch_go(pid_t tid, struct arch_registers *r, uint64_t pc)
{
        struct iovec v = { &r->r, sizeof r->r };

        r->r.pc = pc;
        return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0;
}

/* All instructions are executed elsewhere. */
static inline bool arch_perform(pid_t tid, struct arch_registers *r, const struct move *m,
                                uint64_t at, int memory)
{
        (void)tid, (void)r, (void)m, (void)at, (void)memory;
        return false;
}

/* ---- call stacks ---- */

#define ARCH_WALK_REGISTERS 32
#define ARCH_WALK_BASE 29
#define ARCH_WALK_STACK 31
#define ARCH_WALK_RETURN 30
#define ARCH_WALK_KEPT { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 }
#define ARCH_FRAME_CHAIN 0 /* a frame record lies anywhere in its frame */

static inline void arch_walk_begin(uint64_t *to, const struct arch_registers *r)
{
        memcpy(to, r->r.regs, sizeof r->r.regs);
        to[ARCH_WALK_STACK] = r->r.sp;
}

/* Code lies below 2^48; a signature is above that. */
static inline uint64_t arch_code(uint64_t pc)
{
        return pc & 0xffffffffffffull;
}

/* mov x8, #139; svc #0 */
#define ARCH_SIGRETURN "\x68\x11\x80\xd2\x01\x00\x00\xd4"
#define ARCH_SIGRETURN_BYTES 8u

/* siginfo (128 bytes), ucontext, in that x0 at 184: then all others, sp and pc. */
#define ARCH_SIGNAL_SAVED 312u
#define ARCH_SIGNAL_ORDER                                                                       \
        { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,                       \
          16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 }
#define ARCH_SIGNAL_PC 32u

static inline bool arch_follows_call(const uint8_t code[8])
{
        (void)code;
        return false;
}

/* ---- calls ---- */

#define ARCH_CALL_MOST MOVED_BYTES
#define ARCH_STUB_MOST 16u

static inline uint64_t arch_callee(const uint8_t call[ARCH_CALL_MOST], uint64_t back,
                                   uint64_t *slot)
{
        uint64_t to = 0;
        uint32_t w;

        memcpy(&w, call, sizeof w);
        *slot = 0;
        return moved_is_call(w) && moved_target(w, back - MOVED_BYTES, &to) ? to : 0;
}

/* adrp x16, PAGE; ldr x17, [x16, #OFFSET]: behind bti, if there is one. */
static inline uint64_t arch_stub_slot(const uint8_t stub[ARCH_STUB_MOST], uint64_t at)
{
        uint32_t w[4];
        size_t i;
        int64_t pages;

        memcpy(w, stub, sizeof w);
        i = (w[0] & 0xffffff3fu) == 0xd503241fu;
        if ((w[i] & 0x9f00001fu) != 0x90000010u || (w[i + 1] & 0xffc003ffu) != 0xf9400211u)
                return 0;
        pages = moved_signed(w[i], 5, 19) * 4 + (w[i] >> 29 & 3);
        return ((at + 4 * i) & ~0xfffull) + (uint64_t)pages * 4096 + 8 * (w[i + 1] >> 10 & 0xfff);
}

#endif
