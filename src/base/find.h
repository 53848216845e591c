/* SPDX-License-Identifier: MIT */
/* find.h -- binary search. */
#ifndef SEEP_BASE_FIND_H
#define SEEP_BASE_FIND_H

#include <stdint.h>

/*
 * The index of the first of COUNT sorted elements for which BEFORE is false, or COUNT.  BEFORE is
 * an expression of I, the index of an element; it is true for the first elements and false for
 * the rest.
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
