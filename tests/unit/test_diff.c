/* SPDX-License-Identifier: MIT */
/* test_diff.c -- what changed between two recordings. */
#include "export/report_json.h"
#include "query/diff.h"
#include "report/views.h"

#include "forge_leaks.h"
#include "tap.h"

/*
 * A program with functions at places of its file; loaded at BIAS, of build BUILD.  Old and new may
 * differ in both. main calls grow, keep, and either old_only or new_only.
 */
struct build {
        uint64_t bias;
        uint8_t id;
        uint64_t shift; /* how much later functions lie in the file */
        const char *path;
};

static uint32_t call(struct profile *p, uint32_t parent, const struct build *b, uint64_t place,
                     const char *name, uint32_t line)
{
        uint64_t pc = b->bias + b->shift + place;

        /* names are found by the address in the file */
        forge_name(p, b->shift + place, 0, name, "/src/p.c", line);
        return forge_node(p, parent, pc, 0);
}

static void program(struct profile *p, const struct build *b, const char *special,
                    uint64_t grow_bytes)
{
        uint32_t top;

        forge_start(p);
        forge_module(p, b->path);
        p->modules[0].bias = b->bias;
        p->modules[0].start = b->bias;
        p->modules[0].end = b->bias + 0x10000;
        p->modules[0].build_id_bytes = 20;
        p->modules[0].build_id[0] = b->id;
        p->meta.exe = heap_text(b->path);
        top = call(p, 0, b, 0x100, "main", 1 + b->id);
        forge_site(p, call(p, top, b, 0x200, "grow", 10 + b->id), LEDGER_KIND_MALLOC, grow_bytes,
                   2);
        forge_site(p, call(p, top, b, 0x300, "keep", 20 + b->id), LEDGER_KIND_MALLOC, 70, 7);
        forge_site(p, call(p, top, b, 0x400, special, 30 + b->id), LEDGER_KIND_CALLOC, 33, 1);
}

struct pair {
        struct profile p[MATCH_SIDES];
        struct symbols *s[MATCH_SIDES];
        struct selection sel[MATCH_SIDES];
        struct diff d;
};

static void compare(struct pair *q, uint32_t depth)
{
        const struct selection *sel[] = { &q->sel[0], &q->sel[1] };
        struct err e = { 0 };

        for (int i = 0; i < MATCH_SIDES; i++) {
                struct select_request request = { .cost = SELECT_LIVE, .depth_merge = depth };

                q->s[i] = forge_symbols(&q->p[i]);
                is_true(select_make(&q->sel[i], &q->p[i], q->s[i], &request, &e));
        }
        diff_make(&q->d, sel, q->s, SORT_LIVE_BYTES);
}

static void end(struct pair *q)
{
        diff_free(&q->d);
        for (int i = 0; i < MATCH_SIDES; i++) {
                select_free(&q->sel[i]);
                symbols_free(q->s[i]);
                profile_free(&q->p[i]);
        }
}

static const struct build first = { 0x10000, 1, 0, "/bin/p" }, moved = { 0x70000, 1, 0, "/bin/p" },
                          rebuilt = { 0x30000, 2, 0x48, "/opt/p" };

/* The rows in order: change and live bytes, then blocks. */
static void check_rows(const struct pair *q)
{
        static const struct {
                enum diff_change change;
                int64_t bytes, blocks;
        } wanted[] = { { DIFF_GROWN, 400, 0 },
                       { DIFF_NEW, 33, 1 },
                       { DIFF_GONE, -33, -1 },
                       { DIFF_SAME, 0, 0 } };

        is_equal(q->d.count, 4);
        for (uint32_t i = 0; i < q->d.count && i < 4; i++) {
                is_equal(diff_change_of(&q->d, diff_row_at(&q->d, i)), wanted[i].change);
                is_equal(diff_numbers(&q->d, diff_row_at(&q->d, i)).live_bytes, wanted[i].bytes);
                is_equal(diff_numbers(&q->d, diff_row_at(&q->d, i)).live_blocks, wanted[i].blocks);
                is_equal(diff_row_at(&q->d, i)->equal, wanted[i].change == DIFF_SAME);
        }
}

TEST(stacks_of_one_build_match_wherever_it_was_loaded)
{
        struct pair q;
        uint32_t old;

        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &moved, "new_only", 500);
        q.p[MATCH_NEW].nodes[q.p[MATCH_NEW].node_count - 1].pc += 8; /* new_only is another place */
        compare(&q, 0);
        check_rows(&q);
        is_true(!match_rebuilt(&q.d.match, 0, &old));
        end(&q);
}

