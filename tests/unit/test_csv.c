/* SPDX-License-Identifier: MIT */
/* test_csv.c -- tables for programs. */
#include "export/report_csv.h"
#include "words/csv.h"

#include "forge.h"
#include "tap.h"

TEST(fields_are_quoted_where_they_need_it)
{
        struct str out = { 0 };

        csv_text(&out, "plain");
        csv_text(&out, "a,b");
        csv_text(&out, "say \"x\"");
        csv_text(&out, "two\nlines");
        csv_text(&out, NULL);
        csv_signed(&out, -5);
        csv_number(&out, UINT64_MAX);
        csv_end(&out);
        is_text(str_get(&out),
                "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",,-5,18446744073709551615\r\n");
        str_free(&out);
}

static const char *table(const struct profile *p, struct select_request request, uint32_t limit,
                         struct str *out)
{
        struct symbols *s = forge_symbols(p);
        struct selection sel;
        struct err e = { 0 };

        str_clear(out);
        is_true(select_make(&sel, p, s, &request, &e));
        report_csv_write(&sel, s, &(struct flat_options){ .key = SORT_LIVE_BYTES, .limit = limit },
                         out);
        select_free(&sel);
        symbols_free(s);
        return str_get(out);
}

TEST(one_line_per_stack_in_the_order_of_the_key_heap_first)
{
        struct profile p;
        struct str out = { 0 };
        const char *text;

        forge_usual(&p);
        text = table(&p, (struct select_request){ .cost = SELECT_LIVE }, 0, &out);
        has_text(text, "site,kind,live_bytes,live_blocks,peak_bytes,peak_blocks,alloc_bytes,allocs,"
                       "frees,temporary,lifetime_ms,"
                       "growth,growth_bytes_per_s,stack,moment\r\n1,malloc,600,6,0,0,600,6,0,0,0,,,"
                       "\"parse [/src/a.c:10];load [/src/l.c:7];main [/src/m.c:1]\",end\r\n");
        has_text(text, "\r\n5,malloc,3,3,0,0,3,3,0,0,0,,,\"small [/src/s.c:5];main "
                       "[/src/m.c:3]\",end\r\n7,mmap,4096,1,");
        text = table(&p, (struct select_request){ .cost = SELECT_LIVE }, 1, &out);
        is_true(!strstr(text, "\r\n3,"));
        has_text(text, "\r\n7,mmap,");
        str_free(&out);
        profile_free(&p);
}

TEST(what_a_slice_does_not_tell_is_empty)
{
        struct profile p;
        struct str out = { 0 };

        forge_usual(&p);
        forge_slice(&p, 5);
        forge_change(&p, FORGE_SITE_PARSE, 50, 5, 10, 100);
        has_text(table(&p,
                       (struct select_request){ .cost = SELECT_LIVE, .at = { MOMENT_TIME, 0, 5 } },
                       0, &out),
                 "\r\n1,malloc,50,5,,,100,10,5,,,,,\"parse ");
        str_free(&out);
        profile_free(&p);
}

TEST(names_with_quotes_and_commas_stay_one_field_also_where_they_are_copied)
{
        struct profile p;
        struct str out = { 0 };
        uint32_t outer;
        uint16_t m;

        forge_start(&p);
        m = forge_module(&p, "/bin/p");
        forge_name(&p, 0x100, 0, "operator\"\" _kb(a, b)", NULL, 0);
        forge_name(&p, 0x200, 0, "f", NULL, 0);
        forge_name(&p, 0x300, 0, "g", NULL, 0);
        outer = forge_node(&p, 0, 0x100, m);
        forge_site(&p, forge_node(&p, outer, 0x200, m), LEDGER_KIND_MALLOC, 2, 1);
        forge_site(&p, forge_node(&p, outer, 0x300, m), LEDGER_KIND_MALLOC, 1, 1);
        table(&p, (struct select_request){ .cost = SELECT_LIVE }, 0, &out);
        has_text(str_get(&out), ",\"f;operator\"\"\"\" _kb(a, b)\",end\r\n");
        has_text(str_get(&out), ",\"g;operator\"\"\"\" _kb(a, b)\",end\r\n");
        str_free(&out);
        profile_free(&p);
}

TEST(stacks_that_have_nothing_of_the_cost_are_there_too)
{
        struct profile p;
        struct str out = { 0 };
        uint16_t m;

        forge_start(&p);
        m = forge_module(&p, "/bin/p");
        forge_name(&p, 0x100, 0, "freed", NULL, 0);
        forge_site(&p, forge_node(&p, 0, 0x100, m), LEDGER_KIND_MALLOC, 0, 0);
        p.sites[p.site_count - 1].allocs = p.sites[p.site_count - 1].frees = 7;
        table(&p, (struct select_request){ .cost = SELECT_LIVE }, 0, &out);
        has_text(str_get(&out), ",malloc,0,0,0,0,0,7,7,0,0,,,\"freed\",end\r\n");
        str_free(&out);
        profile_free(&p);
}

TEST(growth_is_told_and_orders_the_table_when_asked_for)
{
        struct profile p;
        struct str out = { 0 };
        struct symbols *s;
        struct selection sel;
        struct err e = { 0 };
        const char *grown, *parsed;

        forge_usual(&p);
        p.meta.duration_ms = 10000;
        for (uint32_t i = 1; i <= 100; i++) {
                forge_slice(&p, 100 * i);
                forge_change(&p, FORGE_SITE_SMALL, i, i, i, i);
        }
        s = forge_symbols(&p);
        is_true(select_make(&sel, &p, s, &(struct select_request){ .cost = SELECT_LIVE }, &e));
        report_csv_write(&sel, s,
                         &(struct flat_options){ .key = SORT_LIVE_BYTES, .growing_first = true },
                         &out);
        grown = strstr(str_get(&out), ",grows,");
        parsed = strstr(str_get(&out), "parse [");
        is_true(grown && parsed && grown < parsed);
        select_free(&sel);
        symbols_free(s);
        str_free(&out);
        profile_free(&p);
}

TAP_MAIN(fields_are_quoted_where_they_need_it,
         one_line_per_stack_in_the_order_of_the_key_heap_first, what_a_slice_does_not_tell_is_empty,
         names_with_quotes_and_commas_stay_one_field_also_where_they_are_copied,
         stacks_that_have_nothing_of_the_cost_are_there_too,
         growth_is_told_and_orders_the_table_when_asked_for)
