/* SPDX-License-Identifier: MIT */
#include "query/leaks.h"

#include "base/str.h"
#include "export/report_json.h"
#include "forge_leaks.h"
#include "report/views.h"
#include "tap.h"
#include "wire/hello.h"

enum {
        SHOW_USUAL = 1u << PROFILE_LEAK_DEFINITE | 1u << PROFILE_LEAK_INDIRECT |
                     1u << PROFILE_LEAK_POSSIBLE
};

/* The leaky recording and what is made from it. */
struct bench {
        struct profile p;
        struct symbols *s;
        struct wrappers wrappers;
        struct filter filter;
        struct suppressions rules;
        struct select_request select;
        struct leaks_request request;
        struct leaks_options options;
        struct selection sel;
        struct leaks l;
        struct str out;
};

static void bench_start(struct bench *b)
{
        *b = (struct bench){ .select = { .cost = SELECT_LIVE }, .options = { .show = SHOW_USUAL } };
        forge_leaky(&b->p);
        b->p.meta.pid = 77;
        b->s = forge_symbols(&b->p);
}

static void bench_rules(struct bench *b, const char *text)
{
        struct err e = { 0 };

        is_true(suppress_read_text(&b->rules, SUPPRESS_FILE, "my.supp", text, &e));
        b->request.suppressions = &b->rules;
        b->options.suppressions = &b->rules;
}

static void bench_make(struct bench *b)
{
        struct err e = { 0 };

        is_true(select_make(&b->sel, &b->p, b->s, &b->select, &e));
        leaks_make(&b->l, &b->sel, b->s, &b->request);
}

static const char *bench_text(struct bench *b)
{
        str_clear(&b->out);
        leaks_text(&b->l, b->s, &b->options, &b->out);
        return str_get(&b->out);
}

static void bench_end(struct bench *b)
{
        leaks_free(&b->l);
        select_free(&b->sel);
        suppress_free(&b->rules);
        filter_free(&b->filter);
        wrappers_free(&b->wrappers);
        symbols_free(b->s);
        profile_free(&b->p);
        str_free(&b->out);
}

static const struct leaks_row *row_of(const struct leaks *l, uint32_t site, uint32_t leak)
{
        for (uint32_t i = 0; i < l->count; i++)
                if (l->rows[i].stack->site == site && l->rows[i].leak == leak)
                        return &l->rows[i];
        return NULL;
}

static void is_sum(const struct leaks_sum *sum, uint64_t blocks, uint64_t bytes)
{
        is_equal(sum->blocks, blocks);
        is_equal(sum->bytes, bytes);
}

TEST(classes_are_summed_and_a_group_counts_once)
{
        const struct leaks_row *head;
        struct bench b;

        bench_start(&b);
        bench_make(&b);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 3, 300);
        is_sum(&b.l.sums[PROFILE_LEAK_INDIRECT], 3, 300);
        is_sum(&b.l.sums[PROFILE_LEAK_POSSIBLE], 2, 35);
        is_sum(&b.l.sums[PROFILE_LEAK_REACHABLE], 8, 365);
        is_sum(&b.l.suppressed, 0, 0);
        is_sum(&b.l.idiom, 1, 31);
        has_text(bench_text(&b),
                 "  still reachable       365 B in 8 blocks       not an error\n"
                 "   of it by idiom        31 B in 1 block        behind a header, or the like\n");
        head = row_of(&b.l, FORGE_SITE_PARSE, PROFILE_LEAK_DEFINITE);
        is_true(head != NULL);
        is_sum(&head->own, 1, 100);
        is_sum(&head->hanging, 2, 200);
        is_sum(&row_of(&b.l, FORGE_SITE_PARSE, PROFILE_LEAK_INDIRECT)->own, 2, 200);
        is_true(!row_of(&b.l, FORGE_SITE_PARSE, PROFILE_LEAK_REACHABLE));
        is_true(leaks_found(&b.l));
        bench_end(&b);
}

TEST(rows_come_by_class_and_then_the_largest_first)
{
        /* definite: 300, 200, 100 */
        static const uint32_t order[] = { FORGE_SITE_PARSE, FORGE_SITE_LOAD, FORGE_SITE_PARSE_20,
                                          /* indirect: 200, 100 */
                                          FORGE_SITE_PARSE, FORGE_SITE_LOAD,
                                          /* possible: 31, 4 */
                                          FORGE_SITE_INNER, FORGE_SITE_TINY };
        struct bench b;

        bench_start(&b);
        bench_make(&b);
        is_equal(b.l.count, sizeof order / sizeof *order);
        for (uint32_t i = 0; i < b.l.count; i++)
                is_equal(b.l.rows[i].stack->site, order[i]);
        bench_end(&b);
}

