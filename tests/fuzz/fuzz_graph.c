/* SPDX-License-Identifier: MIT */
/*
 * fuzz_graph.c -- any bytes as a `.seep` file, and all questions to the graph in it: paths, holders, retained sizes.
 *
 * Built as fuzz_file.c is.  Paths must be whole, and the sums must add up to all blocks.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/heap.h"
#include "leak/graph.h"
#include "profile/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCKS_ASKED = 20 };

static void must(bool good)
{
        if (!good)
                abort();
}

/* Each step's pointer is in the block before and leads to the block of the step. */
static void check_path(const struct profile *p, const struct graph_step *steps, uint32_t count, uint32_t block)
{
        for (uint32_t i = 0; i < count; i++) {
                if (i)
                        must(p->pointers[steps[i].pointer].from == steps[i - 1].block && p->pointers[steps[i].pointer].to == steps[i].block);
                else if (steps[i].hold != GRAPH_NONE)
                        must(p->holds[steps[i].hold].to == steps[i].block);
        }
        must(!count || steps[count - 1].block == block);
}

static void ask_block(struct graph *g, const struct profile *p, uint32_t block)
{
        struct graph_step *steps;
        uint64_t *found, holders = graph_holders(g, block, &found);
        uint32_t count;

        for (uint64_t i = 0; i < holders && i < BLOCKS_ASKED; i++) {
                count = graph_path_below(g, p->holds[found[i]].to, block, &steps);
                must(count == graph_distance(g, found[i], block) && count > 0);
                check_path(p, steps, count, block);
                free(steps);
        }
        free(found);
        count = graph_path(g, block, &steps);
        check_path(p, steps, count, block);
        must(holders == 0 || count > 0);
        free(steps);
        graph_pointers_to(g, block, &found);
        free(found);
}

static void ask_all(struct graph *g, const struct profile *p)
{
        uint32_t *of_hold = heap_zero(p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { of_hold, GRAPH_LOST };
        struct graph_retained r;
        uint64_t blocks = 0;

        for (uint64_t i = 0; i < p->hold_count; i++)
                of_hold[i] = graph_rank(p->roots[p->holds[i].from].kind);
        graph_retain(g, &owners, NULL, &r);
        for (uint32_t i = 0; i < owners.count; i++)
                blocks += r.by_owner[i].blocks;
        must(blocks + r.shared.blocks + r.ignored.blocks + r.lost.blocks == p->block_count);
        graph_retained_free(&r);
        free(of_hold);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct profile p;
        struct err e = { 0 };
        struct graph *g;

        if (!image_read(&p, data, size, "fuzz", &e))
                return 0;
        if (profile_scanned(&p) && p.scans[0].flags & PROFILE_SCAN_GRAPH) {
                g = graph_new(&p);
                for (uint32_t i = 0; i < p.block_count && i < BLOCKS_ASKED; i++)
                        ask_block(g, &p, i);
                ask_all(g, &p);
                graph_free(g);
        }
        profile_free(&p);
        return 0;
}
