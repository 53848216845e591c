/* SPDX-License-Identifier: MIT */
/*
 * registers.h -- the registers of a stopped thread and what functions do with them, by DWARF's
 * numbers.
 *
 * FREEZE_REGISTERS      general registers, from number 0 on; as many as
 *                       profile/machine.h has names for
 * ARCH_STACK_REGISTER   the stack pointer, among them or behind them
 * ARCH_PC_REGISTER      the program counter; 0: it has no number
 * ARCH_KEPT             those that a function must leave as they were
 * ARCH_RED_ZONE         bytes below the stack pointer that a function may use
 * ARCH_DTV_AT           from the thread pointer to the word that tells where the table of
 *                       thread-local storage is: glibc's, and musl's
 * ARCH_HIGHEST          where programs have their last page
 * ARCH_THREAD_BELOW     1: what the C library keeps of a thread lies below the thread pointer
 */
#ifndef SEEP_ATTACH_ARCH_REGISTERS_H
#define SEEP_ATTACH_ARCH_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__LP64__)
#define FREEZE_REGISTERS 16u /* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
#define ARCH_STACK_REGISTER 7u
#define ARCH_PC_REGISTER 16u
#define ARCH_KEPT { 3, 6, 12, 13, 14, 15 } /* rbx rbp r12-r15 */
#define ARCH_RED_ZONE 128u
#define ARCH_DTV_AT 8 /* thread-local storage lies below the thread pointer */
#define ARCH_DTV_AT_MUSL 8
#elif defined(__i386__)
#define FREEZE_REGISTERS 8u /* eax ecx edx ebx esp ebp esi edi */
#define ARCH_STACK_REGISTER 4u
#define ARCH_PC_REGISTER 8u
#define ARCH_KEPT { 3, 5, 6, 7 } /* ebx ebp esi edi */
#define ARCH_RED_ZONE 0u
#define ARCH_DTV_AT 4 /* thread-local storage lies below the thread pointer */
#define ARCH_DTV_AT_MUSL 4
#elif defined(__aarch64__) && defined(__LP64__)
#define FREEZE_REGISTERS 31u /* x0 ... x30 */
#define ARCH_STACK_REGISTER 31u
#define ARCH_PC_REGISTER 0u
#define ARCH_KEPT { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 }
#define ARCH_RED_ZONE 0u
#define ARCH_DTV_AT 0 /* thread-local storage lies above the thread pointer */
#define ARCH_DTV_AT_MUSL (-8)
#define ARCH_THREAD_BELOW 1
#define ARCH_HIGHEST 0xfffffffff000ull
#elif defined(__arm__)
#define FREEZE_REGISTERS 15u /* r0 ... r12, sp, lr */
#define ARCH_STACK_REGISTER 13u
#define ARCH_PC_REGISTER 15u
#define ARCH_KEPT { 4, 5, 6, 7, 8, 9, 10, 11 }
#define ARCH_RED_ZONE 0u
#define ARCH_DTV_AT 0
#define ARCH_DTV_AT_MUSL (-4)
#elif defined(__riscv) && __riscv_xlen == 64
#define FREEZE_REGISTERS 32u /* x0 (always 0) ... x31 */
#define ARCH_STACK_REGISTER 2u
#define ARCH_PC_REGISTER 0u
#define ARCH_KEPT { 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27 }
#define ARCH_RED_ZONE 0u
#define ARCH_DTV_AT (-16)
#define ARCH_DTV_AT_MUSL (-8)
#elif defined(__s390x__)
#define FREEZE_REGISTERS 16u /* r0 ... r15 */
#define ARCH_STACK_REGISTER 15u
#define ARCH_PC_REGISTER 0u
#define ARCH_KEPT { 6, 7, 8, 9, 10, 11, 12, 13 }
#define ARCH_RED_ZONE 0u
#define ARCH_DTV_AT 8
#define ARCH_DTV_AT_MUSL 8
#elif defined(__powerpc__) && !defined(__powerpc64__)
#define FREEZE_REGISTERS 32u /* r0 ... r31 */
#define ARCH_STACK_REGISTER 1u
#define ARCH_PC_REGISTER 0u
#define ARCH_KEPT { 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 }
#define ARCH_RED_ZONE 0u
#define ARCH_DTV_AT (-4)
#define ARCH_DTV_AT_MUSL (-4)
#else
#error "no port for this processor yet: see docs/PORTING.md"
#endif

#ifndef ARCH_THREAD_BELOW
#define ARCH_THREAD_BELOW 0
#define ARCH_HIGHEST 0x7ffffffff000ull
#endif

/* What is above, as a value: of our own kind, or (NARROW) of programs with words of 4 bytes that
 * the same kernel runs.  (Of those that an emulator runs nobody sees the registers.) */
struct freeze_kind {
        uint32_t registers, stack, pc;
        uint32_t red_zone;
        int32_t dtv, dtv_musl;
        uint32_t kept_count;
        uint8_t kept[18];
};

static inline const struct freeze_kind *freeze_kind(bool narrow)
{
        static const uint8_t kept[] = ARCH_KEPT;
        static const struct freeze_kind own = {
                FREEZE_REGISTERS, ARCH_STACK_REGISTER, ARCH_PC_REGISTER, ARCH_RED_ZONE, ARCH_DTV_AT,
                ARCH_DTV_AT_MUSL, sizeof kept, ARCH_KEPT
        };
#if defined(__x86_64__)
        static const struct freeze_kind i386 = { 8, 4, 8, 0, 4, 4, 4, { 3, 5, 6, 7 } };

        if (narrow)
                return &i386;
#endif
        (void)narrow;
        return &own;
}

/* 64-bit parts of vector registers: whole ones first, then whatever makes them wider. */
#define FREEZE_VECTORS 256u

/* A thread that stands still. */
struct freeze_thread {
        uint32_t tid;
        bool stopped;  /* false: it could not be stopped in time (vfork); sp and pc are what
                        * the kernel tells, 0 unknown */
        uint64_t pc, sp, base; /* base: the frame pointer */
        uint64_t tp;           /* thread pointer; 0 unknown */
        uint64_t registers[FREEZE_REGISTERS]; /* by DWARF's numbers; 0 unless stopped */
        uint64_t vectors[FREEZE_VECTORS];
};

#endif
