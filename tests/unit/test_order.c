/* SPDX-License-Identifier: MIT */
/*
 * test_order.c -- the agent's tree against an array that does the same slowly.
 */
#include "agent/order.h"

#include <stdlib.h>

#include "tap.h"

#define KEYS 20000u /* keys are below this, times SPREAD */
#define SPREAD 4096u

static uint32_t limit;
static uint32_t model[KEYS]; /* 1 + value; 0 none */
static uint64_t seed;

static bool more(uint32_t count)
{
        return count <= limit;
}

static struct order_node *nodes;
static struct order_room room = { .more = more };

static uint32_t any(uint32_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)((seed >> 11) % below);
}

static struct order begin(uint64_t start, uint32_t room_for)
{
        if (!nodes)
                nodes = malloc(KEYS * sizeof *nodes);
        seed = start;
        limit = room_for;
        memset(model, 0, sizeof model);
        room = (struct order_room){ .nodes = nodes, .more = more };
        return (struct order){ .room = &room };
}

/* ---- the shape of the tree ---- */

struct shape {
        uint32_t nodes, entries, leaves;
        bool wrong;
};

/* All keys of the subtree NUMBER are in [LOW, HIGH). */
static void measure(const struct order *o, uint32_t number, uint32_t level, uint64_t low,
                    uint64_t high, struct shape *s)
{
        const struct order_node *n = &nodes[number];

        s->nodes++;
        s->wrong |= n->count > ORDER_FAN || (n->count == 0 && number + 1 != o->root);
        for (uint32_t i = level ? 1 : 0; i < n->count; i++)
                s->wrong |= n->key[i] < low || n->key[i] >= high ||
                            (i > (level ? 1u : 0u) && n->key[i] <= n->key[i - 1]);
        s->leaves += level == 0;
        s->entries += level ? 0 : n->count;
        for (uint32_t i = 0; level && i < n->count; i++)
                measure(o, n->value[i], level - 1, i ? n->key[i] : low,
                        i + 1 < n->count ? n->key[i + 1] : high, s);
}

static struct shape shape_of(const struct order *o)
{
        struct shape s = { 0 };
        uint32_t unused = 0;

        if (o->root)
                measure(o, o->root - 1, o->levels, 0, UINT64_MAX, &s);
        for (uint32_t at = room.unused; at && unused <= room.made;
             at = (uint32_t)nodes[at - 1].unused)
                unused++;
        s.wrong |= s.nodes + unused != room.made; /* no node is lost, none is in two places */
        return s;
}

/* ---- the same with the array ---- */

static bool order_floor(const struct order *o, uint64_t key, struct order_entry *out)
{
        struct order_entry above;

        return order_around(o, key, out, &above) & ORDER_BELOW;
}

static bool order_ceiling(const struct order *o, uint64_t key, struct order_entry *out)
{
        struct order_entry below, above;
        uint32_t found = order_around(o, key, &below, &above);

        *out = found & ORDER_BELOW && below.key == key ? below : above;
        return found & ORDER_ABOVE || (found & ORDER_BELOW && below.key == key);
}

static bool floor_is_right(const struct order *o, uint64_t key)
{
        struct order_entry got = { 0 };
        bool found = order_floor(o, key, &got);
        uint64_t i = key / SPREAD < KEYS ? key / SPREAD + 1 : KEYS;

        while (i && !model[i - 1])
                i--;
        return found == (i != 0) &&
               (!i || (got.key == (i - 1) * SPREAD && got.value == model[i - 1] - 1));
}

static bool ceiling_is_right(const struct order *o, uint64_t key)
{
        struct order_entry got = { 0 };
        bool found = order_ceiling(o, key, &got);
        uint64_t i = (key + SPREAD - 1) / SPREAD;

        while (i < KEYS && !model[i])
                i++;
        return found == (i < KEYS) &&
               (i >= KEYS || (got.key == i * SPREAD && got.value == model[i] - 1));
}

/* Whether an insertion was possible. */
static bool put(struct order *o, uint32_t i)
{
        uint32_t value = any(1u << 30);

        if (!order_insert(o, (uint64_t)i * SPREAD, value))
                return false;
        model[i] = value + 1;
        return true;
}

static void take(struct order *o, uint32_t i)
{
        is_equal(order_remove(o, (uint64_t)i * SPREAD), model[i] != 0);
        model[i] = 0;
}

