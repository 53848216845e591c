/* SPDX-License-Identifier: MIT */
#include "profile/key.h"

#include <stdlib.h>

#include "base/heap.h"

uint64_t key_add(uint64_t key, uint64_t part)
{
        key = (key ^ part) * 0x9e3779b97f4a7c15ull;
        key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9ull;
        return key ^ key >> 32;
}

uint64_t key_add_text(uint64_t key, const char *text)
{
        for (; *text; text++)
                key = key_add(key, (unsigned char)*text);
        return key;
}

static uint64_t key_of_module(const struct profile_module *m)
{
        uint64_t key = m->build_id_bytes;

        for (uint32_t i = 0; i < m->build_id_bytes && i < sizeof m->build_id; i++)
                key = key_add(key, m->build_id[i]);
        return key_add_text(key, m->path ? m->path : "");
}

/* Addresses alone are not enough: another library may be loaded where one was. */
uint64_t *key_of_nodes(const struct profile *p)
{
        uint64_t *modules = heap_zero(p->module_count, sizeof *modules),
                 *keys = heap_zero(p->node_count, sizeof *keys);

        for (uint32_t i = 0; i < p->module_count; i++)
                modules[i] = key_of_module(&p->modules[i]);
        for (uint32_t i = 0; i < p->node_count; i++) {
                const struct profile_node *n = &p->nodes[i];
                bool known = n->module < p->module_count;
                uint64_t bias = known ? p->modules[n->module].bias : 0;

                keys[i] = i > 1 ? key_add(key_add(keys[n->parent], n->pc - bias),
                                          n->exact + (known ? modules[n->module] : 0))
                                : i;
        }
        free(modules);
        return keys;
}
