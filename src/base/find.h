/* SPDX-License-Identifier: MIT */
/* find.h -- binary search. */
#ifndef SEEP_BASE_FIND_H
#define SEEP_BASE_FIND_H

#include <stdint.h>

/*
 * The number of elements, of COUNT in order, that are BEFORE what is looked for: an expression of
 * I, the index of an element, that is true for the first ones and false for the rest.  The first
 * element that is not before is at that index, if there is one.
 *
 *     uint64_t i = FIND_FIRST(count, i, list[i].address < address);
 */
#define FIND_FIRST(count, i, before)                                           \
        __extension__({                                                        \
                uint64_t find_low = 0, find_high = (count);                    \
                                                                               \
                while (find_low < find_high) {                                 \
                        uint64_t i = find_low + (find_high - find_low) / 2;    \
                                                                               \
                        if (before)                                            \
                                find_low = i + 1;                              \
                        else                                                   \
                                find_high = i;                                 \
                }                                                              \
                find_low;                                                      \
        })

#endif