TEST(functions_of_another_build_match_by_name)
{
        struct pair q;
        uint32_t old = 99;

        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &rebuilt, "new_only", 500);
        compare(&q, 0);
        check_rows(&q);
        is_true(match_rebuilt(&q.d.match, 0, &old));
        is_equal(old, 0);
        end(&q);
}

TEST(a_program_that_got_another_name_is_still_the_program)
{
        static const struct build renamed = { 0x30000, 2, 0x48, "/opt/p-2.0" };
        struct pair q;
        uint32_t old;

        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &renamed, "new_only", 500);
        compare(&q, 0);
        check_rows(&q);
        is_true(match_rebuilt(&q.d.match, 0, &old));
        end(&q);
}

TEST(cut_stacks_match_too)
{
        struct pair q;

        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &rebuilt, "new_only", 500);
        compare(&q, 1);
        check_rows(&q);
        end(&q);
}

TEST(two_places_of_a_function_that_match_by_name_are_one_row)
{
        struct pair q;
        uint32_t top;

        program(&q.p[MATCH_OLD], &first, "same", 100);
        program(&q.p[MATCH_NEW], &rebuilt, "same", 100);
        top = 2; /* main, the first node of its tree */
        forge_site(&q.p[MATCH_NEW], call(&q.p[MATCH_NEW], top, &rebuilt, 0x500, "grow", 99),
                   LEDGER_KIND_MALLOC, 11, 1);
        compare(&q, 0);
        is_equal(q.d.count, 3);
        is_equal(diff_numbers(&q.d, diff_row_at(&q.d, 0)).live_bytes, 11);
        is_equal(diff_row_at(&q.d, 0)->sums[MATCH_NEW]->live_bytes, 111);
        is_true(diff_row_at(&q.d, 1)->equal && diff_row_at(&q.d, 2)->equal);
        end(&q);
}

TEST(the_text_begins_with_the_totals_and_lists_the_largest_change_first)
{
        struct pair q;
        struct str out = { 0 };

        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &rebuilt, "new_only", 500);
        compare(&q, 0);
        diff_text(&q.d, &(struct diff_options){ .names = { "a", "b" } }, &out);
        has_text(str_get(&out), " of the old one\n");
        forge_without_sites(out.data);
        has_text(str_get(&out),
                 "from a to b\nheap: +400 B, 203 B to 603 B live, 0 blocks, 0 calls\n"
                 "stacks: 1 new, 1 gone, 1 grown, 0 shrunk, 1 unchanged\n\n   1. +400 B");
        has_text(str_get(&out), "new, by calloc\n      0 B to 33 B live, +1 block, +1 call\n       "
                                " new_only [/src/p.c:32]\n"
                                "        main [/src/p.c:3]\n");
        has_text(str_get(&out), "gone, by calloc of the old one\n      33 B to 0 B live, -1 block, "
                                "-1 call\n        old_only [/src/p.c:31]\n");
        is_true(!strstr(str_get(&out), "keep"));
        str_clear(&out);
        diff_text(&q.d, &(struct diff_options){ .names = { "a", "b" }, .limit = 1 }, &out);
        has_text(str_get(&out), "2 more stacks (-n 1)\n");
        end(&q);
        str_free(&out);
}

TEST(memlog_and_csv_are_signed)
{
        struct pair q;
        struct str out = { 0 };

        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &rebuilt, "new_only", 500);
        compare(&q, 0);
        diff_memlog(&q.d, &(struct diff_options){ .names = { "a", "b" } }, &out);
        is_text(str_get(&out),
                "+400\n\tgrow\t(/opt/p)\t/src/p.c:12\n\tmain\t(/opt/p)\t/src/p.c:3\n"
                "+33\n\tnew_only\t(/opt/p)\t/src/p.c:32\n\tmain\t(/opt/p)\t/src/p.c:3\n"
                "-33\n\told_only\t(/bin/p)\t/src/p.c:31\n\tmain\t(/bin/p)\t/src/p.c:2\n");
        str_clear(&out);
        diff_csv(&q.d, &(struct diff_options){ .names = { "a", "b" } }, &out);
        has_text(str_get(&out), "\r\ngrown,malloc,400,0,0,0,400,0,0,0,\"grow [/src/p.c:12];main "
                                "[/src/p.c:3]\",end,end\r\n");
        has_text(str_get(&out), "\r\ngone,calloc,-33,-1,0,0,-33,-1,0,0,\"old_only "
                                "[/src/p.c:31];main [/src/p.c:2]\",end,end\r\n");
        is_true(!strstr(str_get(&out), "keep"));
        end(&q);
        str_free(&out);
}

