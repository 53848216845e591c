/* SPDX-License-Identifier: MIT */
/*
 * test_packed.c -- blocks and verdicts that are packed are those that went in: one after another,
 * as arrays, and through a file.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"
#include "export/export.h"
#include "forge_leaks.h"
#include "leak/graph_edges.h"
#include "profile/dense.h"
#include "profile/file.h"
#include "profile/format.h"
#include "profile/image.h"
#include "profile/packed.h"
#include "report/flat.h"
#include "report/group.h"
#include "report/views.h"
#include "sample.h"
#include "tap.h"

#define MANY (3 * FORMAT_PIECE + 17) /* several sections, the last of them short */

/* P with its lists packed; the arrays that they were made from stay the caller's. */
static void pack(struct profile *p, struct profile_block **blocks,
                 struct profile_verdict **verdicts)
{
        uint64_t count = p->block_count;
        struct packer *b = packer_blocks(p), *v = packer_verdicts(p);

        *blocks = p->blocks;
        *verdicts = p->verdicts;
        p->blocks = NULL;
        p->verdicts = NULL;
        for (uint64_t i = 0; i < count; i++) {
                packer_add(b, &(*blocks)[i]);
                packer_add(v, &(*verdicts)[i]);
        }
        is_true(packer_end(b, p) && packer_end(v, p));
        is_equal(p->block_count, count);
        is_equal(p->verdict_count, count);
}

/* Sites and threads of the forged search, and blocks of any kind. */
static void forge_many(struct profile *p)
{
        uint64_t state = 4711, address = 0x10000;

        forge_leaky(p);
        p->blocks = heap_grow(p->blocks, MANY, sizeof *p->blocks);
        p->verdicts = heap_grow(p->verdicts, MANY, sizeof *p->verdicts);
        p->block_count = p->verdict_count = MANY;
        for (uint64_t i = 0; i < MANY; i++) {
                uint64_t dice = sample_random(&state);

                address += dice % 1000;
                p->blocks[i] = (struct profile_block){ .address = address,
                                                       .size = dice % 7 ? dice >> 58 : dice,
                                                       .site = dice % p->site_count,
                                                       .thread = dice % p->thread_count,
                                                       .birth_ms = i / 3 };
                p->verdicts[i] = (struct profile_verdict){ .leak = dice % PROFILE_LEAK_COUNT,
                                                           .flags = dice % 8,
                                                           .vtable = dice % 11 ? 0 : dice };
                if (p->verdicts[i].leak == PROFILE_LEAK_INDIRECT)
                        p->verdicts[i].head = (uint32_t)(dice % MANY);
        }
}

TEST(a_walk_meets_all_that_was_packed)
{
        struct profile_verdict *verdicts;
        struct profile_block *blocks;
        uint64_t met = 0, wrong = 0;
        struct packed_walk w;
        struct profile p;

        forge_many(&p);
        pack(&p, &blocks, &verdicts);
        is_true(p.packed_blocks.section_count == 4 &&
                p.packed_blocks.bytes < MANY * sizeof *blocks);
        for (int round = 0; round < 2; round++) {
                packed_open(&w, &p);
                for (met = 0; packed_next(&w); met++)
                        wrong += w.index != met ||
                                 memcmp(w.block, &blocks[met], sizeof *blocks) != 0 || !w.verdict ||
                                 memcmp(w.verdict, &verdicts[met], sizeof *verdicts) != 0;
                packed_close(&w);
                is_equal(met, MANY);
        }
        is_equal(wrong, 0);
        packed_undo(&p);
        is_true(memcmp(p.blocks, blocks, MANY * sizeof *blocks) == 0 &&
                memcmp(p.verdicts, verdicts, MANY * sizeof *verdicts) == 0);
        is_true(!p.packed_blocks.sections && !p.packed_verdicts.sections && p.block_count == MANY);
        packed_undo(&p);
        is_equal(p.block_count, MANY);
        free(blocks);
        free(verdicts);
        profile_free(&p);
}

struct lists {
        const struct profile_block *blocks;
        const struct profile_verdict *verdicts;
};

