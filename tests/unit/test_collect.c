/* SPDX-License-Identifier: MIT */
/*
 * test_collect.c -- from ledger to profile: forged ledgers with known contents.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/blocks.h"
#include "collect/collect.h"
#include "profile/model.h"
#include "profile/packed.h"
#include "specimen.h"
#include "tap.h"

static void collect_depth(const struct specimen *f, uint32_t depth, struct profile *p)
{
        struct view v = specimen_view(f);
        struct collect_input in = { .view = &v, .depth = depth, .ended = true };

        collect(&in, p);
        packed_undo(p);
        view_close(&v);
}

/* As somebody who looks at the process PID while it runs. */
static void collect_running(const struct specimen *f, uint32_t pid, struct profile *p)
{
        struct view v = specimen_view(f);
        struct collect_input in = { .view = &v, .pid = pid };

        collect(&in, p);
        packed_undo(p);
        view_close(&v);
}

static void collect_all(const struct specimen *f, struct profile *p)
{
        collect_depth(f, 0, p);
}

/* ---- stacks ---- */

TEST(nodes_met_twice_become_one_and_so_do_their_sites)
{
        struct specimen f;
        struct profile p;
        uint32_t a, b;

        specimen_open(&f);
        f.head->several = 1;
        specimen_slot(&f, 0);
        a = specimen_node(&f, specimen_node(&f, 0, 0x100), 0x200);
        b = specimen_node(&f, specimen_node(&f, 0, 0x100), 0x200);
        a = specimen_site(&f, a, LEDGER_KIND_MALLOC);
        b = specimen_site(&f, b, LEDGER_KIND_MALLOC);
        specimen_events(&f, 0, a, 2, 1, 10);
        specimen_events(&f, 0, b, 5, 0, 10);
        collect_all(&f, &p);
        is_equal(p.node_count, 4);
        is_equal(p.site_count, 2);
        is_equal(p.sites[1].allocs, 7);
        is_equal(p.sites[1].live_bytes, 60);
        is_equal(p.nodes[p.sites[1].node].pc, 0x200);
        is_equal(p.nodes[p.nodes[p.sites[1].node].parent].pc, 0x100);
        profile_free(&p);
        specimen_close(&f);
}

TEST(one_stack_with_two_kinds_is_two_sites)
{
        struct specimen f;
        struct profile p;
        uint32_t node;

        specimen_open(&f);
        node = specimen_node(&f, 0, 0x100);
        specimen_site(&f, node, LEDGER_KIND_NEW);
        specimen_site(&f, node, LEDGER_KIND_MALLOC);
        collect_all(&f, &p);
        is_equal(p.site_count, 3);
        is_equal(p.sites[1].kind, LEDGER_KIND_NEW);
        is_equal(p.sites[2].kind, LEDGER_KIND_MALLOC);
        is_equal(p.sites[1].node, p.sites[2].node);
        profile_free(&p);
        specimen_close(&f);
}

/* A number for the stack of a node: its pcs from the innermost outwards, and the root where it
 * ends. */
static uint64_t hash_stack(uint64_t hash, uint64_t pc)
{
        return (hash ^ pc) * 0x100000001b3ull;
}

static uint64_t raw_stack(const struct specimen *f, uint32_t node, uint32_t depth)
{
        const struct ledger_node *n = specimen_part(f, LEDGER_NODES);
        uint64_t hash = 14695981039346656037ull;

        for (uint32_t i = 0; node > 1 && (!depth || i < depth); i++, node = n[node].parent)
                hash = hash_stack(hash, LEDGER_NODE_PC(n[node].pc_module));
        return hash_stack(hash, node > 1 ? 0 : node);
}

static uint64_t stored_stack(const struct profile *p, uint32_t node)
{
        uint64_t hash = 14695981039346656037ull;

        for (; node > 1; node = p->nodes[node].parent)
                hash = hash_stack(hash, p->nodes[node].pc);
        return hash_stack(hash, node);
}

