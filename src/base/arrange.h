/* SPDX-License-Identifier: MIT */
/*
 * arrange.h -- sorting large arrays by numbers.
 *
 * Cost:   a million things by one number: 10 to 40 ms, where qsort() takes 150 to 250; eight bytes
 *         for each besides the order.
 */
#ifndef SEEP_BASE_ARRANGE_H
#define SEEP_BASE_ARRANGE_H

#include <stddef.h>
#include <stdint.h>

/* COUNT things as they are: 0, 1, 2 ...  To be freed. */
uint32_t *arrange_start(uint32_t count);

/* Put ORDER into the order of KEYS (by thing), smallest first; things of the same key
 * stay as they were to each other.  So what decides last comes first: arrange by the
 * second key, then by the first. */
void arrange_by(uint32_t *order, uint32_t count, const uint64_t *keys);

/* The key that puts the largest VALUE first. */
static inline uint64_t arrange_down(int64_t value)
{
        return ~((uint64_t)value ^ 1ull << 63);
}

#endif
