/* SPDX-License-Identifier: MIT */
/*
 * test_settle_leaks.c -- what a search for leaks found, through a file and back; and what is left of it when the file is not whole.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "forge_leaks.h"
#include "profile/image.h"
#include "tap.h"

/* P through an image; P is freed. */
static void pass(struct profile *p, struct profile *q)
{
        struct err e = { 0 };
        struct str file = { 0 };

        if (!is_true(image_write(p, IMAGE_PACKED, &file, &e) && image_read(q, file.data, file.length, "f.seep", &e)))
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
        is_true(!q.truncated && profile_scanned(&q) && profile_scanned(&q)->flags & PROFILE_SCAN_GRAPH);
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
        is_equal(q.root_count * 1000 + q.frame_count * 100 + q.hold_count * 10 + q.pointer_count, 5277);
        is_equal(q.holds[2].at, 0x7fff0040);
        is_equal(q.roots[FORGE_ROOT_TLS].base, 0x30040);
        is_text((const char *)q.contents[1].data, "hello, leak");
        profile_free(&q);
}

TAP_MAIN(the_forged_search_is_read_as_it_was_written)
