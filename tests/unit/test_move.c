/* SPDX-License-Identifier: MIT */
/* test_move.c -- single instructions executed at another place: what they do is the same. */
#include <string.h>
#include <sys/mman.h>

#include "breakpoint/move.h"
#include "tap.h"

#define AT 0x401000ull
#define SLOT 0x500000ull

/* The instruction of COUNT bytes, with others behind it. */
static bool plan(struct move *m, const char *code, size_t count)
{
        uint8_t bytes[MOVE_READ];

        memset(bytes, 0x90, sizeof bytes);
        memcpy(bytes, code, count);
        return move_plan(m, bytes, AT, SLOT);
}

static uint64_t word_at(const struct move *m, size_t at)
{
        uint64_t word;

        memcpy(&word, m->bytes + at, sizeof word);
        return word;
}

TEST(plain_instructions_are_copied_and_jump_back)
{
        struct move m;

        is_true(plan(&m, "\x55", 1)); /* push %rbp */
        is_equal(m.how, MOVE_CODE);
        is_equal(m.length, 1);
        is_equal(m.count, 1 + 14);
        is_true(memcmp(m.bytes, "\x55\xff\x25\0\0\0\0", 7) == 0);
        is_equal(word_at(&m, 7), AT + 1);
        is_true(plan(&m, "\x48\x85\xff", 3)); /* test %rdi,%rdi */
        is_equal(word_at(&m, 9), AT + 3);
}

TEST(operands_relative_to_the_instruction_stay_the_same)
{
        struct move m;
        int32_t distance;

        is_true(plan(&m, "\x48\x8b\x05\x10\0\0\0", 7)); /* mov 0x10(%rip),%rax */
        memcpy(&distance, m.bytes + 3, sizeof distance);
        is_equal(SLOT + 7 + (uint64_t)(int64_t)distance, AT + 7 + 0x10);
        is_true(plan(&m, "\x48\x83\x3d\x20\0\0\0\x01", 8)); /* cmpq $1,0x20(%rip) */
        memcpy(&distance, m.bytes + 3, sizeof distance);
        is_equal(SLOT + 8 + (uint64_t)(int64_t)distance, AT + 8 + 0x20);
        is_equal(m.bytes[7], 1);
}

TEST(what_is_too_far_cannot_be_moved)
{
        uint8_t code[MOVE_READ] = { 0x48, 0x8b, 0x05, 0x10 };
        struct move m;

        is_true(!move_plan(&m, code, AT, AT + (3ull << 30)));
}

TEST(relative_jumps_and_calls_are_told)
{
        struct move m;

        is_true(plan(&m, "\xeb\x10", 2));
        is_equal(m.how, MOVE_JUMP);
        is_equal(m.to, AT + 2 + 0x10);
        is_true(plan(&m, "\xe9\xf0\xff\xff\xff", 5));
        is_equal(m.to, AT + 5 - 0x10);
        is_true(plan(&m, "\xe8\0\x01\0\0", 5));
        is_equal(m.how, MOVE_CALL);
        is_equal(m.to, AT + 5 + 0x100);
        is_true(plan(&m, "\x74\x20", 2)); /* je */
        is_equal(m.how, MOVE_BRANCH);
        is_equal(m.condition, 4);
        is_equal(m.to, AT + 2 + 0x20);
        is_true(plan(&m, "\x0f\x85\0\x01\0\0", 6)); /* jne */
        is_equal(m.condition, 5);
        is_equal(m.to, AT + 6 + 0x100);
        is_true(!plan(&m, "\xe2\xfe", 2)); /* loop */
        is_true(!plan(&m, "\xe3\xfe", 2)); /* jrcxz */
}

TEST(indirect_calls_come_back_to_the_old_place)
{
        struct move m;
        int32_t distance;

        is_true(plan(&m, "\xff\xd0", 2)); /* call *%rax */
        is_equal(m.how, MOVE_CODE);
        /* push $low; movl $high,4(%rsp); jmp *%rax */
        is_true(memcmp(m.bytes, "\x68\x02\x10\x40\0\xc7\x44\x24\x04\0\0\0\0\xff\xe0", 15) == 0);
        is_true(plan(&m, "\xff\x15\x10\0\0\0", 6)); /* call *0x10(%rip) */
        is_equal(m.bytes[14], 0x25);
        memcpy(&distance, m.bytes + 15, sizeof distance);
        is_equal(SLOT + 19 + (uint64_t)(int64_t)distance, AT + 6 + 0x10);
        is_true(!plan(&m, "\xff\x54\x24\x08", 4)); /* call *8(%rsp) */
}

/* Each condition as the processor sees it. */
TEST(conditions_hold_as_the_processor_has_it)
{
        static const uint64_t bits[] = { 1, 4, 64, 128, 2048 };

        for (uint32_t set = 0; set < 32; set++) {
                uint64_t flags = 0;
                uint8_t real[16];

                for (uint32_t i = 0; i < 5; i++)
                        flags |= set >> i & 1 ? bits[i] : 0;
                flags |= 2;
#define SETCC(n, cc)                                                                           \
        __asm__ volatile("push %1\n\tpopf\n\tset" cc " %0" : "=r"(real[n]) : "r"(flags) : "cc")
                SETCC(0, "o"); SETCC(1, "no"); SETCC(2, "b"); SETCC(3, "ae");
                SETCC(4, "e"); SETCC(5, "ne"); SETCC(6, "be"); SETCC(7, "a");
                SETCC(8, "s"); SETCC(9, "ns"); SETCC(10, "p"); SETCC(11, "np");
                SETCC(12, "l"); SETCC(13, "ge"); SETCC(14, "le"); SETCC(15, "g");
                for (uint8_t c = 0; c < 16; c++)
                        is_equal(move_holds(c, flags), real[c]);
        }
}

/* The moved code of lea 0x40(%rdi),%rax jumps back to a ret behind it. */
TEST(moved_code_runs)
{
        static const uint8_t code[] = { 0x48, 0x8d, 0x47, 0x40, 0xc3 };
        uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *slot = page + 1024;
        uint64_t (*run)(uint64_t);
        struct move m;

        is_true(page != MAP_FAILED);
        memcpy(page, code, sizeof code);
        is_true(move_plan(&m, page, (uintptr_t)page, (uintptr_t)slot));
        memcpy(slot, m.bytes, m.count);
        page[0] = 0xcc;
        memcpy(&run, &slot, sizeof run);
        is_equal(run(2), 0x42);
        munmap(page, 4096);
}

TAP_MAIN(plain_instructions_are_copied_and_jump_back,
         operands_relative_to_the_instruction_stay_the_same, what_is_too_far_cannot_be_moved,
         relative_jumps_and_calls_are_told, indirect_calls_come_back_to_the_old_place,
         conditions_hold_as_the_processor_has_it, moved_code_runs)
