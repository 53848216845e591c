/* SPDX-License-Identifier: MIT */
/* code.h -- whether a word points into a module of the program */
#ifndef SEEP_LEAK_CODE_H
#define SEEP_LEAK_CODE_H

#include "base/find.h"
#include "leak/search.h"

static inline bool code_has(const struct search_input *in, uint64_t word)
{
        uint32_t high = in->code_count, low;

        if (!high || word < in->code[0].start || word >= in->code[high - 1].end)
                return false;
        low = (uint32_t)FIND_FIRST(high, i, in->code[i].end <= word);
        return low < in->code_count && word >= in->code[low].start;
}

#endif
