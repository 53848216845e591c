/* SPDX-License-Identifier: MIT */
/*
 * test_settle_leaks.c -- what a search for leaks found, through a file and back; and what is left
 * of it when the file is not whole.
 */
#include <stdlib.h>

#include "forge_leaks.h"
#include "profile/format.h"
#include "profile/image.h"
#include "tap.h"

/* P through an image; P is freed. */
static void pass(struct profile *p, struct profile *q)
{
        struct err e = { 0 };
        struct str file = { 0 };

        if (!is_true(image_write(p, IMAGE_PACKED, &file, &e) &&
                     image_read(q, file.data, file.length, "f.seep", &e)))
                printf("# %s\n", e.text);
        str_free(&file);
        profile_free(p);
}

TEST(the_forged_search_is_read_as_it_was_written)
{
        uint64_t bytes[PROFILE_LEAK_COUNT] = { 0 }, blocks[PROFILE_LEAK_COUNT] = { 0 };
        struct profile p, q;

        forge_leaky(&p);
        pass(&p, &q);
        is_true(!q.truncated && profile_scanned(&q) &&
                profile_scanned(&q)->flags & PROFILE_SCAN_GRAPH);
        is_equal(q.verdict_count, q.block_count);
        for (uint64_t i = 0; i < q.verdict_count; i++) {
                bytes[q.verdicts[i].leak] += q.blocks[i].size;
                blocks[q.verdicts[i].leak]++;
        }
        is_equal(bytes[PROFILE_LEAK_DEFINITE], 300);
        is_equal(bytes[PROFILE_LEAK_INDIRECT], 300);
        is_equal(bytes[PROFILE_LEAK_POSSIBLE], 35);
        is_equal(bytes[PROFILE_LEAK_REACHABLE], 365);
        is_equal(blocks[PROFILE_LEAK_DEFINITE] * 1000 + blocks[PROFILE_LEAK_REACHABLE], 3008);
        is_equal(q.verdicts[8].head, 8);
        is_equal(q.root_count * 1000 + q.frame_count * 100 + q.hold_count * 10 + q.pointer_count,
                 5277);
        is_equal(q.holds[2].at, 0x7fff0040);
        is_equal(q.roots[FORGE_ROOT_TLS].base, 0x30040);
        is_text((const char *)q.contents[1].data, "hello, leak");
        profile_free(&q);
}

/* The forged search in a file without packing, with the body of the first section of ARRAY
 * damaged. */
static void read_without(struct profile *q, unsigned array)
{
        struct profile p;
        struct str file = { 0 };
        struct err e = { 0 };
        struct format_section head = { 0 };
        size_t at = FORMAT_HEADER_BYTES;

        forge_leaky(&p);
        is_true(image_write(&p, IMAGE_PLAIN, &file, &e));
        for (memcpy(&head, file.data + at, sizeof head); head.type != array + FORMAT_FIRST_ARRAY;
             memcpy(&head, file.data + at, sizeof head))
                at += sizeof head + head.stored_bytes;
        file.data[at + sizeof head] ^= 1;
        is_true(image_read(q, file.data, file.length, "f.seep", &e) && q->truncated);
        str_free(&file);
        profile_free(&p);
}

static bool has_graph(const struct profile *p)
{
        return p->scan_count && p->scans[0].flags & PROFILE_SCAN_GRAPH;
}

static uint64_t graph_records(const struct profile *p)
{
        return p->root_count + p->frame_count + p->hold_count + p->pointer_count;
}

TEST(without_a_block_nothing_is_said_about_any)
{
        static const unsigned needed[] = { FORMAT_BLOCKS, FORMAT_VERDICTS, FORMAT_SCANS };

        for (unsigned i = 0; i < 3; i++) {
                struct profile q;

                read_without(&q, needed[i]);
                is_true(!profile_scanned(&q) && !q.verdict_count && !q.content_count &&
                        !graph_records(&q));
                if (needed[i] != FORMAT_SCANS)
                        is_text(q.scans[0].trouble, "a part of the file is missing");
                profile_free(&q);
        }
}

TEST(a_graph_with_a_missing_part_is_left_out_and_the_verdicts_stay)
{
        static const unsigned parts[] = { FORMAT_ROOTS,    FORMAT_FRAMES,   FORMAT_HOLDS,
                                          FORMAT_POINTERS, FORMAT_CONTENTS, FORMAT_SITES };

        for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
                struct profile q;

                read_without(&q, parts[i]);
                is_true(profile_scanned(&q) && q.verdict_count == 16 && !has_graph(&q) &&
                        !graph_records(&q));
                is_equal(q.content_count, parts[i] == FORMAT_CONTENTS ? 0 : 2);
                profile_free(&q);
        }
}

TEST(a_file_cut_anywhere_has_all_verdicts_or_none)
{
        struct profile p;
        struct str file = { 0 };
        struct err e = { 0 };
        unsigned with = 0, without = 0;

        forge_leaky(&p);
        is_true(image_write(&p, IMAGE_PLAIN, &file, &e));
        for (size_t size = FORMAT_HEADER_BYTES; size < file.length; size++) {
                struct profile q;

                if (!image_read(&q, file.data, size, "f.seep", &e))
                        continue;
                is_true(q.verdict_count == 0 || (q.verdict_count == 16 && q.block_count == 16));
                is_true(!has_graph(&q) && !graph_records(&q));
                with += q.verdict_count != 0;
                without += q.verdict_count == 0;
                profile_free(&q);
        }
        is_true(with && without);
        str_free(&file);
        profile_free(&p);
}