static void fill_blocks(void *context, uint64_t first, uint64_t count, void *records)
{
        memcpy(records, ((struct lists *)context)->blocks + first,
               count * sizeof(struct profile_block));
}

static void fill_verdicts(void *context, uint64_t first, uint64_t count, void *records)
{
        memcpy(records, ((struct lists *)context)->verdicts + first,
               count * sizeof(struct profile_verdict));
}

static void is_same_list(const struct profile_packed *a, const struct profile_packed *b)
{
        is_equal(a->section_count, b->section_count);
        is_equal(a->bytes, b->bytes);
        is_true(a->bytes == b->bytes && memcmp(a->sections, b->sections, a->bytes) == 0);
}

TEST(several_threads_pack_what_one_does)
{
        struct profile_verdict *verdicts;
        struct profile_block *blocks;
        struct profile p, q;

        forge_many(&p);
        pack(&p, &blocks, &verdicts);
        for (uint32_t threads = 1; threads <= 5; threads++) {
                struct lists lists = { blocks, verdicts };

                forge_many(&q);
                free(q.blocks);
                free(q.verdicts);
                q.blocks = NULL;
                q.verdicts = NULL;
                is_true(packed_make(&q, PACKED_BLOCKS,
                                    &(struct packed_source){ &lists, MANY, threads, fill_blocks }));
                is_true(packed_make(&q, PACKED_VERDICTS,
                                    &(struct packed_source){ &lists, MANY, threads,
                                                             fill_verdicts }));
                is_same_list(&q.packed_blocks, &p.packed_blocks);
                is_same_list(&q.packed_verdicts, &p.packed_verdicts);
                profile_free(&q);
        }
        blocks[MANY / 2].site = p.site_count; /* which is none */
        forge_leaky(&q);
        is_true(!packed_make(&q, PACKED_BLOCKS,
                             &(struct packed_source){ &(struct lists){ blocks, verdicts }, MANY, 2,
                                                      fill_blocks }));
        is_true(!q.packed_blocks.sections);
        profile_free(&q);
        free(blocks);
        free(verdicts);
        profile_free(&p);
}

TEST(a_walk_over_arrays_is_the_same)
{
        struct packed_walk w;
        struct profile p;
        uint64_t met = 0;

        forge_leaky(&p);
        packed_open(&w, &p);
        for (; packed_next(&w); met++)
                is_true(w.block == &p.blocks[met] && w.verdict == &p.verdicts[met]);
        packed_close(&w);
        is_equal(met, p.block_count);
        p.verdict_count = 0;
        packed_open(&w, &p);
        is_true(packed_next(&w) && !w.verdict);
        packed_close(&w);
        profile_free(&p);
}

TEST(a_file_of_packed_lists_is_one_of_arrays)
{
        struct profile p, q, taken, plain;
        struct str image = { 0 };
        struct profile_verdict *verdicts;
        struct profile_block *blocks;
        struct err e = { 0 };
        char path[32];
        int fd = memfd_create("packed", MFD_CLOEXEC);

        forge_leaky(&p);
        pack(&p, &blocks, &verdicts);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        is_true(file_put(&p, fd, &e) && file_read(&q, path, &e) && file_take(&taken, path, 0, &e));
        is_true(!q.truncated && !taken.truncated && !q.packed_blocks.sections &&
                taken.packed_blocks.sections && !taken.blocks);
        packed_undo(&p);
        file_unpack(&taken);
        is_true(image_write(&p, IMAGE_PLAIN, &image, &e) &&
                image_read(&plain, image.data, image.length, "x", &e));
        is_text(sample_difference(&plain, &q) ? sample_difference(&plain, &q) : "same", "same");
        is_text(sample_difference(&taken, &q) ? sample_difference(&taken, &q) : "same", "same");
        close(fd);
        free(blocks);
        free(verdicts);
        profile_free(&p);
        profile_free(&q);
        profile_free(&taken);
        profile_free(&plain);
        str_free(&image);
}

