/* SPDX-License-Identifier: MIT */
#include "leak/run.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/classes.h"
#include "leak/idioms.h"
#include "leak/pass.h"
#include "leak/huge_array.h"

/* Links were counted in first[owner + 1]. */
static void search_sum(struct search_graph *g)
{
        for (uint64_t i = 0; i < g->block_count; i++)
                g->first[i + 1] += g->first[i];
}

/* Words of an arena lie before, between and after those of the blocks in it: bring them together.
 * Keeps the order of each owner's. */
static void search_sort(struct search_graph *g, const uint32_t *owners)
{
        struct search_link *sorted = huge_array_grow(NULL, g->link_count, sizeof *sorted);
        uint8_t *offsets = huge_array_grow(NULL, g->link_count, sizeof *offsets);

        for (uint64_t i = 0; i < g->link_count; i++) {
                offsets[g->first[owners[i]]] = g->link_offsets[i];
                sorted[g->first[owners[i]]++] = g->links[i];
        }
        for (uint64_t i = g->block_count; i > 0; i--) /* each is now where its successor was */
                g->first[i] = g->first[i - 1];
        g->first[0] = 0;
        free(g->links);
        free(g->link_offsets);
        g->links = sorted;
        g->link_offsets = offsets;
}

static void search_links(const struct search_input *in, struct search_graph *g)
{
        struct index index;
        uint32_t *owners;

        index_make(&index, in);
        g->block_flags = index.flags;
        g->nested = index.parents != NULL;
        g->unit = in->unaligned || !index.exact ? 1 : search_width(in->memory.narrow);
        owners = pass_run(in, &index, g);
        search_sum(g);
        if (owners)
                search_sort(g, owners);
        free(owners);
        index_free(&index);
}

void search_run(const struct search_input *in, struct search_graph *g)
{
        *g = (struct search_graph){
                .block_count = in->block_count,
                .first = heap_dense(in->block_count + 1, sizeof *g->first), /* had by the pass */
                .vtables = heap_zero(in->block_count, sizeof *g->vtables),
                .leak = huge_array_zero(in->block_count, sizeof *g->leak),
                .idiom = heap_zero(in->block_count, sizeof *g->idiom), /* no idiom, no memory */
        };
        search_links(in, g);
        classes_mark(in, g);
        if (!in->no_idioms && idioms_find(in, g))
                classes_mark_more(in, g);
        classes_note_idioms(in, g);
        free(g->link_offsets);
        free(g->hold_offsets);
        g->link_offsets = g->hold_offsets = NULL;
        classes_lost(in, g);
}

void search_graph_free(struct search_graph *g)
{
        free(g->first);
        free(g->links);
        free(g->holds);
        free(g->vtables);
        free(g->leak);
        free(g->idiom);
        free(g->head);
        *g = (struct search_graph){ 0 };
}