static uint32_t model_entries(void)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < KEYS; i++)
                count += model[i] != 0;
        return count;
}

static void is_as_the_model(const struct order *o)
{
        struct shape s = shape_of(o);
        bool right = true;

        is_true(!s.wrong);
        is_equal(s.entries, model_entries());
        for (int i = 0; i < 200; i++) {
                uint64_t key = (uint64_t)any(KEYS) * SPREAD + any(3) * (SPREAD - 1) / 2;

                right &= floor_is_right(o, key) && ceiling_is_right(o, key);
        }
        is_true(right && floor_is_right(o, UINT64_MAX - SPREAD) && floor_is_right(o, 0) &&
                ceiling_is_right(o, 0));
}

TEST(an_empty_one_has_nothing)
{
        struct order o = begin(1, KEYS);
        struct order_entry e;

        is_true(!order_floor(&o, 5, &e) && !order_ceiling(&o, 0, &e) && !order_remove(&o, 5));
        is_true(order_insert(&o, 5, 7) && order_remove(&o, 5));
        is_true(!order_floor(&o, 5, &e) && !order_ceiling(&o, 0, &e) && !order_remove(&o, 5));
}

/* Times with much growth, with much shrinking and with both. */
static void random_course(uint64_t start, uint32_t room_for)
{
        struct order o = begin(start, room_for);
        uint32_t refused = 0;

        for (uint32_t step = 0; step < 400000; step++) {
                uint32_t i = any(KEYS), growth = 30 + step / 20000 * 7919 % 41;

                if (any(100) >= growth)
                        take(&o, i);
                else if (!model[i])
                        refused += !put(&o, i);
                if (step % 20000 == 0)
                        is_as_the_model(&o);
        }
        is_as_the_model(&o);
        is_equal(refused != 0, room_for < KEYS);
        for (uint32_t i = 0; i < KEYS; i++)
                take(&o, i);
        is_as_the_model(&o);
        is_true(shape_of(&o).nodes <= 1);
}

TEST(after_random_changes_it_is_what_an_array_is)
{
        for (uint64_t start = 1; start <= 5; start++)
                random_course(start * 0x9e3779b97f4a7c15ull, KEYS);
}

TEST(without_memory_nothing_is_lost_and_nothing_is_wrong)
{
        random_course(77, 100);
        random_course(78, 3);
        random_course(79, 1);
}

TEST(keys_in_order_and_in_reverse_leave_full_leaves)
{
        struct order o = begin(3, KEYS);

        for (uint32_t i = 0; i < KEYS; i++)
                put(&o, i);
        is_as_the_model(&o);
        is_true(shape_of(&o).leaves * (ORDER_FAN * 3 / 4) < KEYS);
        o = begin(4, KEYS);
        for (uint32_t i = KEYS; i-- > 0;)
                put(&o, i);
        is_as_the_model(&o);
        is_true(shape_of(&o).leaves * (ORDER_FAN * 3 / 4) < KEYS);
}

/* One in a hundred stays: leaves that hold little become one. */
TEST(what_has_shrunk_takes_little_room)
{
        struct order o = begin(5, KEYS);

        for (uint32_t i = 0; i < KEYS; i++)
                put(&o, i);
        for (uint32_t i = 0; i < KEYS; i++)
                if (i % 100)
                        take(&o, i);
        is_as_the_model(&o);
        is_true(shape_of(&o).leaves <= KEYS / 100 / (ORDER_FAN / 4) + 1);
}

TEST(ranges_that_go_at_once_from_either_side)
{
        struct order o = begin(6, KEYS);

        for (int round = 0; round < 20; round++) {
                uint32_t from = any(KEYS), to = from + any(KEYS - from);

                for (uint32_t i = 0; i < KEYS; i++)
                        if (!model[i])
                                put(&o, i);
                for (uint32_t i = from; i < to; i++)
                        take(&o, round % 2 ? i : to - 1 - (i - from));
                is_as_the_model(&o);
        }
}

TAP_MAIN(an_empty_one_has_nothing, after_random_changes_it_is_what_an_array_is,
         without_memory_nothing_is_lost_and_nothing_is_wrong,
         keys_in_order_and_in_reverse_leave_full_leaves, what_has_shrunk_takes_little_room,
         ranges_that_go_at_once_from_either_side)