static void check_canonical(const struct profile *p)
{
        uint32_t wrong = 0;

        for (uint32_t i = 2; i < p->node_count; i++) {
                wrong += p->nodes[i].parent >= i;
                for (uint32_t k = 2; k < i; k++)
                        wrong += p->nodes[i].pc == p->nodes[k].pc &&
                                 p->nodes[i].parent == p->nodes[k].parent &&
                                 p->nodes[i].exact == p->nodes[k].exact &&
                                 p->nodes[i].module == p->nodes[k].module;
        }
        is_equal(wrong, 0);
}

static void check_tree(uint32_t depth)
{
        struct specimen f;
        struct profile p;
        uint32_t wrong = 0;

        specimen_tree(&f, 600);
        collect_depth(&f, depth, &p);
        check_canonical(&p);
        for (uint32_t i = 1; i < p.site_count; i++) {
                uint64_t bytes = 0, stack = stored_stack(&p, p.sites[i].node);

                for (uint32_t k = 2; k < f.head->node_count; k++)
                        bytes += raw_stack(&f, k, depth) == stack ? k : 0;
                wrong += p.sites[i].alloc_bytes != bytes;
        }
        is_equal(wrong, 0);
        is_equal(p.totals.allocations, 600);
        is_equal(p.totals.bytes_allocated, 600 * 601 / 2 + 600);
        profile_free(&p);
        specimen_close(&f);
}

TEST(a_random_tree_keeps_every_stack)
{
        check_tree(0);
}