TEST(wrong_classes_and_heads_become_unknown)
{
        struct profile p, q;

        forge_leaky(&p);
        p.verdicts[3].leak = PROFILE_LEAK_COUNT;
        p.verdicts[4].leak = UINT32_MAX;
        p.verdicts[1].head = 17; /* there are 16 */
        p.verdicts[2].head = 4;  /* not lost */
        p.verdicts[6].head = 1;  /* itself definitely lost */
        p.verdicts[8].head = UINT32_MAX;
        p.scans[0].when = 99;
        pass(&p, &q);
        is_true(profile_scanned(&q) && has_graph(&q));
        is_equal(q.verdicts[3].leak + q.verdicts[4].leak, PROFILE_LEAK_UNKNOWN);
        is_equal(q.verdicts[1].head + q.verdicts[2].head + q.verdicts[6].head + q.verdicts[8].head,
                 0);
        is_equal(q.scans[0].when, PROFILE_SCAN_ASKED);
        profile_free(&q);
}

TEST(contents_have_at_most_64_bytes_and_an_order)
{
        struct profile p, q;

        forge_leaky(&p);
        p.contents[0].bytes = UINT32_MAX;
        pass(&p, &q);
        is_equal(q.content_count, 2);
        is_equal(q.contents[0].bytes, PROFILE_CONTENT_BYTES);
        profile_free(&q);
        forge_leaky(&p);
        p.contents[0].block = 6;
        pass(&p, &q);
        is_true(!q.content_count && has_graph(&q));
        profile_free(&q);
}

/* Each makes the graph wrong in one way that a report would stumble over. */
static void spoil(struct profile *p, unsigned how)
{
        switch (how) {
        case 0:
                p->roots[0].module = 1;
                break;
        case 1:
                p->roots[1].end = p->roots[1].start - 1;
                break;
        case 2:
                p->roots[4].region = 2;
                break;
        case 3:
                p->roots[2].kind = PROFILE_ROOT_COUNT;
                break;
        case 4:
                p->frames[0].high = 0;
                break;
        case 5:
                p->frames[1].module = PROFILE_NO_MODULE - 1;
                break;
        case 6:
                p->holds[0].from = 1;
                p->holds[1].from = 0;
                break;
        case 7:
                p->pointers[2].from = 15;
                break;
        default:
                p->scans[0].flags &= ~PROFILE_SCAN_GRAPH;
        }
}

TEST(a_graph_that_is_wrong_anywhere_is_left_out)
{
        for (unsigned how = 0; how < 9; how++) {
                struct profile p, q;

                forge_leaky(&p);
                spoil(&p, how);
                pass(&p, &q);
                if (!is_true(!q.truncated && profile_scanned(&q) && !has_graph(&q) &&
                             !graph_records(&q)))
                        printf("# spoiled in way %u\n", how);
                is_equal(q.verdict_count, 16);
                profile_free(&q);
        }
}

TEST(pointers_to_no_block_are_not_written)
{
        struct profile p;
        struct str file = { 0 };
        struct err e = { 0 };

        forge_leaky(&p);
        p.pointers[0].to = 16;
        is_true(!image_write(&p, IMAGE_PLAIN, &file, &e));
        has_text(e.text, "pointers[0] refers to blocks[16] of 16");
        str_free(&file);
        profile_free(&p);
}

TEST(a_search_that_failed_says_why_and_nothing_else)
{
        struct profile p, q;

        forge_leaky(&p);
        free(p.scans[0].trouble);
        p.scans[0].trouble = heap_text("it was gone");
        pass(&p, &q);
        is_true(!profile_scanned(&q) && !q.verdict_count && !q.content_count && !graph_records(&q));
        is_text(q.scans[0].trouble, "it was gone");
        profile_free(&q);
}

TEST(only_the_first_of_several_searches_is_kept)
{
        struct profile p, q;

        forge_leaky(&p);
        p.scans = heap_grow(p.scans, 2, sizeof *p.scans);
        p.scans[1] = (struct profile_scan){ .ms = 1,
                                            .trouble = heap_text("second"),
                                            .suppressions = heap_text("") };
        p.scan_count = 2;
        pass(&p, &q);
        is_equal(q.scan_count, 1);
        is_equal(q.scans[0].ms, 9990);
        is_true(profile_scanned(&q));
        profile_free(&q);
}

TEST(blocks_out_of_order_cost_the_verdicts)
{
        struct profile p, q;

        forge_leaky(&p);
        p.blocks[5].address = 1;
        pass(&p, &q);
        is_true(!profile_scanned(&q) && !q.verdict_count);
        is_equal(q.blocks[0].address, 1);
        profile_free(&q);
}

TEST(a_recording_from_before_there_was_a_search_is_read)
{
        struct profile p, q;

        forge_usual(&p);
        forge_block(&p, 0x10000, 10, FORGE_SITE_TINY, 0, 1);
        pass(&p, &q);
        is_true(!q.truncated && !q.scan_count && !profile_scanned(&q) && !q.verdict_count);
        is_equal(q.block_count, 1);
        profile_free(&q);
}

TAP_MAIN(the_forged_search_is_read_as_it_was_written, without_a_block_nothing_is_said_about_any,
         a_graph_with_a_missing_part_is_left_out_and_the_verdicts_stay,
         a_file_cut_anywhere_has_all_verdicts_or_none, wrong_classes_and_heads_become_unknown,
         contents_have_at_most_64_bytes_and_an_order, a_graph_that_is_wrong_anywhere_is_left_out,
         pointers_to_no_block_are_not_written, a_search_that_failed_says_why_and_nothing_else,
         only_the_first_of_several_searches_is_kept, blocks_out_of_order_cost_the_verdicts,
         a_recording_from_before_there_was_a_search_is_read)
