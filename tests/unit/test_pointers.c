/* SPDX-License-Identifier: MIT */
/*
 * test_pointers.c -- words of memory that lead into ranges, packed and unpacked: they are where
 * they were, all others are zero; what is damaged is refused.
 */
#include <stdlib.h>

#include "remote/pointers.h"
#include "tap.h"

#define WORDS 4096u
#define LOW UINT64_C(0x555500000000)
#define HIGH UINT64_C(0x7f0000000000)
#define NARROW UINT64_C(0x8000000) /* of words of 4 bytes */

static struct pointers there, here; /* of the side that packs, and of the other */
static uint8_t packed[WORDS * 8 + POINTERS_HEAD];
static uint64_t chance = 7;

static uint64_t dice(void)
{
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        return chance >> 11;
}

static void put(uint8_t *to, uint64_t value)
{
        for (int i = 0; i < 8; i++)
                to[i] = (uint8_t)(value >> 8 * i);
}

static bool tell(struct pointers *p, const uint64_t *ends, uint32_t count)
{
        uint8_t *bytes = malloc(8 * count + 1);
        bool good;

        for (uint32_t i = 0; i < count; i++)
                put(bytes + 8 * i, ends[i]);
        good = pointers_expect(p, bytes, 8 * count);
        free(bytes);
        return good;
}

static void tell_both(void)
{
        const uint64_t ends[] = { NARROW, NARROW + 5000, LOW, LOW + 100000, HIGH, HIGH + 16 };

        is_true(tell(&there, ends, 6) && tell(&here, ends, 6));
}

static bool leads(uint64_t word)
{
        return (word >= NARROW && word < NARROW + 5000) || (word >= LOW && word < LOW + 100000) ||
               (word >= HIGH && word < HIGH + 16);
}

static uint64_t some_word(uint32_t often)
{
        if (dice() % 100 >= often)
                return dice() % 3 ? dice() << 20 ^ dice() : dice() % 100;
        switch (dice() % 4) {
        case 0: return NARROW - 10 + dice() % 5020;
        case 1: return HIGH - 2 + dice() % 20;
        default: return LOW - 500 + dice() % 101000;
        }
}

static void check(const uint64_t *memory, size_t bytes)
{
        const struct pointers_form form = { 8, false };
        size_t length = pointers_pack(&there, memory, (uint32_t)bytes, 8, packed), got;
        uint64_t *back = malloc(bytes + 8);
        bool same = true;

        is_true(length <= bytes + POINTERS_HEAD);
        is_true(pointers_unpack(&here, packed, length, &form, (uint8_t *)back, bytes, &got));
        is_equal(got, bytes);
        for (size_t i = 0; i < bytes / 8; i++)
                same = same && back[i] == (packed[0] || leads(memory[i]) ? memory[i] : 0);
        is_true(same);
        free(back);
}

TEST(words_that_lead_there_come_back_and_no_others)
{
        static uint64_t memory[WORDS];

        tell_both();
        for (uint32_t often = 0; often <= 100; often += 10)
                for (int round = 0; round < 20; round++) {
                        for (uint32_t i = 0; i < WORDS; i++)
                                memory[i] = some_word(often);
                        check(memory, 8 * (1 + dice() % WORDS));
                }
        check(memory, 0);
}

TEST(few_pointers_take_few_bytes)
{
        static uint64_t memory[WORDS];

        tell_both();
        memset(memory, 0x41, sizeof memory);
        for (uint32_t i = 0; i < WORDS; i += 8)
                memory[i] = LOW + 16 * i;
        is_true(pointers_pack(&there, memory, sizeof memory, 8, packed) <
                3 * WORDS / 8 + POINTERS_HEAD);
}

TEST(what_would_grow_is_sent_as_it_is)
{
        static uint64_t memory[WORDS];

        tell_both();
        for (uint32_t i = 0; i < WORDS; i++)
                memory[i] = i % 2 ? HIGH + i % 16 : LOW + dice() % 100000;
        is_true(pointers_pack(&there, memory, 32, 8, packed) == 32 + 2 && packed[0] == 1);
        check(memory, 32);
        check(memory, sizeof memory);
}

TEST(words_of_another_processor_are_put_as_it_has_them)
{
        static uint32_t memory[WORDS], back[WORDS];
        struct pointers_form form = { 4, false };
        size_t length, got;
        bool same = true;

        tell_both();
        for (uint32_t i = 0; i < WORDS; i++)
                memory[i] = i % 5 ? i : (uint32_t)NARROW + i;
        length = pointers_pack(&there, memory, sizeof memory, 4, packed);
        is_equal(packed[0], 0);
        for (int turned = 0; turned < 2; turned++) {
                form.turned = turned;
                is_true(pointers_unpack(&here, packed, length, &form, (uint8_t *)back, sizeof back,
                                        &got));
                for (uint32_t i = 0; i < WORDS; i++) {
                        uint32_t word = leads(memory[i]) ? memory[i] : 0;

                        same = same && back[i] == (turned ? __builtin_bswap32(word) : word);
                }
                is_true(same);
        }
}

TEST(ranges_that_are_not_in_order_are_refused)
{
        const uint64_t empty[] = { 5, 5 }, back[] = { 10, 20, 5, 7 }, over[] = { 10, 20, 19, 30 },
                       turned[] = { 20, 10 }, good[] = { 10, 20, 20, 30 }, half[] = { 1, 2, 3 },
                       endless[] = { 1, UINT64_C(1) << 61 };

        is_true(!tell(&there, empty, 2) && !tell(&there, back, 4) && !tell(&there, over, 4) &&
                !tell(&there, turned, 2) && !tell(&there, half, 3) && !tell(&there, endless, 2));
        is_equal(there.count, 0);
        is_true(tell(&there, good, 4));
        is_equal(there.count, 2);
}

TEST(what_is_damaged_is_refused)
{
        static const struct { uint8_t bytes[16]; size_t count;
        } bad[] = {
                { { 0 }, 0 },
                { { 0 }, 1 },              /* not how much there is */
                { { 2, 8 }, 2 },           /* no such way */
                { { 1, 8, 1, 2, 3 }, 5 },  /* too short */
                { { 1, 1, 1, 2 }, 4 },     /* too long */
                { { 0, 65 }, 2 },          /* more than was asked for */
                { { 0, 64, 2 }, 3 },       /* no word behind the gap */
                { { 0, 64, 16, 0 }, 4 },   /* behind the end */
                { { 0, 64, 1, 3, 0 }, 5 }, /* no such range */
                /* no number */
                { { 0, 64, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 },
                  14 },
        };
        const struct pointers_form form = { 8, false };
        uint8_t to[64];
        size_t got;

        tell_both();
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                if (!is_true(!pointers_unpack(&here, bad[i].bytes, bad[i].count, &form, to,
                                              sizeof to, &got)))
                        printf("# case %zu\n", i);
}

TAP_MAIN(words_that_lead_there_come_back_and_no_others, few_pointers_take_few_bytes,
         what_would_grow_is_sent_as_it_is, words_of_another_processor_are_put_as_it_has_them,
         ranges_that_are_not_in_order_are_refused, what_is_damaged_is_refused)
