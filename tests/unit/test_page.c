/* SPDX-License-Identifier: MIT */
/*
 * The data of the page and its joining with the template.  What is written is unpacked with zlib
 * and looked at as text; numbers are summed by column.
 */
#include "tap.h"

#include <stdlib.h>
#include <zlib.h>

#include "forge.h"
#include "page/page.h"

enum { MANY = 3000, MANY_SLICES = 300 };

/* ---- reading ---- */

static char *unpacked(const struct str *data)
{
        size_t room = 64u << 20;
        char *json = heap_zero(room, 1);
        z_stream z = { .next_in = (Bytef *)data->data,
                       .avail_in = (uInt)data->length,
                       .next_out = (Bytef *)json,
                       .avail_out = (uInt)room - 1 };

        inflateInit2(&z, MAX_WBITS + 16);
        is_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        is_equal(z.avail_in, 0);
        inflateEnd(&z);
        return json;
}

static long long count_of(const char *json, const char *table)
{
        char word[64];
        const char *at;

        snprintf(word, sizeof word, "\"%s\":{\"count\":", table);
        at = strstr(json, word);
        return is_true(at) ? atoll(at + strlen(word)) : -1;
}

/* What stands behind the name of that COLUMN in that TABLE: a list, or a number for all rows. */
static const char *column_of(const char *json, const char *table, const char *column)
{
        char word[64];
        const char *at;

        snprintf(word, sizeof word, "\"%s\":{", table);
        at = strstr(json, word);
        snprintf(word, sizeof word, "\"%s\":", column);
        at = at ? strstr(at, word) : NULL;
        return is_true(at) ? at + strlen(word) : "[]";
}

/* The next number of a list; *AT is then behind it. */
static bool next_number(const char **at, long long *number)
{
        char *end;

        if (**at == '[' || **at == ',')
                ++*at;
        *number = strtoll(*at, &end, 10);
        if (end == *at)
                return false;
        *at = end;
        return true;
}

static long long sum_of(const char *json, const char *table, const char *column)
{
        const char *at = column_of(json, table, column);
        long long sum = 0, number;

        if (*at != '[')
                return strtoll(at, NULL, 10) * count_of(json, table);
        while (next_number(&at, &number))
                sum += number;
        return sum;
}

/* A page escapes them itself. */
static const struct symbol_options as_they_are = { .no_cache = true,
                                                   .no_debuginfod = true,
                                                   .raw = true };

static char *written(const struct profile *p, struct page_request r)
{
        struct page_recording one = { .profile = p,
                                      .symbols = symbols_new(p, &as_they_are),
                                      .file = "x.seep" };
        struct str data = { 0 };
        struct err e = { 0 };
        char *json = NULL;

        r.recordings = &one;
        r.count = 1;
        if (page_data(&r, &data, &e)) {
                is_true((data.length + 2) / 3 * 4 <= (r.data_max ? r.data_max : PAGE_DATA_MAX));
                json = unpacked(&data);
        }
        str_free(&data);
        symbols_free(one.symbols);
        return json;
}

/* ---- what is written ---- */

TEST(sites_have_their_numbers_and_the_tree_its_inlined_frames)
{
        struct profile p;
        char *json;

        forge_usual(&p);
        json = written(&p, (struct page_request){ 0 });
        is_equal(count_of(json, "sites"), 7);
        is_equal(sum_of(json, "sites", "live_bytes"), 1000 + 4096);
        is_equal(sum_of(json, "sites", "heap"), 6);
        /* the root, 10 addresses, of which one has two frames */
        is_equal(count_of(json, "nodes"), 1 + 11);
        is_equal(sum_of(json, "frames", "inlined"), 1);
        has_text(json, "\"cut\":[]");
        has_text(json, "\"view\":null,\"compare\":null");
        free(json);
        profile_free(&p);
}

