/* SPDX-License-Identifier: MIT */
/* x86_64.h -- breakpoints on x86-64 Linux. */
#ifndef SEEP_BREAKPOINT_ARCH_X86_64_H
#define SEEP_BREAKPOINT_ARCH_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "breakpoint/move.h"

#define ARCH_NEAR (1ull << 30) /* of what a relative operand reaches, the half */
#define ARCH_RETURN_BYTES 8u

static inline uint64_t arch_parameter(const struct arch_registers *r, uint32_t number)
{
        const uint64_t all[] = { r->r.rdi, r->r.rsi, r->r.rdx, r->r.rcx, r->r.r8, r->r.r9 };

        return number < sizeof all / sizeof *all ? all[number] : 0;
}

static inline uint64_t arch_link(const struct arch_registers *r)
{
        (void)r;
        return 0;
}

static inline void arch_return(struct arch_registers *r, uint64_t back)
{
        r->r.rip = back;
        r->r.rsp += ARCH_RETURN_BYTES;
}

static inline bool arch_go(pid_t tid, struct arch_registers *r, uint64_t pc)
{
        r->r.rip = pc;
        return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rip), pc) == 0;
}

static inline bool arch_push(pid_t tid, struct arch_registers *r, uint64_t word, int memory)
{
        uint64_t sp = r->r.rsp - sizeof word;

        r->r.rsp = sp;
        return pwrite(memory, &word, sizeof word, (off_t)sp) == (ssize_t)sizeof word &&
               ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rsp), sp) == 0;
}

static inline bool arch_perform(pid_t tid, struct arch_registers *r, const struct move *m,
                                uint64_t at, int memory)
{
        uint64_t next = at + m->length;

        switch (m->how) {
        case MOVE_JUMP: return arch_go(tid, r, m->to);
        case MOVE_BRANCH:
                return arch_go(tid, r, move_holds(m->condition, r->r.eflags) ? m->to : next);
        case MOVE_CALL: return arch_push(tid, r, next, memory) && arch_go(tid, r, m->to);
        default: return false;
        }
}

/* ---- call stacks ---- */

#define ARCH_WALK_REGISTERS 17
#define ARCH_WALK_BASE 6
#define ARCH_WALK_STACK 7
#define ARCH_WALK_RETURN 16
#define ARCH_WALK_KEPT { 3, 6, 12, 13, 14, 15 } /* rbx rbp r12 r13 r14 r15 */
#define ARCH_FRAME_CHAIN 1

static inline void arch_walk_begin(uint64_t *to, const struct arch_registers *r)
{
#define ARCH_VALUE(name) r->r.name,
        const uint64_t values[] = { ARCH_REGISTERS(ARCH_VALUE) r->r.rip };
#undef ARCH_VALUE
        _Static_assert(sizeof values == ARCH_WALK_REGISTERS * 8, "all of them");
        memcpy(to, values, sizeof values);
}

static inline uint64_t arch_code(uint64_t pc)
{
        return pc;
}

/* mov $15,%rax; syscall */
#define ARCH_SIGRETURN "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
#define ARCH_SIGRETURN_BYTES 9u

/* ucontext: two words, a stack of three; r8 ... r15, rdi rsi rbp rbx rdx rax rcx rsp rip. */
#define ARCH_SIGNAL_SAVED 40u
#define ARCH_SIGNAL_ORDER { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 }
#define ARCH_SIGNAL_PC 16u

static inline bool arch_follows_call(const uint8_t code[8])
{
        if (code[3] == 0xe8)
                return true;
        for (uint32_t i = 1; i < 7; i++) /* call *X: its second byte has 2 in the middle */
                if (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2)
                        return true;
        return false;
}

/* ---- calls ---- */

#define ARCH_CALL_MOST 6u
#define ARCH_STUB_MOST 16u

static inline uint64_t arch_callee(const uint8_t call[ARCH_CALL_MOST], uint64_t back,
                                   uint64_t *slot)
{
        int32_t distance;
        uint64_t at;

        memcpy(&distance, call + 2, sizeof distance);
        at = back + (uint64_t)(int64_t)distance;
        *slot = call[0] == 0xff && call[1] == 0x15 ? at : 0; /* call *X(%rip) */
        return call[1] == 0xe8 && !*slot ? at : 0;
}

static inline uint64_t arch_stub_slot(const uint8_t stub[ARCH_STUB_MOST], uint64_t at)
{
        uint32_t skip = stub[0] == 0xf3 && stub[1] == 0x0f ? 4 : 0; /* endbr64 */
        int32_t distance;

        skip += stub[skip] == 0xf2;                       /* bnd */
        if (stub[skip] != 0xff || stub[skip + 1] != 0x25) /* jmp *X(%rip) */
                return 0;
        memcpy(&distance, stub + skip + 2, sizeof distance);
        return at + skip + 6 + (uint64_t)(int64_t)distance;
}

#endif