TEST(age_puts_the_oldest_first)
{
        struct bench b;

        bench_start(&b);
        b.request.key = LEAKS_BY_AGE;
        bench_make(&b);
        is_equal(b.l.rows[0].stack->site, FORGE_SITE_PARSE);
        is_equal(b.l.rows[1].stack->site, FORGE_SITE_PARSE_20);
        is_equal(b.l.rows[2].stack->site, FORGE_SITE_LOAD);
        is_equal(b.l.rows[1].birth_ms, 60);
        bench_end(&b);
}

TEST(only_new_leaves_out_what_was_lost_before)
{
        struct bench b;

        bench_start(&b);
        b.request.only_new = true;
        bench_make(&b);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 1, 100);
        is_sum(&b.l.sums[PROFILE_LEAK_INDIRECT], 1, 100);
        is_sum(&b.l.sums[PROFILE_LEAK_POSSIBLE], 0, 0);
        is_sum(&b.l.sums[PROFILE_LEAK_REACHABLE], 8, 365);
        leaks_text(&b.l, b.s, &b.options, &b.out);
        has_text(b.out.data, "\nsince the previous search (still reachable: in total):\n  "
                             "definitely lost       100 B in 1 block\n");
        bench_end(&b);
}

TEST(a_suppressed_head_takes_along_what_hangs_on_it)
{
        struct bench b;

        bench_start(&b);
        bench_rules(&b, "{\n n\n Memcheck:Leak\n match-leak-kinds: definite\n fun:malloc\n "
                        "fun:parse\n}\nleak:nothing_like_it\n");
        bench_make(&b);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 2, 200);
        is_sum(&b.l.sums[PROFILE_LEAK_INDIRECT], 1, 100);
        is_sum(&b.l.suppressed, 3, 300);
        is_equal(b.rules.rules[0].blocks, 3);
        is_equal(b.rules.rules[0].bytes, 300);
        is_equal(b.rules.rules[1].times, 0);
        has_text(bench_text(&b), "suppressed            300 B in 3 blocks");
        has_text(bench_text(&b), "by 1 of 2 rules");
        has_text(bench_text(&b), "unused suppression: my.supp:8: leak:nothing_like_it\n");
        is_true(!strstr(bench_text(&b), "unused suppression: n"));
        b.options.verbose = true;
        has_text(bench_text(&b), "suppressed: 300 B in 3 blocks by 'n' (my.supp:1)");
        bench_end(&b);
}

TEST(what_is_reachable_is_never_subtracted)
{
        struct bench b;

        bench_start(&b);
        bench_rules(&b, "leak:main\n");
        b.request.reachable = true;
        bench_make(&b);
        is_equal(b.l.count, 0);
        is_sum(&b.l.suppressed, 8, 635);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 0, 0);
        is_sum(&b.l.sums[PROFILE_LEAK_REACHABLE], 8, 365);
        is_true(!leaks_found(&b.l));
        bench_end(&b);
}

TEST(filters_leave_out_stacks_and_threads)
{
        struct err e = { 0 };
        struct bench b;

        bench_start(&b);
        is_true(filter_add(&b.filter, FILTER_EXCLUDE, "^parse$", &e));
        b.select.filter = &b.filter;
        b.request.filter = &b.filter;
        bench_make(&b);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 1, 100);
        is_sum(&b.l.sums[PROFILE_LEAK_INDIRECT], 1, 100);
        bench_end(&b);
        bench_start(&b);
        b.p.blocks[6].thread = 1;
        is_true(filter_add(&b.filter, FILTER_THREAD, "^main$", &e));
        b.select.filter = &b.filter;
        b.request.filter = &b.filter;
        bench_make(&b);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 1, 100);
        is_sum(&b.l.sums[PROFILE_LEAK_INDIRECT], 0, 0);
        bench_end(&b);
}

