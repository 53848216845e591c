/* SPDX-License-Identifier: MIT */
/* arrange.c -- the order of many things by their numbers: digit by digit, the lowest first. */
#include "base/arrange.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* Digits: few bits for few things, whose counters would cost more than what is counted. */
enum { ARRANGE_BITS = 11, ARRANGE_BITS_OF_FEW = 8, ARRANGE_FEW = 4096,
       ARRANGE_DIGITS = 64 / ARRANGE_BITS_OF_FEW, ARRANGE_AHEAD = 16 };

/* Some bits of the keys that are not the same in all, and how often they have each value. */
struct digit {
        unsigned shift;
        uint32_t mask;
        uint32_t *counts;
};

uint32_t *arrange_start(uint32_t count)
{
        uint32_t *order = heap_grow(NULL, count, sizeof *order);

        for (uint32_t i = 0; i < count; i++)
                order[i] = i;
        return order;
}

static void count_values(const struct digit *d, const uint32_t *order, uint32_t count,
                         const uint64_t *keys)
{
        for (uint32_t i = 0; i < count; i++)
                d->counts[keys[order[i]] >> d->shift & d->mask]++;
}

/* FROM in the order of a digit to TO.  The keys are anywhere in memory. */
static void pass(struct digit *d, const uint32_t *from, uint32_t *to, uint32_t count,
                 const uint64_t *keys)
{
        uint32_t *places = d->counts;

        /* Counts become places. */
        for (uint32_t value = 0, sum = 0, here; value <= d->mask; value++, sum += here) {
                here = places[value];
                places[value] = sum;
        }
        for (uint32_t i = 0; i < count; i++) {
                if (count - i > ARRANGE_AHEAD)
                        __builtin_prefetch(&keys[from[i + ARRANGE_AHEAD]]);
                to[places[keys[from[i]] >> d->shift & d->mask]++] = from[i];
        }
}

/* The digits of keys that differ in the bits DIFFERS. */
static unsigned digits_of(uint64_t differs, uint32_t mask, uint32_t *counts,
                          struct digit digits[ARRANGE_DIGITS])
{
        unsigned n = 0;

        for (; differs; n++, counts += mask + 1) {
                digits[n] = (struct digit){ (unsigned)__builtin_ctzll(differs), mask, counts };
                differs &= ~((uint64_t)mask << digits[n].shift);
        }
        return n;
}

void arrange_by(uint32_t *order, uint32_t count, const uint64_t *keys)
{
        uint32_t mask = (1u << (count < ARRANGE_FEW ? ARRANGE_BITS_OF_FEW : ARRANGE_BITS)) - 1;
        uint32_t *from = order, *to, *spare, *counts;
        struct digit digits[ARRANGE_DIGITS];
        uint64_t differs = 0;
        bool sorted = true;
        unsigned n;

        for (uint32_t i = 1; i < count; i++) {
                sorted &= keys[order[i - 1]] <= keys[order[i]];
                differs |= keys[order[i - 1]] ^ keys[order[i]];
        }
        if (sorted)
                return;
        spare = to = heap_grow(NULL, count, sizeof *to);
        counts = heap_zero((size_t)ARRANGE_DIGITS * (mask + 1), sizeof *counts);
        n = digits_of(differs, mask, counts, digits);
        for (unsigned i = 0; i < n; i++)
                count_values(&digits[i], order, count, keys);
        for (unsigned i = 0; i < n; i++) {
                uint32_t *other = from;

                pass(&digits[i], from, to, count, keys);
                from = to;
                to = other;
        }
        if (from != order)
                memcpy(order, from, count * sizeof *order);
        free(counts);
        free(spare);
}
