/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "tables.h"

static uint64_t registers[ARCH_REGS] = { [7] = 0x1800, [6] = 0x1900 };

/* The value of the expression in CODE, which ends where nothing can be read; false when it has
 * none. */
static bool evaluate(const void *code, size_t bytes, uint64_t *value)
{
        struct cfi_rule rule = { .expression = tables_place(code, bytes),
                                 .expression_bytes = (uint16_t)bytes };
        struct cfi_frame frame = { .registers = registers, .thread = &tables_thread };

        return cfi_evaluate(&rule, &frame, value);
}

#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static uint64_t value_of(const void *code, size_t bytes)
{
        uint64_t value = 0;

        is_true(evaluate(code, bytes, &value));
        return value;
}

static bool none(const void *code, size_t bytes)
{
        uint64_t value;

        return !evaluate(code, bytes, &value);
}

TEST(numbers_registers_and_memory)
{
        is_equal(value_of(CODE(0x35)), 5);
        is_equal(value_of(CODE(0x09, 0xff)), -1);
        is_equal(value_of(CODE(0x0a, 0x34, 0x12)), 0x1234);
        is_equal(value_of(CODE(0x0e, 1, 2, 3, 4, 5, 6, 7, 8)), 0x0807060504030201);
        is_equal(value_of(CODE(0x10, 0xe5, 0x8e, 0x26)), 624485);
        is_equal(value_of(CODE(0x11, 0x7f)), -1);
        is_equal(value_of(CODE(0x77, 0x08)), 0x1808);
        is_equal(value_of(CODE(0x76, 0x78, 0x06)), 0x18f8); /* there each word is its address */
        is_equal(value_of(CODE(0x77, 0x00, 0x94, 1)), 0x00);
        is_equal(value_of(CODE(0x77, 0x00, 0x94, 2)), 0x1800);
        is_equal(value_of(CODE(0x77, 0x10, 0x23, 0x81, 0x01)), 0x1891);
}

TEST(what_two_operands_give)
{
        is_equal(value_of(CODE(0x38, 0x33, 0x1c)), 5);
        is_equal(value_of(CODE(0x38, 0x33, 0x1d)), 2);
        is_equal(value_of(CODE(0x38, 0x33, 0x24)), 64);
        is_equal(value_of(CODE(0x38, 0x09, 0xff, 0x1b)), -8);
        is_equal(value_of(CODE(0x33, 0x38, 0x2d)), 1);
        is_equal(value_of(CODE(0x31, 0x08, 200, 0x24)), 0);
        is_equal(value_of(CODE(0x09, 0x80, 0x08, 200, 0x26)), -1);
}

TEST(divisions_that_the_processor_refuses)
{
        is_true(none(CODE(0x31, 0x30, 0x1b)) && none(CODE(0x31, 0x30, 0x1d)));
        is_equal(value_of(CODE(0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b)), INT64_MIN);
}

TEST(operands_that_are_missing)
{
        static const uint8_t first[] = { 0x03, 0x08, 0x0a, 0x0c, 0x0e, 0x10,
                                         0x11, 0x23, 0x28, 0x2f, 0x77, 0x94 };

        for (size_t i = 0; i < sizeof first; i++)
                is_true(none(CODE(0x31, 0x31, first[i])));
        is_true(none(CODE(0x77, 0x80, 0x80)));
        is_true(none(CODE(0x0e, 1, 2, 3, 4, 5, 6, 7)));
        is_true(none(CODE(0x96)) && none("", 0));
}

TEST(memory_that_is_not_there)
{
        struct cfi_rule rule = { .expression = (const uint8_t[]){ 0x77, 0, 0x06 },
                                 .expression_bytes = 3 };
        struct cfi_frame frame = { .registers = registers };
        uint64_t value;

        is_true(!cfi_evaluate(&rule, &frame, &value)); /* where no memory may be read */
        is_true(none(CODE(0x30, 0x06)) && none(CODE(0x09, 0xff, 0x06)) &&
                none(CODE(0x09, 0xf9, 0x94, 4)));
        is_true(none(CODE(0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x06)));
        is_true(none(CODE(0x77, 0, 0x94, 9)) && none(CODE(0x77, 0, 0x94, 0)) &&
                none(CODE(0x77, 0, 0x94, 0xff)));
}

TEST(no_branch_leads_out_or_back)
{
        is_equal(value_of(CODE(0x31, 0x2f, 1, 0, 0x32)), 1);
        is_equal(value_of(CODE(0x31, 0x30, 0x28, 1, 0, 0x32)), 2);
        is_true(none(CODE(0x31, 0x2f, 2, 0, 0x32)));
        is_true(none(CODE(0x31, 0x2f, 0xff, 0x7f)));
        is_true(none(CODE(0x31, 0x2f, 0xfd, 0xff)) && none(CODE(0x31, 0x2f, 0x00, 0x80)));
        is_true(none(CODE(0x31, 0x31, 0x28, 0xff, 0xff)));
}

TEST(the_stack_of_the_machine_is_bounded)
{
        uint8_t code[64];
        uint64_t value;

        memset(code, 0x31, sizeof code);
        is_true(!evaluate(code, sizeof code, &value));
        is_true(evaluate(code, 16, &value) && !evaluate(code, 17, &value));
        memset(code, 0x13, sizeof code); /* nothing is there to be dropped */
        is_true(!evaluate(code, sizeof code, &value));
        memset(code, 0x12, sizeof code);
        is_true(!evaluate(code, sizeof code, &value));
}

TEST(every_operation_is_known_or_refused)
{
        uint64_t value;

        for (unsigned op = 0; op < 256; op++)
                for (unsigned operand = 0; operand < 256; operand++)
                        evaluate(CODE(0x31, 0x32, (uint8_t)op, (uint8_t)operand, (uint8_t)operand),
                                 &value);
        is_true(none(CODE(0x50)) && none(CODE(0x31, 0x97)) && none(CODE(0x81, 0)) &&
                none(CODE(0xff)));
}

TAP_MAIN(numbers_registers_and_memory, what_two_operands_give, divisions_that_the_processor_refuses,
         operands_that_are_missing, memory_that_is_not_there, no_branch_leads_out_or_back,
         the_stack_of_the_machine_is_bounded, every_operation_is_known_or_refused)