TEST(verdicts_of_a_stranger_are_made_sound_as_they_are_met)
{
        struct profile_verdict *verdicts;
        struct profile_block *blocks;
        struct packed_walk w;
        struct profile p;

        forge_leaky(&p);
        p.verdicts[0] = (struct profile_verdict){ .leak = 77, .head = 1 };
        p.verdicts[1] = (struct profile_verdict){ .leak = PROFILE_LEAK_INDIRECT,
                                                  .head = (uint32_t)p.block_count + 1 };
        pack(&p, &blocks, &verdicts);
        packed_open(&w, &p);
        is_true(packed_next(&w) && w.verdict->leak == PROFILE_LEAK_UNKNOWN && !w.verdict->head);
        is_true(packed_next(&w) && w.verdict->leak == PROFILE_LEAK_INDIRECT && !w.verdict->head);
        packed_close(&w);
        free(blocks);
        free(verdicts);
        profile_free(&p);
}

/* Many blocks with pointers anywhere, a root of each kind that matters, and some blocks that are
 * ignored. */
static void forge_pointers(struct profile *p)
{
        uint64_t state = 99;

        forge_many(p);
        p->scans[0].flags |= PROFILE_SCAN_GRAPH;
        p->root_count = 0;
        p->hold_count = p->pointer_count = 0;
        forge_root(p, PROFILE_ROOT_DATA, 0, 0x1000, 0x2000);
        forge_root(p, PROFILE_ROOT_STACK, 0, 0x3000, 0x4000);
        for (uint32_t i = 0; i < 300; i++)
                forge_hold(p, i >= 200, (i >= 200 ? 0x3000 : 0x1000) + 8 * (uint64_t)i,
                           (uint32_t)(sample_random(&state) % MANY))
                        ->flags = i % 3 ? 0 : PROFILE_POINTER_INTERIOR;
        p->pointers = heap_grow(p->pointers, 2 * MANY, sizeof *p->pointers);
        for (uint32_t i = 0; i < MANY; i++)
                for (uint32_t k = 0; k < sample_random(&state) % 3; k++)
                        p->pointers[p->pointer_count++] = (struct profile_pointer){
                                .at = 8 * (uint64_t)k,
                                .from = i,
                                .flags = k ? 0 : state % 3 % 2,
                                .to = (uint32_t)(sample_random(&state) % MANY)
                        };
}

static bool same_sum(struct graph_sum a, struct graph_sum b)
{
        return a.blocks == b.blocks && a.bytes == b.bytes;
}

static bool same_path(struct graph *a, struct graph *b, uint32_t block)
{
        struct graph_path x = graph_path(a, block), y = graph_path(b, block);
        bool same;

        graph_name(a, &x);
        graph_name(b, &y);
        same = x.count == y.count && x.hold == y.hold &&
               (!x.count || memcmp(x.blocks, y.blocks, x.count * sizeof *x.blocks) == 0) &&
               (!x.count || memcmp(x.at, y.at, x.count * sizeof *x.at) == 0) &&
               (!x.count || memcmp(x.flags, y.flags, x.count) == 0);
        graph_path_free(&x);
        graph_path_free(&y);
        return same;
}

