/* SPDX-License-Identifier: MIT */
/* arrange.c -- the order of many things by their numbers: byte by byte, the lowest first. */
#include "base/arrange.h"

#include <stdbool.h>
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

/* How often each byte of the keys that is not the same in all (DIFFERS) has each value. */
static void count_values(const uint32_t *order, uint32_t count, const uint64_t *keys,
                         uint64_t differs, uint32_t counts[ARRANGE_BYTES][ARRANGE_VALUES])
{
        for (unsigned byte = 0; byte < ARRANGE_BYTES; byte++)
                for (uint32_t i = 0; differs >> 8 * byte & 0xff && i < count; i++)
                        counts[byte][keys[order[i]] >> 8 * byte & 0xff]++;
}

void arrange_by(uint32_t *order, uint32_t count, const uint64_t *keys)
{
        uint32_t counts[ARRANGE_BYTES][ARRANGE_VALUES] = { { 0 } }, *from = order, *to, *spare;
        uint64_t differs = 0;
        bool sorted = true;

        for (uint32_t i = 1; i < count; i++) {
                sorted &= keys[order[i - 1]] <= keys[order[i]];
                differs |= keys[order[i - 1]] ^ keys[order[i]];
        }
        if (sorted)
                return;
        spare = to = heap_grow(NULL, count, sizeof *to);
        count_values(order, count, keys, differs, counts);
        for (unsigned byte = 0; byte < ARRANGE_BYTES; byte++) {
                uint32_t *places = counts[byte], *other = from;

                if (!(differs >> 8 * byte & 0xff))
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
