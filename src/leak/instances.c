/* SPDX-License-Identifier: MIT */
#include "leak/instances.h"

#define INSTANCES_LINKS 512u /* of a block are looked at: private data, types, classes are small */

/* Others may turn interior links into idioms meanwhile; one to a start stays one. */
static uint32_t instances_to(const struct search_link *link)
{
        return __atomic_load_n(&link->to, __ATOMIC_RELAXED);
}

static bool is_to_start(uint32_t to)
{
        return !(to & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM));
}

static uint64_t instances_end(const struct search_graph *g, uint32_t block)
{
        uint64_t first = g->first[block], end = g->first[block + 1];

        return end - first < INSTANCES_LINKS ? end : first + INSTANCES_LINKS;
}

static bool leads_to(const struct search_graph *g, uint32_t from, uint32_t to)
{
        uint64_t end = instances_end(g, from);
        bool found = false;

        for (uint64_t i = g->first[from]; i < end && !found; i++)
                found = instances_to(&g->links[i]) == to;
        return found;
}

/* The first word of a class is its type. */
static bool is_class(const struct search_graph *g, uint32_t block)
{
        uint64_t first = g->first[block], end;
        uint32_t type = first < g->first[block + 1] && !g->links[first].at
                                ? instances_to(&g->links[first])
                                : SEARCH_LINK_INTERIOR;
        bool found = false;

        if (!is_to_start(type))
                return false;
        end = instances_end(g, type);
        for (uint64_t i = g->first[type]; i < end && !found; i++) {
                uint32_t data = instances_to(&g->links[i]);

                found = is_to_start(data) && data != block && leads_to(g, data, block);
        }
        return found;
}

static bool begins_with_class(const struct search_graph *g, const struct search_link *link)
{
        uint32_t to = instances_to(link);

        return link->at < SEARCH_AT_ARENA && is_to_start(to) && is_class(g, to);
}

bool instances_begin_at(const struct search_graph *g, uint32_t block, uint64_t offset)
{
        uint64_t end = instances_end(g, block);
        bool found = false;

        for (uint64_t i = g->first[block]; i < end && !found; i++)
                found = (uint64_t)g->links[i].at * g->unit == offset &&
                        begins_with_class(g, &g->links[i]);
        return found;
}

bool instances_begin_in(const struct search_graph *g, uint32_t block)
{
        uint64_t end = instances_end(g, block);
        bool found = false;

        for (uint64_t i = g->first[block]; i < end && !found; i++)
                found = g->links[i].at && begins_with_class(g, &g->links[i]);
        return found;
}
