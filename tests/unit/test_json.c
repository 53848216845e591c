/* SPDX-License-Identifier: MIT */
/* Whole reports are read back by Python's parser, which knows the truth about JSON. */
#include "tap.h"

#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "export/report_json.h"
#include "forge.h"

static void says(const char *text, const char *expected)
{
        struct str out = { 0 };

        json_text(&out, text);
        is_text(str_get(&out), expected);
        str_free(&out);
}

TEST(strings_are_escaped)
{
        says("plain", "\"plain\"");
        says("a\"b\\c", "\"a\\\"b\\\\c\"");
        says("\n\t\r\x01\x1f\x7f", "\"\\n\\t\\u000d\\u0001\\u001f\\u007f\"");
        says("", "\"\"");
        says(NULL, "null");
}

TEST(utf8_passes_and_everything_else_is_replaced)
{
        says("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
        says("a\xff"
             "b",
             "\"a\xef\xbf\xbd"
             "b\"");
        says("\xc3", "\"\xef\xbf\xbd\""); /* cut off */
        says("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
        says("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");                 /* longer than needed */
        says("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* surrogate */
        says("\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Python evaluates CONDITION with the report in d; the report is given on its standard input. */
static void holds(const struct str *report, const char *condition)
{
        static const char before[] =
                "import json, sys\nd = json.load(sys.stdin)\n"
                "name = lambda s: [d['frames'][i]['function'] for i in s['stack']]\n"
                "site = {s['id']: s for s in d['sites']}\n"
                "assert ";
        struct str script = { 0 };
        FILE *python;

        str_format(&script, "/usr/bin/python3 -c \"%s%s\"", before, condition);
        fflush(stdout);
        python = popen(str_get(&script), "w");
        if (is_true(python != NULL)) {
                is_true(io_write(fileno(python), report->data, report->length));
                if (pclose(python) != 0) {
                        printf("# not so: %s\n", condition);
                        is_true(!"the condition above holds");
                }
        }
        str_free(&script);
}

static void report_of(const struct profile *p, uint32_t depth_merge, struct str *out)
{
        struct select_request request = { .cost = SELECT_LIVE, .depth_merge = depth_merge };
        struct symbols *s = forge_symbols(p);
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        report_json_write(&sel, NULL, s, out);
        select_free(&sel);
        symbols_free(s);
}

static void add_error(struct profile *p, uint32_t type, uint32_t node, uint32_t site)
{
        p->errors = heap_grow(p->errors, p->error_count + 1, sizeof *p->errors);
        p->errors[p->error_count++] = (struct profile_error){
                .type = type, .node = node, .alloc_site = site, .address = 0xabc0, .count = 2
        };
}

TEST(a_report_holds_sites_and_their_stacks)
{
        struct str out = { 0 };
        struct profile p;

        forge_usual(&p);
        p.meta.pid = 77;
        p.meta.exit_code = 3;
        report_of(&p, 0, &out);
        holds(&out, "d['seep'] == 1 and d['program'] == './prog' and d['pid'] == 77 and "
                    "d['complete'] is True");
        holds(&out, "d['exit'] == {'code': 3, 'signal': None} and d['warnings'] == [] and "
                    "d['snapshots'] == []");
        holds(&out, "d['totals']['live_bytes'] == 1000 and d['totals']['allocations'] == 16");
        holds(&out, "sum(s['live_bytes'] for s in d['sites'] if s['kind'] != 'mmap') == 1000 and "
                    "len(d['sites']) == 7");
        holds(&out, "name(site[1]) == ['parse', 'load', 'main'] and site[1]['live_blocks'] == 6 "
                    "and site[2]['kind'] == "
                    "'calloc'");
        holds(&out, "name(site[6]) == ['inner', 'work', 'main']");
        holds(&out,
              "[d['frames'][i]['inlined'] for i in site[6]['stack']] == [True, False, False]");
        holds(&out, "d['frames'][site[6]['stack'][1]]['line'] == 66 and "
                    "d['frames'][site[4]['stack'][0]]['file'] is None");
        holds(&out, "d['frames'][site[1]['stack'][0]]['address'] == '0x300' and "
                    "d['frames'][0]['module'] == '/usr/bin/prog'");
        holds(&out, "d['leaks']['scanned'] is False and site[1]['leak']['definite'] == {'blocks': "
                    "0, 'bytes': 0}");
        holds(&out, "site[1]['stack'][1] == site[2]['stack'][1]");
        str_free(&out);
        profile_free(&p);
}

TEST(errors_threads_and_signals_are_told)
{
        struct str out = { 0 };
        struct profile p;

        forge_usual(&p);
        p.meta.end = PROFILE_END_SIGNAL;
        p.meta.exit_signal = 9;
        forge_thread(&p, 12, "wor\"ker");
        add_error(&p, LEDGER_ERROR_DOUBLE_FREE, p.sites[FORGE_SITE_TINY].node, FORGE_SITE_LOAD);
        add_error(&p, LEDGER_ERROR_UNKNOWN_FREE, p.sites[FORGE_SITE_LOAD].node, 0);
        report_of(&p, 0, &out);
        holds(&out,
              "d['exit'] == {'code': None, 'signal': 9} and d['totals']['rss_peak_bytes'] is None");
        holds(&out, "[t['tid'] for t in d['threads']] == [12] and d['threads'][0]['name'] == 'wor' "
                    "+ chr(34) + 'ker'");
        holds(&out, "[e['type'] for e in d['errors']] == ['double-free', 'unknown-free']");
        holds(&out, "d['errors'][0]['address'] == '0xabc0' and d['errors'][0]['count'] == 2");
        holds(&out,
              "[d['frames'][i]['function'] for i in d['errors'][0]['stack']] == ['tiny', 'main']");
        holds(&out, "[d['frames'][i]['function'] for i in d['errors'][0]['alloc_stack']] == "
                    "['load', 'main']");
        holds(&out, "d['errors'][1]['alloc_stack'] is None");
        str_free(&out);
        profile_free(&p);
}

TEST(merged_stacks_are_summed)
{
        struct str out = { 0 };
        struct profile p;
        uint32_t other;

        forge_usual(&p);
        /* load, called from another line of main */
        other = forge_node(&p, forge_node(&p, 0, 0x110, 0), 0x200, 0);
        forge_site(&p, other, LEDGER_KIND_MALLOC, 1000, 5);
        report_of(&p, 1, &out);
        holds(&out, "[(s['live_bytes'], name(s)) for s in d['sites'] if s['id'] == 3] == [(1200, "
                    "['load'])]");
        holds(&out, "len(d['sites']) == 7");
        str_free(&out);
        profile_free(&p);
}

TEST(an_empty_recording_is_valid)
{
        struct str out = { 0 };
        struct profile p;

        forge_start(&p);
        p.meta.end = PROFILE_END_UNKNOWN;
        report_of(&p, 0, &out);
        holds(&out, "d['sites'] == [] and d['frames'] == [] and d['exit'] == {'code': None, "
                    "'signal': None}");
        str_free(&out);
        profile_free(&p);
}

TAP_MAIN(strings_are_escaped, utf8_passes_and_everything_else_is_replaced,
         a_report_holds_sites_and_their_stacks, errors_threads_and_signals_are_told,
         merged_stacks_are_summed, an_empty_recording_is_valid)
