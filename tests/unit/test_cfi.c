/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>

#include "tables.h"

static uint8_t *memory;

/* Place what is in T, whole or only its first BYTES, and look for code at OFFSET. */
static bool find_in(const struct tables *t, size_t bytes, uint32_t offset)
{
        memory = tables_place(t->data, bytes);
        tables_open(memory, bytes, 0);
        return cfi_find(&tables_object, (uint64_t)memory + TABLES_CODE + offset,
                        tables_thread.work);
}

static bool find(const struct tables *t, uint32_t offset)
{
        return find_in(t, t->size, offset);
}

static const struct cfi_row *row(void)
{
        return &tables_thread.work->row;
}

/* One function of 64 bytes with PROGRAM. */
static bool find_program(const void *program, size_t bytes, uint32_t offset)
{
        struct tables t;

        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, 0, 64, program, bytes);
        tables_finish(&t);
        return find(&t, offset);
}

#define PROGRAM(offset, ...)                                                                     \
        find_program((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), \
                     offset)

TEST(rows_change_where_the_program_says)
{
        struct tables t;

        tables_sample(&t);
        is_true(find(&t, 0));
        is_equal(row()->cfa.how, CFI_REGISTER);
        is_equal(row()->cfa_register, ARCH_REG_STACK);
        is_equal(row()->cfa.offset, 8);
        is_equal(row()->registers[ARCH_REG_RETURN].how, CFI_AT_CFA);
        is_equal(row()->registers[ARCH_REG_RETURN].offset, -8);
        is_equal(row()->registers[ARCH_REG_BASE].how, CFI_SAME);
        is_true(find(&t, 1));
        is_equal(row()->cfa.offset, 16);
        is_equal(row()->registers[ARCH_REG_BASE].offset, -16);
        is_true(find(&t, 0x3f));
        is_equal(row()->cfa_register, ARCH_REG_BASE);
        is_true(find(&t, 0x50));
        is_equal(row()->cfa.how, CFI_VALUE);
        is_equal(row()->cfa.expression_bytes, 11);
}

TEST(code_that_no_entry_is_about_has_no_row)
{
        struct tables t;

        tables_begin(&t, 2);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, 0x10, 0x10, NULL, 0);
        tables_fde(&t, 0x40, 0x10, NULL, 0);
        tables_finish(&t);
        is_true(!find(&t, 0x0f) && find(&t, 0x10) && find(&t, 0x1f) && !find(&t, 0x20));
        is_true(!find(&t, 0x3f) && find(&t, 0x4f) && !find(&t, 0x50));
}

TEST(an_entry_of_other_code_is_not_taken)
{
        struct tables t;

        tables_sample(&t);
        /* the header leads from the first to the second */
        tables_set_u32(&t, 16, (uint32_t)t.fdes[1].at);
        is_true(!find(&t, 0x10));
        is_true(find(&t, 0x50));
        tables_set_u32(&t, 16, (uint32_t)t.cie); /* to what is no FDE */
        is_true(!find(&t, 0x10));
}

TEST(no_header_that_lies_leads_out_of_the_memory)
{
        static const uint32_t far[] = { 0x7fffffff, 0x80000000, 0xffffffff, 0x10000, 4095, 5000 };
        struct tables t;

        for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
                tables_sample(&t);
                tables_set_u32(&t, 16, far[i]);
                is_true(!find(&t, 0x10));
                tables_sample(&t);
                tables_set_u32(&t, 8, far[i]); /* so many entries */
                is_true(!find(&t, 0x10) && !cfi_has_table(&tables_object));
        }
        tables_sample(&t);
        for (unsigned encoding = 0; encoding < 256; encoding++) {
                t.data[3] = (uint8_t)encoding;
                is_equal(find(&t, 0x10), encoding == 0x3b);
        }
        tables_sample(&t);
        for (unsigned encoding = 0; encoding < 256; encoding++) {
                t.data[2] = (uint8_t)encoding;
                find(&t, 0x10);
                t.data[1] = (uint8_t)encoding;
                find(&t, 0x10);
        }
}

TEST(a_table_cut_off_anywhere_is_survived)
{
        struct tables t;

        tables_sample(&t);
        for (size_t bytes = 0; bytes < t.size; bytes++)
                for (uint32_t offset = 0; offset < 0x80; offset += 0x11)
                        find_in(&t, bytes, offset);
        is_true(find(&t, 0x10));
}

