/* SPDX-License-Identifier: MIT */
/*
 * forge_big.c -- a recording with very many call stacks, to see how long reports of it take.
 *
 * usage: forge_big FILE [SITES [DEPTH]]      100,000 stacks of 20 frames unless told otherwise
 *
 * Names are stored in the file.  Stacks share their outer frames as those of real programs do; each
 * has a course over 100 slices and some live blocks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "forge.h"
#include "profile/file.h"
#include "sample.h"

enum {
        BIG_FUNCTIONS = 20000,
        BIG_SLICES = 100,
        BIG_CHANGES_PER_SLICE = 5000,
        BIG_BLOCKS_PER_SITE = 5,
        BIG_SPREAD = 4
};

static void big_names(struct profile *p)
{
        char function[64], file[64];

        p->symbols = heap_zero(BIG_FUNCTIONS, sizeof *p->symbols);
        for (uint32_t i = 0; i < BIG_FUNCTIONS; i++) {
                snprintf(function, sizeof function, "space::type_%u<int>::function_%u(int)", i / 50,
                         i);
                snprintf(file, sizeof file, "/src/part_%u/file_%u.cpp", i / 1000, i / 50);
                p->symbols[i] = (struct profile_symbol){ .address = 0x1000 + 16 * (uint64_t)i - 1,
                                                         .function = heap_text(function),
                                                         .file = heap_text(file),
                                                         .line = 1 + i % 50 * 20 };
        }
        p->symbol_count = BIG_FUNCTIONS;
}

/* A tree in which the outer half of all stacks branches little, the inner half much. */
static void big_stacks(struct profile *p, uint32_t sites, uint32_t depth, uint64_t *state)
{
        uint32_t *row = heap_zero((size_t)sites, sizeof *row), made = 1;

        p->nodes = heap_grow(p->nodes, 2 + (size_t)sites * depth, sizeof *p->nodes);
        p->sites = heap_grow(p->sites, 1 + (size_t)sites, sizeof *p->sites);
        for (uint32_t level = 0; level < depth; level++) {
                uint32_t wanted = level * 2 < depth ? level + 1 : made * BIG_SPREAD;

                if (wanted > sites || level + 3 > depth)
                        wanted = sites;
                for (uint32_t i = wanted; i-- > 0;) {
                        uint32_t parent = level ? row[i % made] : 0;

                        p->nodes[p->node_count] = (struct profile_node){
                                0x1000 + 16 * (sample_random(state) % BIG_FUNCTIONS), parent, 0, 0
                        };
                        /* downwards: parents are still needed below, not above */
                        row[i] = p->node_count++;
                }
                made = wanted;
        }
        for (uint32_t i = 0; i < sites; i++) {
                uint64_t blocks = sample_random(state) % 40,
                         calls = blocks + sample_random(state) % 1000;

                p->sites[p->site_count++] = (struct profile_site){
                        .node = row[i],
                        .kind = LEDGER_KIND_MALLOC,
                        .allocs = calls,
                        .frees = calls - blocks,
                        .alloc_bytes = calls * 48,
                        .live_blocks = blocks,
                        .live_bytes = blocks * 48,
                        .peak_blocks = blocks / 2,
                        .peak_bytes = blocks / 2 * 48,
                        .temporary = calls / 3,
                        .lifetime_ms = calls * 7,
                };
        }
        free(row);
}

static void big_blocks(struct profile *p, uint32_t sites, uint64_t *state)
{
        p->blocks = heap_zero((size_t)sites * BIG_BLOCKS_PER_SITE, sizeof *p->blocks);
        for (uint64_t i = 0; i < (uint64_t)sites * BIG_BLOCKS_PER_SITE; i++)
                p->blocks[p->block_count++] = (struct profile_block){ 0x100000 + 64 * i, 48,
                                                                      1 + (uint32_t)(i % sites), 1,
                                                                      sample_random(state) %
                                                                              60000 };
}

static void big_slices(struct profile *p, uint32_t sites, uint64_t *state)
{
        p->slices = heap_zero(BIG_SLICES, sizeof *p->slices);
        p->changes = heap_zero((size_t)BIG_SLICES * BIG_CHANGES_PER_SLICE, sizeof *p->changes);
        for (uint32_t i = 0; i < BIG_SLICES; i++) {
                p->slices[i] = (struct profile_slice){ .ms = 600 * (uint64_t)i,
                                                       .live_bytes = 100000 + 5000 * (uint64_t)i,
                                                       .rss_bytes = 300000 + 6000 * (uint64_t)i,
                                                       .change_first = p->change_count };
                for (uint32_t k = 0; k < BIG_CHANGES_PER_SLICE; k++) {
                        uint32_t site = 1 + (uint32_t)((uint64_t)k * sites / BIG_CHANGES_PER_SLICE);
                        uint64_t live = 100 * (uint64_t)i + sample_random(state) % 50;

                        p->changes[p->change_count++] = (struct profile_change){
                                site, 0, live * 48, live, live + i, live * 50
                        };
                }
                p->slices[i].change_count = p->change_count - p->slices[i].change_first;
        }
        p->slice_count = BIG_SLICES;
}

static void big_sums(struct profile *p)
{
        for (uint32_t i = 1; i < p->site_count; i++) {
                p->totals.allocations += p->sites[i].allocs;
                p->totals.frees += p->sites[i].frees;
                p->totals.bytes_allocated += p->sites[i].alloc_bytes;
                p->totals.live_blocks += p->sites[i].live_blocks;
                p->totals.live_bytes += p->sites[i].live_bytes;
                p->totals.peak_bytes += p->sites[i].peak_bytes;
                p->totals.temporary += p->sites[i].temporary;
        }
        p->totals.sizes[6] = p->totals.allocations;
        p->totals.lifetimes[3] = p->totals.frees;
        p->totals.peak_ms = 30000;
        p->meta.duration_ms = 60000;
}

int main(int argc, char **argv)
{
        uint32_t sites = argc > 2 ? (uint32_t)atoi(argv[2]) : 100000,
                 depth = argc > 3 ? (uint32_t)atoi(argv[3]) : 20;
        uint64_t state = 42;
        struct profile p;
        struct err e = { 0 };

        if (argc < 2 || !sites || depth < 4) {
                fprintf(stderr, "usage: forge_big FILE [SITES [DEPTH]]\n");
                return 2;
        }
        forge_start(&p);
        forge_module(&p, "/usr/bin/big");
        p.modules[0].end = 1 << 30;
        forge_thread(&p, 1, "main");
        big_names(&p);
        big_stacks(&p, sites, depth, &state);
        big_blocks(&p, sites, &state);
        big_slices(&p, sites, &state);
        big_sums(&p);
        if (!file_write(&p, argv[1], &e)) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
        }
        printf("%u sites, %u nodes\n", p.site_count - 1, p.node_count);
        profile_free(&p);
        return 0;
}