TEST(start_code_outside_of_main_is_left_out)
{
        struct profile p;
        uint32_t start, libc;
        uint16_t m, c;
        char *json;

        forge_start(&p);
        m = forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "main", "/src/m.c", 1);
        c = forge_module(&p, "/lib/libc.so.6");
        forge_name(&p, 0x900, 0, "__libc_start_main", NULL, 0);
        forge_name(&p, 0x910, 0, "_IO_cleanup", NULL, 0);
        start = forge_node(&p, 0, 0x50, m); /* _start, without a name */
        libc = forge_node(&p, start, 0x900, c);
        forge_site(&p, forge_node(&p, libc, 0x100, m), LEDGER_KIND_MALLOC, 10, 1);
        forge_site(&p, forge_node(&p, libc, 0x910, c), LEDGER_KIND_MALLOC, 10, 1); /* after main */
        p.totals.allocations = p.totals.live_blocks = 2;
        json = written(&p, (struct page_request){ 0 });
        is_equal(count_of(json, "nodes"), 3);
        has_text(json, "\"main\"");
        has_text(json, "_IO_cleanup");
        is_true(!strstr(json, "__libc_start_main"));
        free(json);
        profile_free(&p);
}

TEST(texts_are_stored_once_cut_when_endless_and_always_utf8)
{
        struct profile p;
        char *json, *longest = heap_zero(100001, 1);

        forge_usual(&p);
        memset(longest, 'x', 100000);
        longest[4095] = '\xc3'; /* a character of two bytes where the text is cut */
        longest[4096] = '\xa4';
        forge_thread(&p, 1, longest);
        forge_thread(&p, 2, "</script>\xff\x01\"");
        forge_thread(&p, 3, "</script>\xff\x01\"");
        json = written(&p, (struct page_request){ 0 });
        has_text(json, "xxx...\"");
        is_true(!strstr(json, "\xef\xbf\xbd..."));
        has_text(json, "\"</script>\xef\xbf\xbd\\u0001\\\"\"");
        is_true(strstr(json, "</script>\xef\xbf\xbd") &&
                !strstr(strstr(json, "</script>\xef\xbf\xbd") + 1, "</script>\xef\xbf\xbd"));
        free(json);
        free(longest);
        profile_free(&p);
}