TEST(lengths_are_bounded)
{
        static const uint32_t lengths[] = { 0, 1, 4, 0x7fffffff, 0xfffffffe, 0xffffffff };
        struct tables t;

        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                tables_sample(&t);
                tables_set_u32(&t, t.fdes[0].at, lengths[i]);
                is_true(!find(&t, 0x10));
                tables_sample(&t);
                tables_set_u32(&t, t.cie, lengths[i]);
                is_true(!find(&t, 0x10));
                tables_sample(&t);
                tables_set_u32(&t, t.fdes[0].at + 4, lengths[i]); /* back to the CIE */
                is_true(!find(&t, 0x10));
        }
}

TEST(a_length_of_64_bits_is_understood)
{
        struct tables t;
        uint32_t length;

        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, 0, 64, NULL, 0);
        tables_finish(&t);
        memcpy(&length, t.data + t.cie, 4);
        memmove(t.data + t.cie + 12, t.data + t.cie + 4, t.size - t.cie - 4);
        t.size += 8;
        tables_set_u32(&t, t.cie, 0xffffffff);
        tables_set_u32(&t, t.cie + 4, length);
        tables_set_u32(&t, t.cie + 8, 0);
        t.fdes[0].at += 8;
        tables_set_u32(&t, 16, (uint32_t)t.fdes[0].at);
        tables_set_u32(&t, t.fdes[0].at + 4, (uint32_t)(t.fdes[0].at + 4 - t.cie));
        tables_set_u32(&t, t.fdes[0].at + 8, (uint32_t)(TABLES_CODE - (t.fdes[0].at + 8)));
        is_true(find(&t, 5));
        tables_set_u32(&t, t.cie + 8, 0x80000000);
        is_true(!find(&t, 5));
}

TEST(numbers_without_end_are_none)
{
        is_true(!PROGRAM(5, 0x0e, 0xff, 0xff)); /* so long that no nop follows */
        is_true(!PROGRAM(5, 0x0c, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                         0x80, 0x80, 0x80));
        is_true(PROGRAM(5, 0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                        0x00));
        is_equal(row()->cfa.offset, 16);
        is_true(PROGRAM(5, 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
        is_equal(row()->cfa.offset, -1);
}

TEST(signed_numbers_and_factors_do_not_overflow)
{
        /* the smallest number, times -8 */
        is_true(PROGRAM(5, 0x13, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f));
        is_equal(row()->cfa.offset, 0);
        is_true(PROGRAM(5, 0x11, 6, 0x7e)); /* -2 times -8 */
        is_equal(row()->registers[6].offset, 16);
        is_true(PROGRAM(5, 0x05, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f));
}

TEST(registers_that_do_not_exist_are_not_touched)
{
        is_true(PROGRAM(5, 0x05, 200, 1, 2, 0x08, 17, 0x07, 0xff, 0xff, 0x03, 0x06, 99, 0x09, 200,
                        1, 3));
        is_true(PROGRAM(5, 0xbf, 5, 0xff)); /* registers 63 */
        is_true(PROGRAM(5, 0x0c, 0xff, 0xff, 0xff, 0xff, 0x7f, 8)); /* the CFA in one of them */
        is_equal(row()->cfa_register, ARCH_REGS);
        is_true(!PROGRAM(5, 0x10, 17, 1, 0x30));
        is_true(!PROGRAM(5, 0x16, 17, 1, 0x30));
}

TEST(expressions_end_with_their_entry)
{
        is_true(PROGRAM(5, 0x0f, 2, 0x77, 8));
        is_equal(row()->cfa.expression_bytes, 2);
        is_true(!PROGRAM(5, 0x0f, 100, 0x77, 8));
        is_true(!PROGRAM(5, 0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x77, 8));
        is_true(!PROGRAM(5, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x77,
                         8));
}

TEST(states_are_remembered_and_restored_in_pairs)
{
        is_true(PROGRAM(5, 0x0a, 0x0e, 32, 0x0b));
        is_equal(row()->cfa.offset, 8);
        is_true(!PROGRAM(5, 0x0b));
        is_true(!PROGRAM(5, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

TEST(unknown_operations_versions_and_augmentations_give_no_row)
{
        static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };
        struct tables t;

        is_true(!PROGRAM(5, 0x17) && !PROGRAM(5, 0x2d) && !PROGRAM(5, 0x3f));
        for (unsigned version = 0; version < 256; version++) {
                tables_begin(&t, 1);
                tables_cie(&t, &(struct tables_cie){ .version = (uint8_t)version });
                tables_fde(&t, 0, 64, NULL, 0);
                tables_finish(&t);
                is_equal(find(&t, 5), version <= 1 || version == 3 || version == 4);
        }
        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .augmentation = "eh",
                                             .program = usual,
                                             .program_bytes = sizeof usual });
        tables_fde(&t, 0, 64, NULL, 0);
        tables_finish(&t);
        is_true(!find(&t, 5));
}

TEST(a_personality_of_any_encoding_is_passed_over)
{
        static const uint8_t direct[] = { 6, 0x9b, 1, 2, 3, 4, 0x1b, 0x0c, 7, 8, 0x90, 1 };
        static const uint8_t aligned[] = { 18, 0x50, 0, 0, 0, 0, 0,    0,    0, 0, 0,    0,
                                           0,  0,    0, 0, 0, 0, 0x1b, 0x0c, 7, 8, 0x90, 1 };
        static const uint8_t none[] = { 2, 0xff, 0x1b, 0x0c, 7, 8, 0x90, 1 };
        static const uint8_t too_long[] = { 0x7f, 0x9b, 1, 2, 3, 4, 0x1b, 0x0c, 7, 8, 0x90, 1 };
        static const struct { const uint8_t *program; size_t bytes; bool good;
        } cases[] = { { direct, sizeof direct, true },
                      { none, sizeof none, true },
                      { too_long, sizeof too_long, false } };
        struct tables t;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                tables_begin(&t, 1);
                tables_cie(&t, &(struct tables_cie){ .augmentation = "zPR",
                                                     .program = cases[i].program,
                                                     .program_bytes = cases[i].bytes });
                tables_fde(&t, 0, 64, NULL, 0);
                tables_finish(&t);
                is_equal(find(&t, 5), cases[i].good);
        }
        /* where an aligned pointer ends depends on where it is: only that nothing is read behind
         * the end */
        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .augmentation = "zPR",
                                             .program = aligned,
                                             .program_bytes = sizeof aligned });
        tables_fde(&t, 0, 64, NULL, 0);
        tables_finish(&t);
        find(&t, 5);
}

