/* SPDX-License-Identifier: MIT */
/*
 * test_table.c -- hash tables: numbers in the order of coming, whatever the hashes are; texts;
 * pairs of keys.
 */
#include "base/table.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/lookup.h"
#include "tap.h"

enum { MANY = 100000 };

static uint32_t number_of(struct table *t, const uint64_t *keys, uint64_t key, uint32_t hash)
{
        return TABLE_NUMBER(t, hash, n, keys[n] == key);
}

/* MANY keys, each asked for twice; hashes are from 0 to below DISTINCT. */
static void check_order(uint32_t count, uint32_t distinct)
{
        uint64_t *keys = heap_zero(count, sizeof *keys);
        struct table t = { 0 };
        uint32_t wrong = 0;

        for (uint32_t i = 0; i < count; i++) {
                uint32_t number;

                keys[i] = (uint64_t)i * i + 1;
                number = number_of(&t, keys, keys[i], table_hash(keys[i], 0) % distinct);
                wrong += number != i || t.count != i + 1;
        }
        for (uint32_t i = 0; i < count; i++)
                wrong += number_of(&t, keys, keys[i], table_hash(keys[i], 0) % distinct) != i ||
                         t.count != count;
        is_equal(wrong, 0);
        table_free(&t);
        is_equal(t.count, 0);
        free(keys);
}

TEST(things_are_numbered_in_the_order_in_which_they_come)
{
        check_order(MANY, UINT32_MAX);
}

TEST(things_with_equal_hashes_are_told_apart)
{
        check_order(1000, 1);
        check_order(1000, 3);
}

TEST(numbers_may_begin_anywhere_and_the_first_thing_finds_room)
{
        uint64_t *keys = heap_zero(MANY + 2, sizeof *keys);
        struct table t = { .count = MANY };

        keys[MANY] = 5;
        keys[MANY + 1] = 6;
        is_equal(number_of(&t, keys, 5, 7), MANY);
        is_equal(number_of(&t, keys, 6, 7), MANY + 1);
        is_equal(number_of(&t, keys, 5, 7), MANY);
        table_free(&t);
        free(keys);
}

TEST(a_slot_is_free_when_nothing_is_there)
{
        uint64_t keys[] = { 5 };
        struct table t = { 0 };

        number_of(&t, keys, 5, 7);
        is_equal(TABLE_SLOT(&t, 7, n, keys[n] == 5)->number, 1);
        is_equal(TABLE_SLOT(&t, 7, n, keys[n] == 6)->number, 0);
        is_equal(TABLE_SLOT(&t, 8, n, keys[n] == 5)->number, 0);
        table_free(&t);
}

TEST(hashes_of_texts_and_pairs_differ)
{
        is_equal(table_hash_text("ab"), table_hash_text("ab"));
        is_true(table_hash_text("ab") != table_hash_text("ba"));
        is_true(table_hash_text("") != table_hash_text("a"));
        is_true(table_hash(1, 2) != table_hash(2, 1));
        is_true(table_hash(1, 0) != table_hash(0, 1));
}

TEST(a_pair_of_keys_has_a_number_and_a_value)
{
        struct lookup l = { 0 };
        uint32_t wrong = 0;

        for (uint32_t i = 0; i < MANY; i++) {
                uint32_t *value = lookup_pair(&l, i % 300, i / 300);

                wrong += *value != 0;
                *value = i + 1;
        }
        for (uint32_t i = 0; i < MANY; i++) {
                wrong += *lookup_pair(&l, i % 300, i / 300) != i + 1;
                wrong += lookup_number(&l, i % 300, i / 300) != i;
        }
        is_equal(wrong, 0);
        is_equal(*lookup_pointer(&l, &l), 0);
        ++*lookup_pointer(&l, &l);
        is_equal(*lookup_pointer(&l, &l), 1);
        lookup_free(&l);
        is_equal(*lookup_pair(&l, 1, 1), 0);
        lookup_free(&l);
}

TAP_MAIN(things_are_numbered_in_the_order_in_which_they_come,
         things_with_equal_hashes_are_told_apart,
         numbers_may_begin_anywhere_and_the_first_thing_finds_room,
         a_slot_is_free_when_nothing_is_there, hashes_of_texts_and_pairs_differ,
         a_pair_of_keys_has_a_number_and_a_value)
