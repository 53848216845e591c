/* SPDX-License-Identifier: MIT */
/*
 * test_branch.c -- a tree that grows has each child of a parent once, whether it has few children
 * or many.
 */
#include "query/branch.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/heap.h"
#include "sample.h"
#include "tap.h"

enum { PARENTS = 40, KEYS = 400 };

TEST(a_child_is_found_again_by_its_parent_and_key)
{
        uint32_t *known = heap_zero(PARENTS * KEYS, sizeof *known), made = 3, wrong = 0;
        struct branches b;
        uint64_t state = 99;

        branches_start(&b, 3, 0);
        for (int round = 0; round < 60000; round++) {
                uint64_t dice = sample_random(&state);
                uint32_t parent = (uint32_t)(dice % PARENTS),
                         key = (uint32_t)(dice >> 32) % (parent % 2 ? KEYS : 9);
                uint32_t *node = &known[parent * KEYS + key], got;

                if (parent >= b.count)
                        continue;
                got = branches_child(&b, parent, key);
                wrong += *node ? got != *node : got != made++;
                *node = got;
                wrong += b.list[got].parent != parent || b.list[got].frame != key || parent >= got;
        }
        is_equal(wrong, 0);
        is_equal(b.count, made);
        is_true(b.list[1].children > 300 && b.list[2].children <= 9);
        branches_free(&b);
        free(known);
}

TAP_MAIN(a_child_is_found_again_by_its_parent_and_key)
