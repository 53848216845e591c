/* SPDX-License-Identifier: MIT */
#include "profile/reserve.h"

#include "base/heap.h"
#include "ledger/ledger.h"

bool *reserve_stacks(const struct profile *p)
{
        bool *stacks = heap_zero(p->site_count, sizeof *stacks);

        for (uint32_t i = 0; i < p->region_count; i++)
                if (p->regions[i].stack && p->regions[i].site < p->site_count)
                        stacks[p->regions[i].site] = true;
        return stacks;
}

bool *reserve_sites(const struct profile *p)
{
        bool *sites = reserve_stacks(p);

        for (uint32_t i = 1; i < p->site_count; i++)
                if (LEDGER_KIND_IS_MAPPED(p->sites[i].kind) &&
                    (reserve_is(p, p->sites[i].peak_bytes) ||
                     reserve_is(p, p->sites[i].live_bytes)))
                        sites[i] = true;
        return sites;
}
