/* SPDX-License-Identifier: MIT */
/*
 * needed.c -- the nodes of a selection's tree that its stacks pass through.
 *
 * Room:   outside.
 */
#include "query/needed.h"

#include "base/heap.h"

static void needed_part(const struct selection *sel, const struct select_part *part, uint8_t *needed)
{
        for (uint32_t i = 0; i < part->count; i++)
                for (uint32_t at = part->rows[i].node; at > 1 && !needed[at]; at = select_parent(sel, at))
                        needed[at] = 1;
}

uint8_t *needed_nodes(const struct selection *sel)
{
        uint8_t *needed = heap_zero(sel->node_count, 1);

        needed_part(sel, &sel->heap, needed);
        needed_part(sel, &sel->mapped, needed);
        return needed;
}