/* Two blocks whose stacks differ only in the wrapper: one row, one suppressed. */
TEST(stacks_are_merged_but_rules_see_them_whole)
{
        struct bench b;
        uint32_t main_node, direct, wrapped;

        b = (struct bench){ .select = { .cost = SELECT_LIVE }, .options = { .show = SHOW_USUAL } };
        forge_start(&b.p);
        forge_module(&b.p, "/usr/bin/prog");
        forge_name(&b.p, 0x100, 0, "main", "m.c", 1);
        forge_name(&b.p, 0x200, 0, "xmalloc", "x.c", 1);
        forge_name(&b.p, 0x300, 0, "use", "u.c", 1);
        main_node = forge_node(&b.p, 0, 0x100, 0);
        direct = forge_node(&b.p, main_node, 0x300, 0);
        wrapped = forge_node(&b.p, direct, 0x200, 0);
        forge_site(&b.p, direct, LEDGER_KIND_MALLOC, 10, 1);
        forge_site(&b.p, wrapped, LEDGER_KIND_MALLOC, 20, 1);
        forge_scan(&b.p, 5, PROFILE_SCAN_EXIT, 0);
        forge_judged(&b.p, 0x1000, 10, 1, PROFILE_LEAK_DEFINITE, 0);
        forge_judged(&b.p, 0x2000, 20, 2, PROFILE_LEAK_DEFINITE, 0);
        b.s = forge_symbols(&b.p);
        b.select.wrappers = &b.wrappers;
        bench_make(&b);
        is_equal(b.l.count, 1);
        is_sum(&b.l.rows[0].own, 2, 30);
        leaks_free(&b.l);
        select_free(&b.sel);
        bench_rules(&b, "leak:xmalloc\n");
        bench_make(&b);
        is_equal(b.l.count, 1);
        is_sum(&b.l.rows[0].own, 1, 10);
        is_sum(&b.l.suppressed, 1, 20);
        bench_end(&b);
}

TEST(the_text_tells_classes_groups_and_stacks)
{
        const char *text;
        struct bench b;

        bench_start(&b);
        bench_make(&b);
        text = bench_text(&b);
        has_text(text, "./prog (pid 77) was searched for leaks at exit, after 9.9 s\n");
        has_text(text, "  definitely lost       300 B in 3 blocks\n");
        has_text(text, "  indirectly lost       300 B in 3 blocks");
        has_text(text, "  still reachable       365 B in 8 blocks       not an error\n");
        has_text(text, "   1. 100 B in 1 block definitely lost,\n      and 200 B in 2 blocks "
                       "reachable only through it\n"
                       "      by malloc, age 9.9 s, site #1\n"
                       "        parse [/src/a.c:10]\n"
                       "        load [/src/l.c:7]\n"
                       "        main [/src/m.c:1]\n");
        has_text(text, "100 B in 1 block definitely lost,\n      and 100 B in 1 block reachable "
                       "only through it\n");
        has_text(text, "   7. 4 B in 1 block possibly lost\n");
        is_true(!strstr(text, "reachable\n"));
        b.options.limit = 3;
        has_text(bench_text(&b), "4 more places: -n 0\n");
        b.options.show = 1u << PROFILE_LEAK_POSSIBLE;
        is_true(!strstr(bench_text(&b), "block definitely"));
        bench_end(&b);
}

TEST(blocks_come_with_their_first_bytes)
{
        const char *text;
        struct bench b;

        bench_start(&b);
        b.options.blocks = true;
        b.select.each_site = true;
        b.p.blocks[6].thread = 1;
        bench_make(&b);
        text = bench_text(&b);
        has_text(text,
                 "0x10600  100 B definitely lost\n"
                 "    by calloc, age 9.9 s, thread main (100)\n"
                 "    0000  68 65 6c 6c 6f 2c 20 6c  65 61 6b 00              |hello, leak.|\n"
                 "    parse [/src/a.c:20]\n");
        has_text(text, "0x10000  100 B definitely lost, and 200 B in 2 blocks reachable only "
                       "through it\n");
        has_text(text, "0x10100  100 B indirectly lost\n");
        is_true(strstr(text, "0x10000") < strstr(text, "0x10700"));
        is_true(strstr(text, "0x10700") < strstr(text, "0x10600"));
        bench_end(&b);
}

