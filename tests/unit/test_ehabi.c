/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <string.h>

#include "agent/ehabi.h"
#include "tables.h"

#define STACK 0x1000u
#define FAR 0x20000000u

/* The word at an address is the address, with the lowest bit. */
static bool read_word(void *context, uint64_t at, uint64_t *word)
{
        (void)context;
        *word = at | 1;
        return at >= STACK && at < STACK + 4096;
}

/* One function, whose entry has these BYTES: kind 1, so that all instructions fit. */
static bool leave(const char *bytes, size_t count, uint64_t r[16], bool *saved)
{
        uint32_t words[16] = { 0x20000000, 4 }; /* the code is far, the entry next to the pair */
        uint8_t *memory;
        struct ehabi_code code;
        bool good;

        words[2] = 0x81000000 | (uint32_t)((count + 1) / 4) << 16;
        for (size_t i = 0; i < 2 + 4 * ((count + 1) / 4); i++) {
                uint32_t byte = i < count ? (uint8_t)bytes[i] : 0xb0;
                size_t at = i + 2;

                words[2 + at / 4] |= byte << (24 - 8 * (at % 4));
        }
        memory = tables_place(words, sizeof words);
        tables_open(memory, sizeof words, SIZE_MAX);
        tables_object.exidx = memory;
        tables_object.exidx_bytes = 8;
        for (uint64_t i = 0; i < 16; i++)
                r[i] = i;
        r[13] = STACK;
        r[7] = STACK + 64;
        r[14] = 0x8001;
        *saved = false;
        good = ehabi_find(&tables_object, (uint64_t)memory + FAR, &code) == EHABI_FOUND &&
               ehabi_leave(code, r, saved, read_word, NULL);
        tables_object.exidx = NULL;
        return good;
}

#define LEAVE(text) leave(text, sizeof text - 1, r, &saved)

TEST(registers_are_popped_from_the_lowest_on)
{
        uint64_t r[16];
        bool saved;

        is_true(LEAVE("\x01\xa9")); /* += 8; pop {r4, r5, lr} */
        is_true(saved);
        is_equal(r[4], STACK + 8 + 1);
        is_equal(r[5], STACK + 12 + 1);
        is_equal(r[14], STACK + 16 + 1);
        is_equal(r[15], r[14]);
        is_equal(r[13], STACK + 20);
        is_true(LEAVE("\x84\x09")); /* pop {r4, r7, lr} */
        is_equal(r[7], STACK + 4 + 1);
        is_equal(r[14], STACK + 8 + 1);
        is_true(LEAVE("\xb1\x0c\xa0")); /* pop {r2, r3}; pop {r4} */
        is_equal(r[3], STACK + 4 + 1);
        is_equal(r[13], STACK + 12);
        is_true(!saved);
        is_equal(r[15], 0x8001);
}

TEST(the_stack_pointer_comes_from_where_it_is_said_to)
{
        uint64_t r[16];
        bool saved;

        is_true(LEAVE("\x97\x41\xa8")); /* vsp = r7; -= 8; pop {r4, lr} */
        is_equal(r[4], STACK + 56 + 1);
        is_equal(r[13], STACK + 64);
        is_true(LEAVE("\x82\x00")); /* pop {sp} */
        is_equal(r[13], STACK | 1);
        is_true(LEAVE("\xb2\x81\x01")); /* += 0x204 + (129 << 2) */
        is_equal(r[13], STACK + 0x204 + 129 * 4);
        is_true(LEAVE("\x88\x00")); /* pop {pc} */
        is_true(saved);
        is_equal(r[15], STACK | 1);
}

TEST(other_registers_are_passed_over)
{
        static const struct {
                const char *bytes;
                size_t count;
                uint64_t moved;
        } all[] = {
                { "\xb3\x12", 2, 28 }, { "\xb4", 1, 4 },      { "\xb5", 1, 0 },
                { "\xb8", 1, 12 },     { "\xbf", 1, 68 },     { "\xc0", 1, 8 },
                { "\xc5", 1, 48 },     { "\xc6\x13", 2, 32 }, { "\xc7\x0b", 2, 12 },
                { "\xc8\x03", 2, 32 }, { "\xc9\x20", 2, 8 },  { "\xd0", 1, 8 },
                { "\xd7", 1, 64 },     { "\x3f", 1, 256 },    { "\x7f", 1, (uint64_t)-256 },
        };
        uint64_t r[16];
        bool saved;

        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                is_true(leave(all[i].bytes, all[i].count, r, &saved));
                is_equal(r[13], (uint32_t)(STACK + all[i].moved));
        }
}

TEST(what_is_not_known_is_refused)
{
        static const char *const all[] = { "\x80\x00", "\x9d", "\x9f",     "\xb1\x00", "\xb1\x10",
                                           "\xb6",     "\xb7", "\xc7\x00", "\xc7\x10", "\xca",
                                           "\xcf",     "\xd8", "\xe0",     "\xff" };
        static const size_t counts[] = { 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 1, 1, 1 };
        uint64_t r[16];
        bool saved;

        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                is_true(!leave(all[i], counts[i], r, &saved));
        is_true(!LEAVE("\x91\xa8")); /* vsp = r1: nothing is there */
}

TEST(code_that_nothing_leads_out_of_says_so)
{
        uint32_t words[4] = { 0x20000000, 1, 0x20000008, 0x80b0b0b0 };
        uint8_t *memory = tables_place(words, sizeof words);
        struct ehabi_code code;

        tables_open(memory, sizeof words, SIZE_MAX);
        tables_object.exidx = memory;
        tables_object.exidx_bytes = sizeof words;
        is_equal(ehabi_find(&tables_object, (uint64_t)memory + FAR - 1, &code), EHABI_UNKNOWN);
        is_equal(ehabi_find(&tables_object, (uint64_t)memory + FAR, &code), EHABI_END);
        is_equal(ehabi_find(&tables_object, (uint64_t)memory + FAR + 15, &code), EHABI_END);
        is_equal(ehabi_find(&tables_object, (uint64_t)memory + FAR + 16, &code), EHABI_FOUND);
        is_equal(code.start, (uint64_t)memory + FAR + 16);
        tables_object.exidx = NULL;
}

TAP_MAIN(registers_are_popped_from_the_lowest_on, the_stack_pointer_comes_from_where_it_is_said_to,
         other_registers_are_passed_over, what_is_not_known_is_refused,
         code_that_nothing_leads_out_of_says_so)