/* grow loses one block in the old run, two in the new one; keep none any more. */
TEST(leaks_are_compared_when_both_were_searched)
{
        struct str out = { 0 };
        struct pair q;

        memset(&q, 0, sizeof q);
        program(&q.p[MATCH_OLD], &first, "old_only", 100);
        program(&q.p[MATCH_NEW], &first, "new_only", 100);
        for (int side = 0; side < MATCH_SIDES; side++) {
                forge_scan(&q.p[side], 1, PROFILE_SCAN_EXIT, 0);
                forge_judged(&q.p[side], 0x1000, 50, 1, PROFILE_LEAK_DEFINITE, 0);
                forge_judged(&q.p[side], 0x2000, 50, 1,
                             side == MATCH_NEW ? PROFILE_LEAK_INDIRECT : PROFILE_LEAK_REACHABLE, 0);
                forge_judged(&q.p[side], 0x3000, 10, 2,
                             side == MATCH_NEW ? PROFILE_LEAK_REACHABLE : PROFILE_LEAK_DEFINITE, 0);
        }
        compare(&q, 0);
        is_true(q.d.searched);
        diff_json(&q.d, &(struct diff_options){ .names = { "a", "b" } }, &out);
        has_text(out.data, "\"leaks\": {\"scanned\": true, \"definite\": {\"blocks\": -1, "
                           "\"bytes\": -10}, \"indirect\": {\"blocks\": 1, \"bytes\": 50}");
        has_text(out.data, "\"leaked_blocks\": 1, \"leaked_bytes\": 50");
        has_text(out.data, "\"leaked_blocks\": -1, \"leaked_bytes\": -10");
        str_clear(&out);
        diff_text(&q.d, &(struct diff_options){ .names = { "a", "b" } }, &out);
        has_text(out.data, "from a to b\nleaks: definitely lost -10 B, -1 block; indirectly lost "
                           "+50 B, +1 block\nheap: ");
        has_text(out.data, "\n      definitely lost -10 B, -1 block\n");
        str_free(&out);
        end(&q);
}

TEST(two_moments_of_one_recording_share_their_stacks)
{
        struct profile p;
        struct symbols *s;
        struct selection old, new;
        struct diff d;
        struct err e = { 0 };

        forge_usual(&p);
        forge_slice(&p, 5);
        forge_change(&p, FORGE_SITE_PARSE, 1000, 10, 10, 1000);
        forge_mark(&p, LEDGER_MARK_SNAPSHOT, 1, "early");
        s = forge_symbols(&p);
        is_true(select_make(&old, &p, s, &(struct select_request){ .at = { MOMENT_MARK, 0, 5 } },
                            &e));
        is_true(select_make(&new, &p, s,
                            &(struct select_request){ .at = { MOMENT_END, 0, UINT64_MAX } }, &e));
        diff_make(&d, (const struct selection *[]){ &old, &new }, (struct symbols *[]){ s, s },
                  SORT_LIVE_BYTES);
        is_equal(diff_numbers(&d, diff_row_at(&d, 0)).live_bytes, 4096); /* the mapping */
        is_equal(diff_numbers(&d, diff_row_at(&d, 1)).live_bytes, -400);
        is_equal(diff_change_of(&d, diff_row_at(&d, 1)), DIFF_SHRUNK);
        is_equal(diff_numbers(&d, diff_row_at(&d, 1)).peak_bytes, 0); /* not known for a slice */
        diff_free(&d);
        select_free(&old);
        select_free(&new);
        symbols_free(s);
        profile_free(&p);
}

TAP_MAIN(stacks_of_one_build_match_wherever_it_was_loaded, functions_of_another_build_match_by_name,
         a_program_that_got_another_name_is_still_the_program, cut_stacks_match_too,
         two_places_of_a_function_that_match_by_name_are_one_row,
         the_text_begins_with_the_totals_and_lists_the_largest_change_first,
         memlog_and_csv_are_signed, leaks_are_compared_when_both_were_searched,
         two_moments_of_one_recording_share_their_stacks)