TEST(bytes_fit_eighty_columns)
{
        uint8_t bytes[PROFILE_CONTENT_BYTES];
        struct bench b;

        bench_start(&b);
        for (uint32_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(i * 5);
        memcpy(b.p.contents[0].data, bytes, sizeof bytes);
        b.p.contents[0].bytes = sizeof bytes;
        b.options.blocks = true;
        bench_make(&b);
        for (const char *line = bench_text(&b); *line; line = strchr(line, '\n') + 1)
                is_true(strcspn(line, "\n") <= 80);
        has_text(bench_text(&b), "    0030  f0 f5 fa ff 04");
        bench_end(&b);
}

TEST(a_recording_without_a_search_says_why)
{
        static const struct { uint32_t end, signal; const char *words; } ways[] = {
                { PROFILE_END_SIGNAL, 9, "SIGKILL" },
                { PROFILE_END_UNKNOWN, 0, "seep leaks 77" },
                { PROFILE_END_GONE, 0, "no time" },
        };

        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                struct bench b = { .select = { .cost = SELECT_LIVE },
                                   .options = { .show = SHOW_USUAL } };

                forge_usual(&b.p);
                b.p.meta.pid = 77;
                b.p.meta.flags = WIRE_F_LEAK_SCAN;
                b.p.meta.end = ways[i].end;
                b.p.meta.exit_signal = ways[i].signal;
                b.s = forge_symbols(&b.p);
                bench_make(&b);
                has_text(bench_text(&b), "was not searched for leaks:");
                has_text(bench_text(&b), ways[i].words);
                b.p.meta.flags = 0;
                has_text(bench_text(&b), "--no-leak-scan");
                forge_scan(&b.p, 1, PROFILE_SCAN_EXIT, 0);
                free(b.p.scans[0].trouble);
                b.p.scans[0].trouble = heap_text("ptrace says no");
                has_text(bench_text(&b), "ptrace says no");
                is_true(!leaks_found(&b.l));
                bench_end(&b);
        }
}

static void add_error(struct profile *p, uint32_t type, uint32_t node, uint32_t site)
{
        p->errors = heap_grow(p->errors, p->error_count + 1, sizeof *p->errors);
        p->errors[p->error_count++] = (struct profile_error){ .type = type,
                                                              .node = node,
                                                              .alloc_site = site,
                                                              .release = LEDGER_FAMILY_C,
                                                              .count = 1,
                                                              .address = 0x99 };
}

TEST(wrong_releases_are_findings_unless_suppressed)
{
        struct bench b;

        bench_start(&b);
        b.p.scan_count = 0; /* also without a search */
        add_error(&b.p, LEDGER_ERROR_DOUBLE_FREE, b.p.sites[FORGE_SITE_TINY].node,
                  FORGE_SITE_PARSE);
        bench_make(&b);
        is_true(leaks_found(&b.l));
        has_text(bench_text(&b), "double free, 1 time");
        has_text(bench_text(&b), "  freed by\n    tiny\n");
        has_text(bench_text(&b), "  allocated by\n    parse [/src/a.c:10]\n");
        leaks_free(&b.l);
        select_free(&b.sel);
        bench_rules(&b, "{\n known\n Memcheck:Free\n fun:free\n fun:tiny\n}\n");
        bench_make(&b);
        is_true(!leaks_found(&b.l));
        is_true(!strstr(bench_text(&b), "double free"));
        b.options.verbose = true;
        has_text(bench_text(&b), "suppressed: 1 invalid free by 'known' (my.supp:1)");
        b.p.scan_count = 1;
        bench_end(&b);
}

TEST(the_programs_own_rules_hold)
{
        struct str trouble = { 0 };
        struct bench b;

        bench_start(&b);
        free(b.p.scans[0].suppressions);
        b.p.scans[0].suppressions = heap_text("leak:^parse$\n");
        leaks_usual_rules(&b.rules, &b.p, true, &trouble);
        is_text(str_get(&trouble), "");
        is_equal(b.rules.count, 1);
        suppress_free(&b.rules);
        bench_make(&b);
        leaks_free(&b.l);
        leaks_make_usual(&b.l, &b.sel, b.s);
        is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 1, 100);
        free(b.p.scans[0].suppressions);
        b.p.scans[0].suppressions = heap_text("leak:^parse$\nnonsense\n");
        leaks_usual_rules(&b.rules, &b.p, true, &trouble);
        has_text(str_get(&trouble), "__lsan_default_suppressions():2");
        is_equal(b.rules.count, 1);
        str_free(&trouble);
        bench_end(&b);
}

