/* SPDX-License-Identifier: MIT */
#include "profile/machine.h"

#include <elf.h>
#include <stdio.h>

/* PREFIX and a number, unless there are names.  Vector registers have so many words each. */
struct machine {
        uint32_t number;
        const char *name, *stack;
        uint32_t registers, vectors, words;
        const char *prefix, *vector;
        const char *const *names;
};

static const char *const x86_64_names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                            "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };
static const char *const i386_names[] = { "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi" };
static const char *const arm_names[] = { "r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                         "r8", "r9", "r10", "r11", "r12", "sp", "lr" };
static const char *const riscv_names[] = { "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0",
                                           "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
                                           "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10",
                                           "s11", "t3", "t4", "t5", "t6" };

static const struct machine machines[] = {
        { EM_X86_64, "x86-64", "rsp", 16, 16, 2, "", "xmm", x86_64_names },
        { EM_386, "i386", "esp", 8, 8, 2, "", "xmm", i386_names },
        { EM_AARCH64, "aarch64", "sp", 31, 32, 2, "x", "v", NULL },
        { EM_ARM, "arm", "sp", 15, 32, 1, "", "d", arm_names },
        { EM_RISCV, "riscv64", "sp", 32, 32, 1, "", "f", riscv_names },
        { EM_PPC, "powerpc", "r1", 32, 32, 1, "r", "f", NULL },
        { EM_S390, "s390x", "r15", 16, 32, 2, "r", "v", NULL },
};

static const struct machine *machine_of(uint32_t number)
{
        static const struct machine unknown = { .stack = "the stack pointer", .registers = 32,
                                                .prefix = "register " };

        for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
                if (machines[i].number == number)
                        return &machines[i];
        return &unknown;
}

const char *machine_name(uint32_t machine, char name[MACHINE_NAME_MAX])
{
        snprintf(name, MACHINE_NAME_MAX, "machine %u", machine);
        return machine_of(machine)->name ? machine_of(machine)->name : name;
}

const char *machine_register(uint32_t machine, uint32_t i, char name[MACHINE_NAME_MAX])
{
        const struct machine *m = machine_of(machine);
        uint32_t word = i - m->registers;

        if (i < m->registers && m->names)
                return m->names[i];
        if (i < m->registers)
                snprintf(name, MACHINE_NAME_MAX, "%s%u", m->prefix, i);
        else if (word < m->vectors * m->words)
                snprintf(name, MACHINE_NAME_MAX, "%s%u", m->vector, word / m->words);
        else if (word < MACHINE_VECTOR_WORDS)
                return "a vector register";
        else
                return word == MACHINE_VECTOR_WORDS ? m->stack : "a register";
        return name;
}
