/* SPDX-License-Identifier: MIT */
#include "profile/machine.h"

#include <elf.h>

#include "attach/freeze.h"
#include "ledger/arch/arch.h"
#include "tap.h"

static char name[MACHINE_NAME_MAX];

TEST(registers_have_names_in_the_order_of_dwarf)
{
        const uint32_t stack = 16 + MACHINE_VECTOR_WORDS;

        is_text(machine_register(EM_X86_64, 3, name), "rbx");
        is_text(machine_register(EM_X86_64, 7, name), "rsp");
        is_text(machine_register(EM_X86_64, 15, name), "r15");
        is_text(machine_register(EM_X86_64, 16, name), "xmm0");
        is_text(machine_register(EM_X86_64, 47, name), "xmm15");
        is_text(machine_register(EM_X86_64, 48, name), "a vector register");
        is_text(machine_register(EM_X86_64, stack, name), "rsp");
        is_text(machine_register(EM_X86_64, stack + 1, name), "a register");
        is_text(machine_register(EM_X86_64, UINT32_MAX, name), "a register");
}

TEST(other_machines_have_their_own)
{
        is_text(machine_register(EM_386, 3, name), "ebx");
        is_text(machine_register(EM_AARCH64, 30, name), "x30");
        is_text(machine_register(EM_AARCH64, 31, name), "v0");
        is_text(machine_register(EM_AARCH64, 31 + 63, name), "v31");
        is_text(machine_register(EM_AARCH64, 31 + 64, name), "a vector register");
        is_text(machine_register(EM_AARCH64, 31 + MACHINE_VECTOR_WORDS, name), "sp");
        is_text(machine_register(EM_ARM, 14, name), "lr");
        is_text(machine_register(EM_ARM, 15 + 31, name), "d31");
        is_text(machine_register(EM_RISCV, 31, name), "t6");
        is_text(machine_register(EM_PPC, 31, name), "r31");
        is_text(machine_register(EM_S390, 15, name), "r15");
        is_text(machine_register(EM_S390, 16 + 2, name), "v1");
}

TEST(machines_have_names_known_or_not)
{
        is_text(machine_name(EM_X86_64, name), "x86-64");
        is_text(machine_name(EM_S390, name), "s390x");
        is_text(machine_name(300, name), "machine 300");
        is_text(machine_register(300, 5, name), "register 5");
        is_text(machine_register(300, UINT32_MAX, name), "a register");
}

TEST(threads_of_this_machine_are_stopped_with_all_registers)
{
        is_equal(freeze_kind_of(LEDGER_MACHINE)->registers, FREEZE_REGISTERS);
}

/* What a search for leaks writes into a recording is what readers of it find there. */
TEST(the_vector_registers_of_every_machine_follow_the_general_ones)
{
        static const struct {
                uint16_t machine;
                const char *vector;
        } all[] = {
                { EM_X86_64, "xmm0" }, { EM_386, "xmm0" }, { EM_AARCH64, "v0" }, { EM_ARM, "d0" },
                { EM_RISCV, "f0" },    { EM_PPC, "f0" },   { EM_S390, "v0" },
        };

        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                const struct freeze_kind *kind = freeze_kind_of(all[i].machine);

                is_equal(kind->machine, all[i].machine);
                is_text(machine_register(all[i].machine, kind->registers, name), all[i].vector);
                is_true(kind->registers <= FREEZE_REGISTERS_MOST);
        }
        is_equal(freeze_kind_of(300)->registers, 0);
}

TAP_MAIN(registers_have_names_in_the_order_of_dwarf, other_machines_have_their_own,
         machines_have_names_known_or_not, threads_of_this_machine_are_stopped_with_all_registers,
         the_vector_registers_of_every_machine_follow_the_general_ones)
