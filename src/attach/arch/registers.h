/* SPDX-License-Identifier: MIT */
/*
 * registers.h -- the registers of a stopped thread and what functions do with them, by DWARF's
 * numbers.
 *
 * FREEZE_NARROW_MACHINE programs with words of 4 bytes that its kernel may run, too
 * FREEZE_REGISTERS      general registers of this processor, from number 0 on
 * ARCH_RED_ZONE         bytes below the stack pointer that a function may use
 * ARCH_HIGHEST          where programs have their last page
 * ARCH_THREAD_BELOW     1: what the C library keeps of a thread lies below the thread pointer
 *
 * struct freeze_kind has the same of every processor: a process may be another machine's, or gone
 * and in a core file.
 */
#ifndef SEEP_ATTACH_ARCH_REGISTERS_H
#define SEEP_ATTACH_ARCH_REGISTERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__LP64__)
#define FREEZE_MACHINE EM_X86_64
#define FREEZE_NARROW_MACHINE EM_386
#define FREEZE_REGISTERS 16u /* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
#define ARCH_RED_ZONE 128u
#elif defined(__i386__)
#define FREEZE_MACHINE EM_386
#define FREEZE_REGISTERS 8u /* eax ecx edx ebx esp ebp esi edi */
#define ARCH_RED_ZONE 0u
#elif defined(__aarch64__) && defined(__LP64__)
#define FREEZE_MACHINE EM_AARCH64
#define FREEZE_NARROW_MACHINE EM_ARM
#define FREEZE_REGISTERS 31u /* x0 ... x30 */
#define ARCH_RED_ZONE 0u
#define ARCH_THREAD_BELOW 1
#define ARCH_HIGHEST 0xfffffffff000ull
#elif defined(__arm__)
#define FREEZE_MACHINE EM_ARM
#define FREEZE_REGISTERS 15u /* r0 ... r12, sp, lr */
#define ARCH_RED_ZONE 0u
#elif defined(__riscv) && __riscv_xlen == 64
#define FREEZE_MACHINE EM_RISCV
#define FREEZE_REGISTERS 32u /* x0 (always 0) ... x31 */
#define ARCH_RED_ZONE 0u
#elif defined(__s390x__)
#define FREEZE_MACHINE EM_S390
#define FREEZE_REGISTERS 16u /* r0 ... r15 */
#define ARCH_RED_ZONE 0u
#elif defined(__powerpc__) && !defined(__powerpc64__)
#define FREEZE_MACHINE EM_PPC
#define FREEZE_REGISTERS 32u /* r0 ... r31 */
#define ARCH_RED_ZONE 0u
#else
#error "no port for this processor yet: see docs/PORTING.md"
#endif

#ifndef FREEZE_NARROW_MACHINE
#define FREEZE_NARROW_MACHINE EM_NONE
#endif

#ifndef ARCH_THREAD_BELOW
#define ARCH_THREAD_BELOW 0
#define ARCH_HIGHEST 0x7ffffffff000ull
#endif

#define FREEZE_REGISTERS_MOST 32u
#define FREEZE_STATUS_MOST 48u
#define FREEZE_IN_NOTE 0xffu /* not among the words of a status: a note of its own has it */

/* Where NT_PRSTATUS of a core file has what is asked of a thread: words, from pr_reg on. */
struct freeze_status {
        uint8_t words, pc, sp, base, tp;
        uint16_t tp_note;     /* 0: it is nowhere */
        const uint8_t *order; /* where general register I is; NULL: at I */
        bool narrow;          /* words of 4 bytes */
        bool high_first;      /* the other byte order than most */
        uint16_t tp_above;    /* bytes that the register is above the thread pointer */
};

struct freeze_kind {
        uint16_t machine;
        uint8_t registers; /* general ones; as many as profile/machine.h has names for */
        uint8_t stack;     /* the stack pointer, among them or behind them */
        uint8_t pc;        /* the program counter; 0: it has no number */
        bool tls_above;    /* thread-local storage lies above the thread pointer, which a head of
                            * two words lies at */
        int8_t dtv, dtv_musl; /* from the thread pointer to the word that tells where the table of
                               * thread-local storage is: glibc's, and musl's */
        struct freeze_status status; /* where words lie in it; .words 0: not known */
        uint8_t kept_count;
        uint8_t kept[18]; /* those that a function must leave as they were */
};

/* MACHINE: its e_machine. */
static inline const struct freeze_kind *freeze_kind_of(uint16_t machine)
{
        static const uint8_t order_x86_64[] = { 10, 12, 11, 5, 13, 14, 4, 19,
                                                9,  8,  7,  6, 3,  2,  1, 0 };
        static const uint8_t order_386[] = { 6, 1, 2, 0, 15, 5, 3, 4 };
        static const uint8_t order_s390[] = { 2,  3,  4,  5,  6,  7,  8,  9,
                                              10, 11, 12, 13, 14, 15, 16, 17 };
        static const struct freeze_kind kinds[] = {
                { EM_X86_64, 16, 7, 16, false, 8, 8,
                  { 27, 16, 19, 4, 21, 0, order_x86_64, false, false, 0 },
                  6, { 3, 6, 12, 13, 14, 15 } }, /* rbx rbp r12-r15 */
                { EM_386, 8, 4, 8, false, 4, 4,
                  { 17, 12, 15, 5, FREEZE_IN_NOTE, NT_386_TLS, order_386, true, false, 0 },
                  4, { 3, 5, 6, 7 } }, /* ebx ebp esi edi */
                { EM_AARCH64, 31, 31, 0, true, 0, -8,
                  { 34, 32, 31, 29, FREEZE_IN_NOTE, NT_ARM_TLS, NULL, false, false, 0 },
                  11, { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 } },
                { EM_ARM, 15, 13, 15, true, 0, -4,
                  { 18, 15, 13, 11, FREEZE_IN_NOTE, 0, NULL, true, false, 0 },
                  8, { 4, 5, 6, 7, 8, 9, 10, 11 } },
                { EM_RISCV, 32, 2, 0, true, -16, -8, { 32, 0, 2, 8, 4, 0, NULL, false, false, 0 },
                  12, { 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27 } },
                { EM_S390, 16, 15, 0, false, 8, 8,
                  { 27, 1, 17, 13, 18, 0, order_s390, false, true, 0 },
                  8, { 6, 7, 8, 9, 10, 11, 12, 13 } },
                { EM_PPC, 32, 1, 0, true, -4, -4,
                  { 48, 32, 1, 31, 2, 0, NULL, true, true, 0x7000 },
                  18, { 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 } },
        };
        static const struct freeze_kind unknown = { 0 };

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if (kinds[i].machine == machine)
                        return &kinds[i];
        return &unknown;
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
        uint64_t registers[FREEZE_REGISTERS_MOST]; /* by DWARF's numbers; 0 unless stopped */
        uint64_t vectors[FREEZE_VECTORS];
};

#endif