TEST(addresses_of_code_in_every_encoding)
{
        struct tables t;

        for (unsigned encoding = 1; encoding < 256; encoding++) {
                bool known = encoding == 0x1b;

                tables_begin(&t, 1);
                tables_cie(&t, &(struct tables_cie){ .encoding = (uint8_t)encoding });
                tables_fde(&t, 0, 64, NULL, 0);
                tables_finish(&t);
                if (known || encoding == 0x13) /* unsigned is the same here */
                        is_true(find(&t, 5));
                else
                        is_true(!find(&t, 5));
        }
}

TEST(a_program_without_end_is_given_up)
{
        size_t bytes = 70000;
        uint8_t *all = calloc(1, 4096 + bytes), *at;
        struct tables t;
        uint32_t length;

        tables_begin(&t, 1);
        tables_cie(&t, &(struct tables_cie){ .version = 1 });
        tables_fde(&t, 0, 64, NULL, 0);
        tables_finish(&t);
        memcpy(all, t.data, t.size);
        length = (uint32_t)(t.size - t.fdes[0].at - 4 + bytes); /* nops */
        memcpy(all + t.fdes[0].at, &length, 4);
        at = tables_place(all, t.size + bytes);
        tables_open(at, t.size + bytes, 0);
        is_true(!cfi_find(&tables_object, (uint64_t)at + TABLES_CODE + 5, tables_thread.work));
        length -= 60000;
        memcpy(at + t.fdes[0].at, &length, 4);
        is_true(cfi_find(&tables_object, (uint64_t)at + TABLES_CODE + 5, tables_thread.work));
        free(all);
}

TEST(without_a_way_back_there_is_no_row)
{
        is_true(PROGRAM(5, 0x07, 16)); /* undefined: the stack ends there */
        is_true(!PROGRAM(5, 0x08, 16));
}

TAP_MAIN(rows_change_where_the_program_says, code_that_no_entry_is_about_has_no_row,
         an_entry_of_other_code_is_not_taken, no_header_that_lies_leads_out_of_the_memory,
         a_table_cut_off_anywhere_is_survived, lengths_are_bounded,
         a_length_of_64_bits_is_understood, numbers_without_end_are_none,
         signed_numbers_and_factors_do_not_overflow, registers_that_do_not_exist_are_not_touched,
         expressions_end_with_their_entry, states_are_remembered_and_restored_in_pairs,
         unknown_operations_versions_and_augmentations_give_no_row,
         a_personality_of_any_encoding_is_passed_over, addresses_of_code_in_every_encoding,
         a_program_without_end_is_given_up, without_a_way_back_there_is_no_row)