TEST(the_tree_of_one_thread_is_taken_as_it_is)
{
        struct specimen f;
        struct profile p;
        uint32_t wrong = 0;
        uint64_t seed = 5;

        specimen_open(&f);
        specimen_slot(&f, 0);
        for (uint32_t i = 0; i < 300; i++)
                specimen_node(&f, (uint32_t)(specimen_random(&seed) % f.head->node_count),
                              0x1000 + i);
        for (uint32_t i = 2; i < f.head->node_count; i += 2)
                specimen_events(&f, 0, specimen_site(&f, i, LEDGER_KIND_MALLOC), 1, 0, i);
        collect_all(&f, &p);
        check_canonical(&p);
        is_equal(p.site_count, 151);
        for (uint32_t i = 1; i < p.site_count; i++)
                wrong += raw_stack(&f, (uint32_t)p.sites[i].alloc_bytes, 0) !=
                         stored_stack(&p, p.sites[i].node);
        is_equal(wrong, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(a_depth_keeps_the_innermost_frames)
{
        check_tree(1);
        check_tree(3);
}

TEST(stacks_without_an_outer_end_stay_marked)
{
        struct specimen f;
        struct profile p;

        specimen_open(&f);
        specimen_site(&f, specimen_node(&f, LEDGER_NODE_CUT, 0x100), LEDGER_KIND_MALLOC);
        specimen_site(&f, specimen_node(&f, LEDGER_NODE_ROOT, 0x100), LEDGER_KIND_MALLOC);
        collect_all(&f, &p);
        is_equal(p.site_count, 3);
        is_equal(p.nodes[p.sites[1].node].parent, LEDGER_NODE_CUT);
        is_equal(p.nodes[p.sites[2].node].parent, LEDGER_NODE_ROOT);
        profile_free(&p);
        specimen_close(&f);
}

/* ---- numbers ---- */

TEST(a_block_freed_by_another_thread_leaves_nothing)
{
        struct specimen f;
        struct profile p;
        uint32_t site;

        specimen_open(&f);
        specimen_slot(&f, specimen_thread(&f, 10, 0, "maker"));
        specimen_slot(&f, specimen_thread(&f, 11, 1, "taker"));
        site = specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        specimen_events(&f, 0, site, 8, 0, 32);
        specimen_events(&f, 1, site, 0, 8, 32);
        collect_all(&f, &p);
        is_equal(p.sites[1].live_blocks, 0);
        is_equal(p.totals.live_bytes, 0);
        is_equal(p.totals.frees, 8);
        is_equal(p.share_count, 2);
        is_equal(p.shares[0].allocs, 8);
        is_equal(p.shares[0].thread, 1);
        is_equal(p.shares[1].frees, 8);
        is_equal(p.shares[1].thread, 2);
        is_equal(p.threads[1].allocations, 8);
        is_equal(p.threads[2].allocations, 0);
        is_text(p.threads[2].name, "taker");
        is_equal(p.meta.warning_count, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(mmap_is_counted_apart_from_the_heap)
{
        struct specimen f;
        struct profile p;
        struct ledger_region *r;
        struct ledger_counter *c;

        specimen_open(&f);
        specimen_slot(&f, 0);
        c = specimen_counter(&f, 0,
                             specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MMAP));
        c->allocs = 2;
        c->alloc_bytes = 0x5000;
        r = specimen_part(&f, LEDGER_REGIONS);
        r[0] = (struct ledger_region){ .start = 0x10000, .end = 0x14000, .site = 1 };
        r[1] = (struct ledger_region){ .start = 0x20000, .end = 0x20000, .site = 1 };
        f.head->region_count = 2;
        collect_all(&f, &p);
        is_equal(p.totals.allocations, 0);
        is_equal(p.totals.live_bytes, 0);
        is_equal(p.totals.mmap_calls, 2);
        is_equal(p.totals.mmap_bytes, 0x5000);
        is_equal(p.totals.mmap_live_bytes, 0x4000);
        is_equal(p.region_count, 1);
        profile_free(&p);
        specimen_close(&f);
}

/* A program that was killed inside a change leaves the sequence odd. */
TEST(regions_in_no_order_and_amid_a_change_are_read_in_order)
{
        struct specimen f;
        struct profile p;
        struct ledger_region *r;

        specimen_open(&f);
        specimen_slot(&f, 0);
        specimen_counter(&f, 0, specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MMAP))
                ->allocs = 3;
        r = specimen_part(&f, LEDGER_REGIONS);
        r[0] = (struct ledger_region){ .start = 0x50000, .end = 0x51000, .site = 1, .ticket = 1 };
        r[1] = (struct ledger_region){ .start = 3, .site = 1, .ticket = 2 }; /* not in use */
        r[2] = (struct ledger_region){ .start = 0x10000, .end = 0x14000, .site = 1, .ticket = 3 };
        r[3] = (struct ledger_region){ .start = 0x30000, .end = 0x34000, .site = 1, .ticket = 4 };
        f.head->region_count = 4;
        for (f.head->region_seq = 6; f.head->region_seq < 8; f.head->region_seq++) {
                collect_all(&f, &p);
                is_equal(p.region_count, 3);
                is_equal(p.regions[0].start, 0x10000);
                is_equal(p.regions[1].start, 0x30000);
                is_equal(p.regions[2].start, 0x50000);
                is_equal(p.totals.mmap_live_bytes, 0x9000);
                profile_free(&p);
        }
        specimen_close(&f);
}

struct peak_case {
        uint32_t counter_epoch, head_epoch, at_peak, several;
        uint64_t saved, head_peak, head_error;
};

/* A site that has 200 bytes in 2 blocks now. */
static struct profile_totals peak_with(struct peak_case k)
{
        struct specimen f;
        struct profile p;
        struct profile_totals totals;
        struct ledger_counter *c;

        specimen_open(&f);
        specimen_slot(&f, 0);
        specimen_events(&f, 0, specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC),
                        3, 1, 100);
        c = specimen_counter(&f, 0, 1);
        c->epoch = k.counter_epoch;
        c->peak_bytes = (int64_t)k.saved;
        c->peak_blocks = 7;
        f.head->epoch = k.head_epoch;
        f.head->at_peak = k.at_peak;
        f.head->several = k.several;
        f.head->peak_bytes = k.head_peak;
        f.head->peak_error_bytes = k.head_error;
        collect_all(&f, &p);
        totals = p.totals;
        is_true(totals.peak_bytes >= totals.live_bytes);
        is_equal(totals.peak_bytes, p.sites[1].peak_bytes);
        is_equal(totals.peak_blocks, p.sites[1].peak_blocks);
        profile_free(&p);
        specimen_close(&f);
        return totals;
}

/* The agent has not seen yet that the C library unmapped the second and the third: the one is gone,
 * in the place of the other is code. */
TEST(stacks_of_threads_that_are_gone_are_no_regions_of_a_running_process)
{
        const uint64_t page = 4096;
        char *stack = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                           0);
        uint64_t start = (uint64_t)stack, code = (uint64_t)&collect / page * page;
        struct specimen f;
        struct profile p;
        struct ledger_region *r;
        struct ledger_counter *c;

        specimen_open(&f);
        specimen_slot(&f, 0);
        c = specimen_counter(&f, 0,
                             specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MMAP));
        c->allocs = 4;
        c->alloc_bytes = 8 * page;
        r = specimen_part(&f, LEDGER_REGIONS);
        r[0] = (struct ledger_region){
                .start = start, .end = start + 4 * page, .site = 1, .flags = LEDGER_REGION_STACK
        };
        r[1] = (struct ledger_region){
                .start = page, .end = 2 * page, .site = 1, .flags = LEDGER_REGION_STACK
        };
        r[2] = (struct ledger_region){
                .start = code, .end = code + page, .site = 1, .flags = LEDGER_REGION_STACK
        };
        r[3] = (struct ledger_region){ .start = 2 * page, .end = 4 * page, .site = 1 };
        f.head->region_count = 4;
        collect_running(&f, (uint32_t)getpid(), &p);
        is_equal(p.region_count, 2);
        is_equal(p.regions[0].stack, 0);
        is_equal(p.regions[1].start, start);
        is_equal(p.regions[1].stack, 1);
        is_equal(p.totals.mmap_live_bytes, 6 * page);
        is_equal(p.sites[1].live_bytes, 6 * page);
        is_equal(p.sites[1].live_blocks, 2);
        is_equal(p.sites[1].frees, 2);
        profile_free(&p);
        collect_all(&f, &p); /* of one that has ended the kernel knows nothing */
        is_equal(p.region_count, 4);
        is_equal(p.sites[1].live_blocks, 4);
        profile_free(&p);
        specimen_close(&f);
        munmap(stack, 4 * page);
}

