/* SPDX-License-Identifier: MIT */
#include "profile/reserve.h"

#include "base/heap.h"

bool *reserve_stacks(const struct profile *p)
{
        bool *stacks = heap_zero(p->site_count, sizeof *stacks);

        for (uint32_t i = 0; i < p->region_count; i++)
                if (p->regions[i].stack && p->regions[i].site < p->site_count)
                        stacks[p->regions[i].site] = true;
        return stacks;
}