TEST(json_has_the_shapes_of_the_report)
{
        const char *text;
        struct bench b;

        bench_start(&b);
        b.options.blocks = true;
        bench_make(&b);
        leaks_json(&b.l, b.s, &b.options, &b.out);
        text = str_get(&b.out);
        has_text(text, "\"leaks\": {\"scanned\": true, \"definite\": {\"blocks\": 3, \"bytes\": "
                       "300}, \"indirect\": {\"blocks\": 3, \"bytes\": 300}, "
                       "\"possible\": {\"blocks\": 2, \"bytes\": 35}, \"reachable\": {\"blocks\": "
                       "8, \"bytes\": 365}");
        has_text(text, "\"scan\": {\"when\": \"exit\", \"ms\": 9990, \"pause_us\": 1500, "
                       "\"scan_us\": 2500");
        has_text(text, "{\"id\": 1, \"class\": \"definite\", \"allocations\": 6");
        has_text(text, "\"leaked_blocks\": 3, \"leaked_bytes\": 300, \"leak\": {\"definite\": "
                       "{\"blocks\": 1, \"bytes\": 100}, "
                       "\"indirect\": {\"blocks\": 2, \"bytes\": 200}, \"possible\": {\"blocks\": "
                       "0, \"bytes\": 0}, "
                       "\"reachable\": {\"blocks\": 3, \"bytes\": 300}}, \"hanging\": {\"blocks\": "
                       "2, \"bytes\": 200}");
        has_text(text, "\"content\": \"68656c6c6f2c206c65616b00\"");
        has_text(text, "\"head\": \"0x10000\"");
        str_clear(&b.out);
        report_json_write(&b.sel, NULL, b.s, &b.out);
        has_text(str_get(&b.out),
                 "\"leaks\": {\"scanned\": true, \"definite\": {\"blocks\": 3, \"bytes\": 300}");
        has_text(str_get(&b.out), "\"leaked_blocks\": 3, \"leaked_bytes\": 300");
        bench_end(&b);
}

/* Rules made for what is reported, fed back, leave nothing; one left out leaves just what it was
 * for. */
static void feed_back(enum suppress_format form)
{
        struct err e = { 0 };
        struct bench b;
        struct suppressions own = { 0 };

        bench_start(&b);
        b.select.each_site = true;
        bench_make(&b);
        leaks_rules(&b.l, b.s, &b.options, form, &b.out);
        leaks_free(&b.l);
        is_true(suppress_read_text(&own, SUPPRESS_FILE, "own.supp", str_get(&b.out), &e));
        is_text(e.text, "");
        b.request.suppressions = &own;
        leaks_make(&b.l, &b.sel, b.s, &b.request);
        is_equal(b.l.count, 0);
        is_sum(&b.l.suppressed, 8, 635);
        for (uint32_t i = 0; i < own.count; i++)
                is_true(own.rules[i].times != 0);
        if (form == SUPPRESS_AS_VALGRIND) {
                leaks_free(&b.l);
                own.rules[0].leaks = 0;
                leaks_make(&b.l, &b.sel, b.s, &b.request);
                is_sum(&b.l.sums[PROFILE_LEAK_DEFINITE], 1, 100);
                is_sum(&b.l.sums[PROFILE_LEAK_INDIRECT], 2, 200);
                is_true(row_of(&b.l, FORGE_SITE_PARSE, PROFILE_LEAK_DEFINITE) != NULL);
        }
        suppress_free(&own);
        bench_end(&b);
}

TEST(rules_made_in_valgrinds_form_hide_just_that)
{
        feed_back(SUPPRESS_AS_VALGRIND);
}

TEST(rules_made_in_lsans_form_hide_all_they_were_made_for)
{
        feed_back(SUPPRESS_AS_LSAN);
}

TAP_MAIN(classes_are_summed_and_a_group_counts_once, rows_come_by_class_and_then_the_largest_first,
         age_puts_the_oldest_first, only_new_leaves_out_what_was_lost_before,
         a_suppressed_head_takes_along_what_hangs_on_it, what_is_reachable_is_never_subtracted,
         filters_leave_out_stacks_and_threads, stacks_are_merged_but_rules_see_them_whole,
         the_text_tells_classes_groups_and_stacks, blocks_come_with_their_first_bytes,
         bytes_fit_eighty_columns, a_recording_without_a_search_says_why,
         wrong_releases_are_findings_unless_suppressed, the_programs_own_rules_hold,
         json_has_the_shapes_of_the_report, rules_made_in_valgrinds_form_hide_just_that,
         rules_made_in_lsans_form_hide_all_they_were_made_for)