TEST(the_peak_is_what_sites_saved_or_what_they_still_are)
{
        /* saved for this peak */
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 0, 250, 250, 0 }).peak_bytes, 250);
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 0, 250, 250, 0 }).peak_blocks, 7);
        /* unchanged since this peak */
        is_equal(peak_with((struct peak_case){ 3, 4, 0, 0, 250, 200, 0 }).peak_bytes, 200);
        /* the peak is now */
        is_equal(peak_with((struct peak_case){ 4, 4, 1, 0, 250, 200, 0 }).peak_bytes, 200);
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 0, 250, 250, 0 }).peak_error_bytes, 0);
}

TEST(the_peak_of_several_threads_is_that_of_the_sites_with_the_bound_of_the_agents_maximum)
{
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 1, 250, 240, 30 }).peak_bytes, 250);
        /* never better than the agent's */
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 1, 250, 240, 30 }).peak_error_bytes, 30);
        /* 260 + 30 is the most */
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 1, 250, 260, 30 }).peak_error_bytes, 40);
        /* one that thought that it was alone */
        is_equal(peak_with((struct peak_case){ 4, 4, 1, 1, 250, 250, 30 }).peak_bytes, 250);
}

TEST(a_heap_above_its_noted_peak_is_the_peak)
{
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 1, 150, 150, 80 }).peak_bytes, 200);
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 1, 150, 150, 80 }).peak_blocks, 2);
        is_equal(peak_with((struct peak_case){ 4, 4, 0, 1, 150, 150, 80 }).peak_error_bytes, 80);
}

TEST(a_slot_that_served_two_threads_is_divided_between_them)
{
        struct specimen f;
        struct profile p;
        struct ledger_thread *t;

        specimen_open(&f);
        specimen_thread(&f, 10, 0, "first");
        specimen_slot(&f, specimen_thread(&f, 11, 0, "second"));
        specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        specimen_events(&f, 0, 1, 10, 10, 5);
        t = specimen_part(&f, LEDGER_THREADS);
        t[1].last_allocs = t[2].base_allocs = 4;
        t[1].last_alloc_bytes = t[2].base_alloc_bytes = 20;
        collect_all(&f, &p);
        is_equal(p.threads[1].allocations, 4);
        is_equal(p.threads[1].bytes_allocated, 20);
        is_equal(p.threads[2].allocations, 6);
        is_equal(p.threads[2].bytes_allocated, 30);
        is_text(p.threads[0].name, "unknown");
        profile_free(&p);
        specimen_close(&f);
}

