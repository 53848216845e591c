/* SPDX-License-Identifier: MIT */
/* arrange.c -- the order of many things by their numbers: byte by byte, the lowest first. */
#include "base/arrange.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

enum { ARRANGE_BYTES = 8, ARRANGE_VALUES = 256 };

uint32_t *arrange_start(uint32_t count)
{
        uint32_t *order = heap_grow(NULL, count, sizeof *order);

        for (uint32_t i = 0; i < count; i++)
                order[i] = i;
        return order;
}

/* How often each byte of the keys has each value. */
static void count_values(const uint32_t *order, uint32_t count, const uint64_t *keys,
                         uint32_t counts[ARRANGE_BYTES][ARRANGE_VALUES])
{
        for (uint32_t i = 0; i < count; i++)
                for (unsigned byte = 0; byte < ARRANGE_BYTES; byte++)
                        counts[byte][keys[order[i]] >> 8 * byte & 0xff]++;
}

void arrange_by(uint32_t *order, uint32_t count, const uint64_t *keys)
{
        uint32_t counts[ARRANGE_BYTES][ARRANGE_VALUES] = { { 0 } }, *from = order, *to, *spare;
        uint32_t sorted = 1;

        while (sorted < count && keys[order[sorted - 1]] <= keys[order[sorted]])
                sorted++;
        if (sorted >= count)
                return;
        spare = to = heap_grow(NULL, count, sizeof *to);
        count_values(order, count, keys, counts);
        for (unsigned byte = 0; byte < ARRANGE_BYTES; byte++) {
                uint32_t *places = counts[byte], *other = from;

                if (places[keys[order[0]] >> 8 * byte & 0xff] == count) /* the same in all */
                        continue;
                /* Counts become places. */
                for (uint32_t value = 0, sum = 0, here; value < ARRANGE_VALUES;
                     value++, sum += here) {
                        here = places[value];
                        places[value] = sum;
                }
                for (uint32_t i = 0; i < count; i++)
                        to[places[keys[from[i]] >> 8 * byte & 0xff]++] = from[i];
                from = to;
                to = other;
        }
        if (from != order)
                memcpy(order, from, count * sizeof *order);
        free(spare);
}
