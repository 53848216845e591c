/* SPDX-License-Identifier: MIT */
/* interval.c -- what a process allocated between two looks at it. */
#include "serve/interval.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/key.h"

static int compare(const void *a, const void *b)
{
        const struct interval_site *one = a, *other = b;

        return ORDER(one->key, other->key);
}

static const struct interval_site *find(const struct interval *i, uint64_t key)
{
        struct interval_site wanted = { .key = key };

        return i->count ? bsearch(&wanted, i->sites, i->count, sizeof *i->sites, compare) : NULL;
}

/* What is read while the program runs may be behind: what was sent once is not sent again. */
static uint64_t take(uint64_t *value, uint64_t before)
{
        uint64_t all = *value > before ? *value : before;

        *value = all - before;
        return all;
}

void interval_take(struct interval *i, struct profile *p)
{
        struct interval now = { heap_zero(p->site_count, sizeof *now.sites), 0 };
        uint64_t *keys = key_of_nodes(p);

        for (uint32_t s = 1; s < p->site_count; s++) {
                struct profile_site *site = &p->sites[s];
                struct interval_site *seen = &now.sites[now.count++];
                const struct interval_site *before;

                seen->key = key_add(keys[site->node], site->kind);
                before = find(i, seen->key);
                seen->allocs = take(&site->allocs, before ? before->allocs : 0);
                seen->alloc_bytes = take(&site->alloc_bytes, before ? before->alloc_bytes : 0);
        }
        free(keys);
        p->share_count = 0;
        p->block_count = p->verdict_count = 0;
        qsort(now.sites, now.count, sizeof *now.sites, compare);
        interval_free(i);
        *i = now;
}

void interval_free(struct interval *i)
{
        free(i->sites);
        *i = (struct interval){ 0 };
}
