/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "agent/rule.h"
#include "tables.h"

/* The rule for a return address behind the first instruction of a function with PROGRAM.  Every
 * place is new, so none is kept from before. */
static uint64_t rule_for(const void *program, size_t bytes)
{
        static uint32_t offset;
        struct tables t;
        uint8_t *memory;

        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, offset += 0x100, 0x100, program, bytes);
        tables_finish(&t);
        memory = tables_place(t.data, t.size);
        tables_open(memory, t.size, 0);
        return rule_find(&tables_thread, (uint64_t)memory + TABLES_CODE + offset + 9);
}

#define RULE(...) \
        rule_for((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static bool is_special(uint64_t rule, unsigned what)
{
        return RULE_CFA(rule) == RULE_CFA_SPECIAL && RULE_SPECIAL(rule) == what &&
               RULE_OBJECT(rule) == 0 && rule & RULE_VALID;
}

TEST(usual_frames_fit_into_a_word)
{
        uint64_t r = RULE(0x0e, 48, 0x86, 2);

        is_true(RULE_CFA(r) == RULE_CFA_STACK && RULE_CFA_OFFSET(r) == 48);
        is_true(RULE_BASE(r) == RULE_BASE_AT_CFA && RULE_BASE_OFFSET(r) == -16);
        r = RULE(0x0c, 6, 16, 0x86, 2);
        is_true(RULE_CFA(r) == RULE_CFA_BASE && RULE_CFA_OFFSET(r) == 16);
        r = RULE(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
        is_true(RULE_CFA(r) == RULE_CFA_AT_BASE && RULE_CFA_OFFSET(r) == -8 &&
                RULE_BASE(r) == RULE_BASE_AT_BASE && RULE_BASE_OFFSET(r) == 0);
        r = RULE(0x0f, 2, 0x77, 8);
        is_true(RULE_CFA(r) == RULE_CFA_STACK && RULE_CFA_OFFSET(r) == 8 &&
                RULE_BASE(r) == RULE_BASE_SAME);
}

/* Only these words are read without a question. */
TEST(a_register_saved_far_from_the_end_of_the_frame_is_asked_for)
{
        is_true(RULE_BASE(RULE(0x0e, 96, 0x86, 8)) == RULE_BASE_AT_CFA);
        is_true(RULE_BASE(RULE(0x0e, 96, 0x86, 9)) == RULE_BASE_FAR);
        is_true(RULE_BASE(RULE(0x0e, 96, 0x86, 1)) == RULE_BASE_FAR);
        is_true(RULE_BASE(RULE(0x0e, 96, 0x86, 0)) == RULE_BASE_FAR);
        is_true(RULE_BASE(RULE(0x0e, 96, 0x11, 6, 0x7e)) == RULE_BASE_FAR);
}

TEST(what_does_not_fit_goes_the_long_way)
{
        is_true(is_special(RULE(0x0e, 0x80, 0x80, 0x80, 0x08), RULE_GENERIC));
        is_true(is_special(RULE(0x86, 0x80, 0x80, 0x80, 0x01), RULE_GENERIC));
        is_true(is_special(RULE(0x0c, 3, 16), RULE_GENERIC));
        is_true(is_special(RULE(0x90, 2), RULE_GENERIC));
        is_true(is_special(RULE(0x09, 6, 3), RULE_GENERIC));
        is_true(is_special(RULE(0x16, 6, 1, 0x30), RULE_GENERIC));
        is_true(is_special(RULE(0x0f, 0), RULE_GENERIC)); /* an expression without a byte */
        is_true(is_special(RULE(0x0f, 1, 0x77), RULE_GENERIC));
        is_true(is_special(RULE(0x0f, 2, 0x76, 0x80), RULE_GENERIC));
        is_true(is_special(RULE(0x0f, 1, 0x76), RULE_GENERIC));
        is_true(is_special(RULE(0x10, 6, 1, 0x76), RULE_GENERIC));
        is_true(is_special(RULE(0x0f, 3, 0x77, 8, 0x06), RULE_GENERIC));
        /* the stack pointer times -1 */
        is_true(is_special(RULE(0x0f, 3, 0x77, 8, 0x1f), RULE_GENERIC));
}

TEST(ends_and_lies)
{
        is_true(is_special(RULE(0x07, 16), RULE_END));
        is_true(is_special(RULE(0x08, 16), RULE_NO_CFI));
        is_true(is_special(RULE(0x3f), RULE_NO_CFI));
        is_true(is_special(RULE(0x0e, 0xff, 0xff), RULE_NO_CFI));
}

TEST(code_of_nobody_has_no_object)
{
        uint64_t r = rule_find(&tables_thread, 0x4000);

        is_true(RULE_OBJECT(r) == OBJECT_NONE && RULE_CFA(r) == RULE_CFA_SPECIAL &&
                RULE_SPECIAL(r) == RULE_NO_CFI);
}

TEST(many_rules_are_kept_and_found_again)
{
        struct tables t;
        uint8_t *memory;
        int wrong = 0;

        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, 0x8000, 0x7000, (const uint8_t[]){ 0x0e, 40 }, 2);
        tables_finish(&t);
        memory = tables_place(t.data, t.size);
        tables_open(memory, t.size, 0);
        for (int round = 0; round < 2; round++)
                for (uint64_t i = 1; i < 0x7000; i++) {
                        uint64_t r = rule_find(&tables_thread,
                                               (uint64_t)memory + TABLES_CODE + 0x8000 + i);

                        wrong += RULE_CFA(r) != RULE_CFA_STACK || RULE_CFA_OFFSET(r) != 40;
                }
        is_equal(wrong, 0);
}

TEST(the_table_starts)
{
        is_true(rule_start());
}

TAP_MAIN(the_table_starts, usual_frames_fit_into_a_word,
         a_register_saved_far_from_the_end_of_the_frame_is_asked_for,
         what_does_not_fit_goes_the_long_way, ends_and_lies, code_of_nobody_has_no_object,
         many_rules_are_kept_and_found_again)