TEST(a_name_seen_by_the_kernel_wins_over_the_ledgers)
{
        struct specimen f;
        struct collect_name names[4] = {
                { "", "" }, { "worker-15-chars", "prog" }, { "", "" }, { "prog", "prog" }
        };
        struct collect_input in = { .names = names, .name_count = 4 };
        struct profile p;
        struct view v;

        specimen_open(&f);
        specimen_thread(&f, 10, 0, "prog");
        specimen_thread(&f, 11, 0, "prog");
        specimen_thread(&f, 12, 0, "renamed since");
        v = specimen_view(&f);
        in.view = &v;
        collect(&in, &p);
        packed_undo(&p);
        is_text(p.threads[1].name, "worker-15-chars");
        is_text(p.threads[2].name, "prog");
        is_text(p.threads[3].name, "renamed since");
        profile_free(&p);
        view_close(&v);
        specimen_close(&f);
}

/* ---- blocks ---- */

TEST(live_blocks_come_sorted_from_all_chunks_and_planes)
{
        struct specimen f;
        struct profile p;
        struct ledger_block *b;

        specimen_open(&f);
        specimen_slot(&f, specimen_thread(&f, 10, 0, "main"));
        specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        specimen_chunk(&f, 0x7f0000000000, 0);
        specimen_chunk(&f, 0x550000000000, 0);
        specimen_chunk(&f, 0x550000000000, 3);
        specimen_block(&f, 0, 0, 1, 100, 1);
        specimen_block(&f, 0, LEDGER_SHADOW_ENTRIES - 1, 1, LEDGER_SIZE_MAX, 1);
        specimen_block(&f, 1, 7, 1, 24, 1);
        specimen_block(&f, 1, 9, 1, 24, 1);
        specimen_block(&f, 1, 8, 1, 24, 1);
        specimen_block(&f, 2, 7, 1, 8, 1);
        b = (struct ledger_block *)specimen_part(&f, LEDGER_SHADOW) + LEDGER_SHADOW_ENTRIES;
        b[8].b &= ~(1ull << 53); /* a tombstone */
        (b + LEDGER_SHADOW_ENTRIES)[7].b |= 2ull << 54;
        specimen_events(&f, 0, 1, 5, 0, 1);
        collect_all(&f, &p);
        is_equal(p.block_count, 5);
        is_equal(p.blocks[0].address, 0x5500000000e0);
        is_equal(p.blocks[1].address, 0x5500000000f0);
        is_equal(p.blocks[1].size, 8);
        is_equal(p.blocks[2].address, 0x550000000120);
        is_equal(p.blocks[3].address, 0x7f0000000000);
        is_equal(p.blocks[4].address, 0x7f0000000000 + LEDGER_SHADOW_SPAN - 32);
        is_true(p.blocks[4].size == LEDGER_SIZE_MAX);
        is_equal(p.threads[1].live_blocks, 5);
        is_equal(p.meta.warning_count, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(reading_a_sparse_shadow_does_not_fill_it)
{
        struct specimen f;
        struct profile p;
        struct stat before, after;

        specimen_open(&f);
        specimen_slot(&f, 0);
        specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        for (uint32_t i = 0; i < 4096; i++)
                specimen_chunk(&f, 0x550000000000 + i * LEDGER_SHADOW_SPAN, 0);
        specimen_block(&f, 4000, 5, 1, 100, 0);
        specimen_events(&f, 0, 1, 1, 0, 100);
        fstat(f.fd, &before);
        collect_all(&f, &p);
        fstat(f.fd, &after);
        is_equal(p.block_count, 1);
        is_equal(after.st_blocks, before.st_blocks);
        profile_free(&p);
        specimen_close(&f);
}

/* LIVE blocks, one in each of the first chunks that were made; the later a chunk, the lower its
 * addresses. */
static void specimen_large_shadow(struct specimen *f, uint32_t chunks, uint32_t live)
{
        specimen_open(f);
        specimen_slot(f, 0);
        specimen_site(f, specimen_node(f, 0, 0x100), LEDGER_KIND_MALLOC);
        for (uint32_t i = 0; i < chunks; i++)
                specimen_chunk(f, 0x7f0000000000 - i * LEDGER_SHADOW_SPAN, 0);
        for (uint64_t i = 0; i < chunks * (uint64_t)LEDGER_SHADOW_ENTRIES; i += 256)
                /* a tombstone in each page */
                ((struct ledger_block *)specimen_part(f, LEDGER_SHADOW))[i].a = 1;
        for (uint32_t i = 0; i < live; i++)
                specimen_block(f, i, 5 + i, 1, 100, 0);
        specimen_events(f, 0, 1, live, 0, 100);
}

TEST(blocks_far_behind_in_a_large_shadow_are_found)
{
        struct specimen f;
        struct profile p;
        uint32_t chunks = 4 * BLOCKS_ALWAYS_BYTES / LEDGER_SHADOW_CHUNK_BYTES;

        specimen_large_shadow(&f, chunks, 3);
        collect_all(&f, &p);
        is_equal(p.block_count, 3);
        is_equal(p.blocks[0].address, 0x7f0000000000 - 2 * LEDGER_SHADOW_SPAN + 7 * 32);
        is_equal(p.blocks[2].address, 0x7f0000000000 + 5 * 32);
        is_equal(p.meta.warning_count, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(blocks_that_no_counter_knows_are_told)
{
        struct specimen f;
        struct profile p;

        specimen_large_shadow(&f, BLOCKS_ALWAYS_BYTES / LEDGER_SHADOW_CHUNK_BYTES, 4);
        specimen_events(&f, 0, 1, 0, 3, 100);
        collect_all(&f, &p);
        is_equal(p.block_count, 4);
        is_equal(p.meta.warning_count, 1);
        has_text(p.meta.warnings[0], "the table of blocks has 4");
        profile_free(&p);
        specimen_close(&f);
}

TEST(an_allocators_own_block_is_left_out_without_a_word)
{
        struct specimen f;
        struct profile p;

        specimen_large_shadow(&f, 1, 1);
        specimen_block(&f, 0, 90, 0, 0, 0);
        collect_all(&f, &p);
        is_equal(p.block_count, 1);
        is_equal(p.meta.warning_count, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(books_that_disagree_are_told)
{
        struct specimen f;
        struct profile p;

        specimen_open(&f);
        specimen_slot(&f, 0);
        specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        specimen_events(&f, 0, 1, 50, 0, 10);
        collect_all(&f, &p);
        is_equal(p.meta.warning_count, 1);
        has_text(p.meta.warnings[0], "50 live blocks");
        profile_free(&p);
        specimen_close(&f);
}

/* ---- errors, modules, the rest ---- */

TEST(errors_keep_their_stacks_and_are_counted_by_type)
{
        struct specimen f;
        struct profile p;
        struct ledger_error *e;

        specimen_open(&f);
        specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_NEW);
        e = specimen_part(&f, LEDGER_ERRORS);
        e[0] = (struct ledger_error){ .type = LEDGER_ERROR_DOUBLE_FREE,
                                      .node = specimen_node(&f, 0, 0x300),
                                      .alloc_site = 1,
                                      .count = 3 };
        e[1] = (struct ledger_error){
                .type = LEDGER_ERROR_MISMATCHED, .node = 2, .alloc_site = 1, .count = 2
        };
        e[2] = (struct ledger_error){ .type = LEDGER_ERROR_UNKNOWN_FREE, .node = 2, .count = 1 };
        e[3] = (struct ledger_error){ .type = 77, .count = 1000 };
        f.head->error_count = 4;
        collect_all(&f, &p);
        is_equal(p.error_count, 3);
        is_equal(p.totals.double_frees, 3);
        is_equal(p.totals.mismatched, 2);
        is_equal(p.totals.unknown_frees, 1);
        is_equal(p.nodes[p.errors[0].node].pc, 0x300);
        is_equal(p.errors[0].alloc_site, 1);
        profile_free(&p);
        specimen_close(&f);
}

TEST(modules_and_arguments_are_copied)
{
        struct specimen f;
        struct profile p;
        struct ledger_module *m;

        specimen_open(&f);
        strcpy((char *)specimen_part(&f, LEDGER_STRINGS) + 1, "/lib/libx.so");
        f.head->string_bytes = 14;
        m = specimen_part(&f, LEDGER_MODULES);
        m[0] = (struct ledger_module){ .start = 0x1000,
                                       .end = 0x9000,
                                       .bias = 0x1000,
                                       .path = 1,
                                       .build_id_bytes = 2,
                                       .build_id = { 0xab, 0xcd } };
        m[1] = (struct ledger_module){ .path = 5000, .build_id_bytes = 4000 };
        f.head->module_count = 2;
        memcpy(f.head->command, "prog\0--flag\0\0last", 17);
        f.head->command_bytes = 17;
        collect_all(&f, &p);
        is_text(p.modules[0].path, "/lib/libx.so");
        is_equal(p.modules[0].build_id[1], 0xcd);
        is_text(p.modules[1].path, "");
        is_equal(p.modules[1].build_id_bytes, 0);
        is_equal(p.meta.arg_count, 4);
        is_text(p.meta.args[2], "");
        is_text(p.meta.args[3], "last");
        is_equal(p.meta.complete, 1);
        profile_free(&p);
        specimen_close(&f);
}

TEST(an_agent_that_stopped_makes_the_profile_incomplete)
{
        struct specimen f;
        struct profile p;

        specimen_open(&f);
        f.head->stop_reason = LEDGER_STOP_NODES_FULL;
        collect_all(&f, &p);
        is_equal(p.meta.complete, 0);
        has_text(p.meta.warnings[0], "more distinct stack frames");
        profile_free(&p);
        specimen_close(&f);
}

TEST(what_the_agent_did_not_see_is_a_warning)
{
        struct specimen f;
        struct profile p;

        specimen_open(&f);
        f.head->own_malloc = 1;
        f.head->forks_not_followed = 2;
        f.head->lost_events = 3;
        collect_all(&f, &p);
        if (is_equal(p.meta.warning_count, 3)) {
                has_text(p.meta.warnings[0], "has its own malloc");
                has_text(p.meta.warnings[1], "3 events could not be recorded");
                has_text(p.meta.warnings[2], "2 forked children");
        }
        is_equal(p.totals.own_malloc, 1);
        profile_free(&p);
        specimen_close(&f);
}

TAP_MAIN(nodes_met_twice_become_one_and_so_do_their_sites, one_stack_with_two_kinds_is_two_sites,
         a_random_tree_keeps_every_stack, the_tree_of_one_thread_is_taken_as_it_is,
         a_depth_keeps_the_innermost_frames, stacks_without_an_outer_end_stay_marked,
         a_block_freed_by_another_thread_leaves_nothing, mmap_is_counted_apart_from_the_heap,
         regions_in_no_order_and_amid_a_change_are_read_in_order,
         stacks_of_threads_that_are_gone_are_no_regions_of_a_running_process,
         the_peak_is_what_sites_saved_or_what_they_still_are,
         the_peak_of_several_threads_is_that_of_the_sites_with_the_bound_of_the_agents_maximum,
         a_heap_above_its_noted_peak_is_the_peak,
         a_slot_that_served_two_threads_is_divided_between_them,
         a_name_seen_by_the_kernel_wins_over_the_ledgers,
         live_blocks_come_sorted_from_all_chunks_and_planes,
         reading_a_sparse_shadow_does_not_fill_it, blocks_far_behind_in_a_large_shadow_are_found,
         blocks_that_no_counter_knows_are_told, an_allocators_own_block_is_left_out_without_a_word,
         books_that_disagree_are_told, errors_keep_their_stacks_and_are_counted_by_type,
         modules_and_arguments_are_copied, an_agent_that_stopped_makes_the_profile_incomplete,
         what_the_agent_did_not_see_is_a_warning)
