/* SPDX-License-Identifier: MIT */
/* interval.c -- what a process allocated between two looks at it. */
#include "serve/interval.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"

/* Two of some thousand stacks have one key with a chance of some in 10^12. */
static uint64_t mix(uint64_t key, uint64_t value)
{
        key = (key ^ value) * 0x9e3779b97f4a7c15ull;
        key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9ull;
        return key ^ key >> 32;
}

static uint64_t key_of_text(const char *text)
{
        uint64_t key = 0;

        for (; text && *text; text++)
                key = mix(key, (unsigned char)*text);
        return key;
}

static uint64_t key_of_build(const struct profile_module *m)
{
        uint64_t key = 0;

        for (uint32_t i = 0; i < m->build_id_bytes && i < sizeof m->build_id; i++)
                key = mix(key, m->build_id[i]);
        return key;
}

/* By node: its whole stack.  Addresses alone are not enough: another library may be loaded where
 * one was, and the same one elsewhere. */
static uint64_t *key_nodes(const struct profile *p)
{
        uint64_t *keys = heap_zero(p->node_count, sizeof *keys),
                 *modules = heap_zero(p->module_count, sizeof *modules);

        for (uint32_t i = 0; i < p->module_count; i++)
                modules[i] = mix(key_of_text(p->modules[i].path), key_of_build(&p->modules[i]));
        for (uint32_t i = 0; i < p->node_count; i++) {
                const struct profile_node *n = &p->nodes[i];

                uint64_t bias = n->module < p->module_count ? p->modules[n->module].bias : 0;

                keys[i] = i > 1 ? mix(mix(keys[n->parent], n->pc - bias),
                                      n->exact + (n->module < p->module_count ? modules[n->module]
                                                                              : 0))
                                : i;
        }
        free(modules);
        return keys;
}

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
        uint64_t *keys = key_nodes(p);

        for (uint32_t s = 1; s < p->site_count; s++) {
                struct profile_site *site = &p->sites[s];
                struct interval_site *seen = &now.sites[now.count++];
                const struct interval_site *before;

                seen->key = mix(keys[site->node], site->kind);
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