/* Whatever is asked first, and whether memory is short. */
static void compare_graphs(const struct profile *p, const struct profile *q, bool large)
{
        static const uint32_t asked[] = { 1, 77, FORMAT_PIECE, FORMAT_PIECE + 1, MANY - 1 };
        struct graph *a = graph_new(p), *b = graph_new(q);
        uint32_t *of_hold = heap_zero(p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { of_hold, 2 };
        struct graph_wish wish = { asked, 5, true, true };
        struct graph_retained r, s;
        uint64_t *holds, count;

        b->large = large;
        for (uint64_t i = 0; i < p->hold_count; i++)
                of_hold[i] = p->holds[i].from;
        for (uint32_t i = 0; i < 5; i++) {
                is_true(same_path(a, b, asked[i]));
                count = graph_holders(a, asked[i], &holds);
                free(holds);
                is_equal(graph_holders(b, asked[i], &holds), count);
                free(holds);
                is_equal(graph_pointers_to(a, asked[i]), graph_pointers_to(b, asked[i]));
                is_true(same_path(a, b, asked[i] / 2));
        }
        graph_retain(a, &owners, &wish, &r);
        graph_retain(b, &owners, &wish, &s);
        is_true(same_sum(r.by_owner[0], s.by_owner[0]) && same_sum(r.by_owner[1], s.by_owner[1]) &&
                r.by_owner[0].blocks > 1);
        is_true(same_sum(r.shared, s.shared) && same_sum(r.lost, s.lost) &&
                same_sum(r.ignored, s.ignored));
        is_true(memcmp(r.owner_of, s.owner_of, MANY * sizeof *r.owner_of) == 0 &&
                memcmp(r.asked, s.asked, 5 * sizeof *r.asked) == 0);
        is_true(memcmp(r.by_site, s.by_site, p->site_count * sizeof *r.by_site) == 0);
        is_true(same_sum(graph_retained_by(a, 1), graph_retained_by(b, 1)));
        graph_retained_free(&r);
        graph_retained_free(&s);
        graph_free(a);
        graph_free(b);
        free(of_hold);
}

TEST(a_graph_of_packed_pointers_is_that_of_arrays)
{
        int fd = memfd_create("packed", MFD_CLOEXEC);
        struct profile p, q, taken;
        struct err e = { 0 };
        char path[32];

        forge_pointers(&p);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        is_true(file_put(&p, fd, &e) && file_read(&q, path, &e) &&
                file_take(&taken, path, MANY, &e));
        is_true(taken.packed_pointers.sections && !taken.pointers && q.pointers &&
                taken.pointer_count == q.pointer_count);
        compare_graphs(&q, &taken, false);
        compare_graphs(&q, &taken, true);
        close(fd);
        profile_free(&p);
        profile_free(&q);
        profile_free(&taken);
}

TEST(single_blocks_of_packed_lists_are_those_of_arrays)
{
        static const uint32_t some[] = {
                5, MANY - 1, 0, 2 * FORMAT_PIECE, FORMAT_PIECE - 1, FORMAT_PIECE
        };
        struct profile_verdict *verdicts;
        struct profile_block *blocks;
        uint32_t expected[] = { MANY - 1, 5, 5, 0 };
        struct profile p;
        struct dense d;

        forge_many(&p);
        pack(&p, &blocks, &verdicts);
        dense_open(&d, &p);
        for (int round = 0; round < 2; round++) {
                for (uint32_t i = 0; i < sizeof some / sizeof *some; i++) {
                        struct profile_block b = dense_block(&d, some[i]);
                        struct profile_verdict v = dense_verdict(&d, some[i]);

                        is_true(memcmp(&b, &blocks[some[i]], sizeof b) == 0 &&
                                memcmp(&v, &verdicts[some[i]], sizeof v) == 0);
                        is_true(dense_size(&d, some[i]) == b.size &&
                                dense_site(&d, some[i]) == b.site &&
                                dense_leak(&d, some[i]) == v.leak);
                        is_true(dense_ignored(&d, some[i]) ==
                                        !!(v.flags & PROFILE_VERDICT_IGNORED) &&
                                dense_vtable(&d, some[i]) == v.vtable);
                }
                dense_rest(&d);
                dense_expect(&d, expected, 4);
                is_equal(d.known_count, 3);
        }
        dense_close(&d);
        free(blocks);
        free(verdicts);
        profile_free(&p);
}

TEST(pointers_of_a_stranger_end_where_they_are_wrong)
{
        struct packed_pointers w;
        struct profile p;
        uint64_t count;

        forge_pointers(&p);
        p.pointers[1000].from = p.pointers[999].from - 1;
        packed_pointers_open(&w, &p);
        is_true(packed_pointers_next(&w, &count) && count == 1000 &&
                !packed_pointers_next(&w, &count));
        packed_pointers_close(&w);
        p.pointers[500].to = MANY;
        packed_pointers_open(&w, &p);
        is_true(packed_pointers_next(&w, &count) && count == 500 &&
                !packed_pointers_next(&w, &count));
        packed_pointers_close(&w);
        profile_free(&p);
}

/* All that is made of blocks, one text after another. */
static void tell(const struct profile *p, struct str *out)
{
        struct select_request request = { .cost = SELECT_LIVE, .each_site = true };
        struct symbols *s = symbols_new(p, &(struct symbol_options){ .no_debuginfod = true,
                                                                     .no_cache = true });
        struct export_input in = { .profile = p, .symbols = s };
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        in.sel = &sel;
        for (enum sort_key key = 0; key < SORT_KEY_COUNT; key++)
                if (key == SORT_AGE || key == SORT_LARGEST || key == SORT_LIVE_BYTES)
                        flat_write(&sel, s, &(struct flat_options){ .key = key }, out);
        group_write(&sel, s, &(struct group_options){ .kind = GROUP_THREAD }, out);
        group_write(&sel, s, &(struct group_options){ .kind = GROUP_SIZE }, out);
        histogram_sizes(&sel, &(struct histogram_options){ .columns = 80 }, out);
        blocks_write(&sel, s, &(struct blocks_options){ .limit = 100 }, out);
        is_true(export_pprof(&in, out, &e) && export_dhat(&in, out, &e) &&
                export_callgrind(&in, out, &e));
        select_free(&sel);
        symbols_free(s);
}

TEST(reports_of_packed_blocks_are_those_of_arrays)
{
        struct str of_arrays = { 0 }, of_packed = { 0 };
        int fd = memfd_create("packed", MFD_CLOEXEC);
        struct profile p, q, taken, seen;
        struct err e = { 0 };
        char path[32];

        forge_many(&p);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        is_true(file_put(&p, fd, &e) && file_read(&q, path, &e) &&
                file_take(&taken, path, MANY, &e) && file_glance(&seen, path, &e));
        is_true(taken.packed_blocks.sections && taken.packed_verdicts.sections && q.blocks);
        tell(&q, &of_arrays);
        tell(&taken, &of_packed);
        is_true(of_arrays.length == of_packed.length &&
                memcmp(of_arrays.data, of_packed.data, of_packed.length) == 0);
        is_text(seen.meta.program, q.meta.program);
        is_true(seen.totals.peak_bytes == q.totals.peak_bytes && !seen.node_count &&
                !seen.block_count);
        profile_free(&taken);
        is_true(file_take(&taken, path, MANY + 1, &e) && !taken.packed_blocks.sections &&
                taken.block_count == MANY);
        close(fd);
        str_free(&of_arrays);
        str_free(&of_packed);
        profile_free(&p);
        profile_free(&q);
        profile_free(&taken);
        profile_free(&seen);
}

TEST(what_refers_to_nothing_is_not_packed)
{
        struct profile p;
        struct packer *k;

        forge_leaky(&p);
        free(p.blocks);
        p.blocks = NULL;
        p.block_count = 0;
        k = packer_blocks(&p);
        packer_add(k, &(struct profile_block){ .address = 16, .site = p.site_count });
        is_true(!packer_end(k, &p));
        is_true(!p.packed_blocks.sections && p.block_count == 0);
        profile_free(&p);
}

TEST(nothing_packed_is_nothing)
{
        struct packed_walk w;
        struct profile p;

        forge_leaky(&p);
        free(p.blocks);
        p.blocks = NULL;
        p.block_count = 0;
        is_true(packer_end(packer_blocks(&p), &p));
        packed_open(&w, &p);
        is_true(!packed_next(&w));
        packed_close(&w);
        packed_undo(&p);
        is_equal(p.block_count, 0);
        profile_free(&p);
}

TAP_MAIN(a_walk_meets_all_that_was_packed, several_threads_pack_what_one_does,
         a_walk_over_arrays_is_the_same, a_file_of_packed_lists_is_one_of_arrays,
         verdicts_of_a_stranger_are_made_sound_as_they_are_met,
         reports_of_packed_blocks_are_those_of_arrays, what_refers_to_nothing_is_not_packed,
         nothing_packed_is_nothing, a_graph_of_packed_pointers_is_that_of_arrays,
         single_blocks_of_packed_lists_are_those_of_arrays,
         pointers_of_a_stranger_end_where_they_are_wrong)
