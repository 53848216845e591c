/* SPDX-License-Identifier: MIT */
/*
 * code.h -- does a word point into a module of the program?
 *
 * Room:   leak/ only.
 */
#ifndef SEEP_LEAK_CODE_H
#define SEEP_LEAK_CODE_H

#include "leak/search.h"

static inline bool code_has(const struct search_input *in, uint64_t word)
{
        uint32_t low = 0, high = in->code_count;

        if (!high || word < in->code[0].start || word >= in->code[high - 1].end)
                return false;
        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (in->code[middle].end <= word)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < in->code_count && word >= in->code[low].start;
}

#endif
