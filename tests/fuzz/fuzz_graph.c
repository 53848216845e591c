/* SPDX-License-Identifier: MIT */
/*
 * fuzz_graph.c -- any bytes as a `.seep` file, and all questions to the graph in it: paths,
 * holders, retained sizes.
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

static bool has_pointer(const struct profile *p, uint32_t from, uint32_t to, uint64_t at)
{
        for (uint64_t i = 0; i < p->pointer_count; i++)
                if (p->pointers[i].from == from && p->pointers[i].to == to &&
                    p->pointers[i].at == at)
                        return true;
        return false;
}

/* Each step's pointer is in the block before and leads to the block of the step. */
static void check_path(struct graph *g, const struct profile *p, struct graph_path *path,
                       uint32_t block)
{
        graph_name(g, path);
        for (uint32_t i = 1; i < path->count; i++)
                must(has_pointer(p, path->blocks[i - 1], path->blocks[i], path->at[i]));
        if (path->count && path->hold != GRAPH_NONE)
                must(p->holds[path->hold].to == path->blocks[0]);
        must(!path->count || path->blocks[path->count - 1] == block);
}

static void ask_block(struct graph *g, const struct profile *p, uint32_t block)
{
        uint64_t *found, holders = graph_holders(g, block, &found);
        struct graph_path path;

        for (uint64_t i = 0; i < holders && i < BLOCKS_ASKED; i++) {
                path = graph_path_below(g, p->holds[found[i]].to, block);
                must(path.count == graph_distance(g, found[i], block) && path.count > 0);
                check_path(g, p, &path, block);
                graph_path_free(&path);
        }
        free(found);
        path = graph_path(g, block);
        check_path(g, p, &path, block);
        must(holders == 0 || path.count > 0);
        graph_path_free(&path);
        must(graph_pointers_to(g, block) <= p->pointer_count);
}

static void ask_all(struct graph *g, const struct profile *p)
{
        uint32_t *of_hold = heap_zero(p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { of_hold, GRAPH_LOST };
        struct graph_retained r;
        uint64_t blocks = 0;

        for (uint64_t i = 0; i < p->hold_count; i++)
                of_hold[i] = graph_rank(p->roots[p->holds[i].from].kind);
        graph_retain(g, &owners, &(struct graph_wish){ .owner_of = true, .by_site = true }, &r);
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