TEST(one_recording_at_two_moments_is_written_once)
{
        struct page_recording two[2] = { { .file = "x.seep", .moment = "a" },
                                         { .file = "x.seep", .moment = "end" } };
        struct page_request r = { .recordings = two, .count = 2 };
        struct str data = { 0 };
        struct err e = { 0 };
        struct profile p;
        char *json;

        forge_usual(&p);
        forge_slice(&p, 100);
        forge_mark(&p, LEDGER_MARK_TAG, 0, "a");
        two[0].profile = two[1].profile = &p;
        two[0].symbols = two[1].symbols = forge_symbols(&p);
        is_true(page_data(&r, &data, &e));
        json = unpacked(&data);
        has_text(json, "\"compare\":{\"old\":{\"recording\":0,\"mark\":0,\"ms\":100,\"word\":\"a\"}"
                       ",\"new\":{\"recording\":0,\"mark\":-1,\"ms\":10000,\"word\":\"end\"}}");
        /* the table, not the column of types */
        is_true(!strstr(strstr(json, "\"sites\":{") + 1, "\"sites\":{"));
        free(json);
        two[1].moment = "nowhere";
        is_true(!page_data(&r, &data, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        str_free(&data);
        symbols_free(two[0].symbols);
        profile_free(&p);
}

/* ---- what is cut ---- */

/* Site i has i bytes in one block; in slice k, which is marked, site k becomes live. */
static void forge_many(struct profile *p)
{
        uint32_t outer;
        uint16_t m;

        forge_start(p);
        m = forge_module(p, "/usr/bin/prog");
        outer = forge_node(p, 0, 0x100, m);
        for (uint32_t i = 1; i <= MANY; i++) {
                struct profile_site *site = forge_site(p, forge_node(p, outer, 0x1000 + 64 * i, m),
                                                       i % 7 ? LEDGER_KIND_MALLOC
                                                             : LEDGER_KIND_MMAP,
                                                       i, 1);

                site->peak_bytes = i / 2;
                site->peak_blocks = 1;
        }
        for (uint32_t i = 1; i <= MANY_SLICES; i++) {
                forge_slice(p, 10 * i);
                for (uint32_t k = 0; k < MANY / MANY_SLICES; k++) {
                        uint32_t site = (i - 1) * (MANY / MANY_SLICES) + k + 1;

                        forge_change(p, site, site, 1, 1, site);
                }
        }
        p->totals.allocations = p->totals.live_blocks = MANY;
}

TEST(what_does_not_fit_is_summed_and_told)
{
        const long long all = (long long)MANY * (MANY + 1) / 2;
        struct profile p;
        char *whole, *cut;

        forge_many(&p);
        whole = written(&p, (struct page_request){ 0 });
        is_equal(count_of(whole, "sites"), MANY);
        is_equal(count_of(whole, "slices"), MANY_SLICES);
        is_equal(count_of(whole, "changes"), MANY);
        has_text(whole, "\"cut\":[]");
        for (size_t most = 24000; most >= 8000; most -= 4000) {
                cut = written(&p, (struct page_request){ .data_max = most });
                is_true(count_of(cut, "sites") < MANY);
                is_equal(sum_of(cut, "sites", "live_bytes"), all);
                is_equal(sum_of(cut, "sites", "live_blocks"), MANY);
                is_equal(sum_of(whole, "sites", "live_blocks"), MANY);
                is_equal(sum_of(cut, "sites", "peak_bytes"), sum_of(whole, "sites", "peak_bytes"));
                has_text(cut, "call stacks, each below ");
                free(cut);
        }
        is_true(!written(&p, (struct page_request){ .data_max = 100 }));
        free(whole);
        profile_free(&p);
}

/* The last value of each row, summed: the course must end where the sites are. */
static long long end_of_course(const char *json)
{
        const char *site = column_of(json, "changes", "site"),
                   *bytes = column_of(json, "changes", "live_bytes");
        long long last[MANY + 2] = { 0 }, sum = 0, row, number;

        while (next_number(&site, &row) && next_number(&bytes, &number))
                last[row] = number;
        for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
                sum += last[i];
        return sum;
}

TEST(a_course_with_fewer_moments_ends_where_the_whole_one_does)
{
        const long long all = (long long)MANY * (MANY + 1) / 2;
        struct profile p;
        char *json;

        forge_many(&p);
        json = written(&p, (struct page_request){ 0 });
        is_equal(end_of_course(json), all);
        free(json);
        json = written(&p, (struct page_request){ .data_max = 8000 });
        is_true(count_of(json, "slices") < MANY_SLICES);
        has_text(json, "The timeline has ");
        is_equal(end_of_course(json), all);
        free(json);
        profile_free(&p);
}

TEST(numbers_of_one_moment_have_no_course)
{
        struct profile p;
        char *json;

        forge_many(&p);
        json = written(&p, (struct page_request){ .at = "100ms" });
        is_equal(count_of(json, "sites"), 10 * (MANY / MANY_SLICES));
        is_equal(count_of(json, "changes"), 0);
        has_text(json, "\"view\":{\"at\":\"100ms\",\"range\":null,\"filter\":null}");
        free(json);
        is_true(!written(&p, (struct page_request){ .at = "no such" }));
        profile_free(&p);
}

/* ---- the page ---- */

TEST(the_template_gets_the_data_as_base64_and_nothing_else)
{
        const char *template = (const char *)page_template,
                   *tag = "<script type=\"application/octet-stream\" id=\"seep-data\">";
        const char *at = memmem(template, page_template_bytes, tag, strlen(tag));
        struct str page = { 0 };

        if (!is_true(at))
                return;
        is_true(page_template_bytes <= 200000);
        page_join("\0\1\377<", 4, NULL, &page);
        is_equal(page.length, page_template_bytes + strlen("AAH/PA=="));
        has_text(page.data, "id=\"seep-data\">AAH/PA==</script>");
        str_clear(&page);
        page_join("abc", 3, "/TOKEN/\"data", &page);
        has_text(page.data, "id=\"seep-data\" data-live=\"/TOKEN/&quot;data\">YWJj</script>");
        str_clear(&page);
        page_join("ab", 2, NULL, &page);
        has_text(page.data, "id=\"seep-data\">YWI=</script>");
        str_free(&page);
}

TAP_MAIN(sites_have_their_numbers_and_the_tree_its_inlined_frames,
         start_code_outside_of_main_is_left_out,
         texts_are_stored_once_cut_when_endless_and_always_utf8,
         one_recording_at_two_moments_is_written_once, what_does_not_fit_is_summed_and_told,
         a_course_with_fewer_moments_ends_where_the_whole_one_does,
         numbers_of_one_moment_have_no_course,
         the_template_gets_the_data_as_base64_and_nothing_else)
