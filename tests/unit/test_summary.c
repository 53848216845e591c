/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge_leaks.h"
#include "report/summary.h"
#include "wire/hello.h"

static char *summary_of(const struct profile *p, const char *file)
{
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };

        summary_write(p, s, &(struct summary_options){ .file = file }, &out);
        symbols_free(s);
        return out.data;
}

/* At most 24 lines of 80 columns; the text has no wide characters. */
static void fits_a_screen(const char *text)
{
        size_t lines = 0;

        while (*text) {
                size_t length = strcspn(text, "\n");

                lines++;
                if (!is_true(length <= 80))
                        printf("# %.*s\n", (int)length, text);
                text += length + (text[length] == '\n');
        }
        is_true(lines <= 24);
}

static void add_warning(struct profile *p, const char *text)
{
        p->meta.warnings = heap_grow(p->meta.warnings, p->meta.warning_count + 1,
                                     sizeof *p->meta.warnings);
        p->meta.warnings[p->meta.warning_count++] = heap_text(text);
}

TEST(numbers_and_the_largest_sites_are_told)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.peak_bytes = 2048;
        p.totals.peak_ms = 8100;
        p.sites[FORGE_SITE_PARSE].peak_bytes = 1024;
        p.totals.temporary = 4;
        p.totals.rss_peak_bytes = 2048 + 3 * 1048576;
        p.totals.mmap_calls = 1;
        p.totals.mmap_live_bytes = 4096;
        text = summary_of(&p, "prog.1.seep");
        has_text(text, "peak heap        2.0 KiB  at 8.1 s\n"
                       "                            50 % of it: parse a.c:10 <- load l.c:7\n");
        has_text(text, "end heap          1000 B  in 16 blocks\n");
        has_text(text, "allocations           16  1/s, 1000 B in all, 25 % temporary\n");
        has_text(text, "mapped           4.0 KiB  by mmap at the end (1 call)\n");
        has_text(text,
                 "peak RSS         3.0 MiB  3.0 MiB more than the heap: see 'seep help rss'\n");
        is_true(!strstr(text, "forked"));
        has_text(text, "NOT FREED: 1000 B in 16 blocks at the end\n");
        has_text(text, "    1.      600 B       6 blocks  parse a.c:10 <- load l.c:7\n");
        has_text(text, "    2.      200 B       2 blocks  load l.c:7 <- main m.c:1\n");
        has_text(text, "    4.       93 B       3 blocks  inner w.c:61 <- work w.c:66\n");
        has_text(text, "seep report --cost live prog.1.seep");
        is_true(!strstr(text, "ERRORS") && !strstr(text, "warning"));
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

/* Without a word about it, memory from mmap looks like waste of the allocator. */
TEST(mapped_memory_is_named_where_it_explains_the_resident_set)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.rss_peak_bytes = 20u << 20;
        p.totals.mmap_calls = 1;
        p.sites[FORGE_SITE_MMAP].peak_bytes = 16u << 20;
        text = summary_of(&p, "prog.1.seep");
        has_text(text,
                 "  peak RSS        20.0 MiB  20.0 MiB above the heap, 16.0 MiB of it by mmap\n");
        is_true(!strstr(text, "  mapped "));
        free(text);
        p.sites[FORGE_SITE_MMAP].peak_bytes = 64u << 20;
        text = summary_of(&p, "prog.1.seep");
        has_text(text, "  peak RSS        20.0 MiB  20.0 MiB above the heap, some of it by mmap\n");
        free(text);
        profile_free(&p);
}

/* Of a small heap the resident memory is mostly code, and nobody has to look for a leak there. */
TEST(libraries_are_named_where_they_explain_the_resident_set)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.rss_peak_bytes = 20u << 20;
        p.mappings = heap_zero(2, sizeof *p.mappings);
        p.mapping_count = 2;
        p.mappings[0] = (struct profile_mapping){ .start = 64u << 20, .end = 80u << 20,
                                                  .rss_bytes = 12u << 20,
                                                  .name = heap_text("/usr/bin/prog") };
        p.mappings[1] = (struct profile_mapping){ .start = 96u << 20, .end = 128u << 20,
                                                  .rss_bytes = 5u << 20,
                                                  .name = heap_text("/usr/share/data") };
        text = summary_of(&p, "prog.1.seep");
        has_text(text,
                 "  peak RSS        20.0 MiB  20.0 MiB above the heap, 12.0 MiB of it libraries\n");
        fits_a_screen(text);
        free(text);
        p.mappings[0].rss_bytes = 2u << 20;
        text = summary_of(&p, "prog.1.seep");
        has_text(text,
                 "  peak RSS        20.0 MiB  20.0 MiB more than the heap: see 'seep help rss'\n");
        free(text);
        profile_free(&p);
}

static bool is_said(const struct profile *p, const char *what)
{
        struct summary_verdicts v;
        struct symbols *s = forge_symbols(p);
        bool said = false;

        summary_verdicts_make(&v, p, s);
        for (uint32_t i = 0; i < v.count; i++)
                said |= strstr(v.list[i].text, what) != NULL;
        summary_verdicts_free(&v);
        symbols_free(s);
        return said;
}

/* The page says where memory is; address space that was never used is in no such place. */
TEST(stacks_of_threads_are_no_verdict_as_what_is_mapped)
{
        struct profile p;

        forge_usual(&p);
        p.totals.rss_peak_bytes = 20u << 20;
        p.totals.mmap_calls = 1;
        p.totals.mmap_live_bytes = 8u << 20;
        p.regions = heap_zero(1, sizeof *p.regions);
        p.region_count = 1;
        p.regions[0] = (struct profile_region){ .start = 8u << 20, .end = 16u << 20,
                                                .site = FORGE_SITE_MMAP };
        is_true(is_said(&p, "peak RSS") && is_said(&p, "mapped: 8.0 MiB"));
        p.regions[0].stack = 1;
        is_true(is_said(&p, "peak RSS") && !is_said(&p, "mapped: 8.0 MiB"));
        profile_free(&p);
}

/* Mapped with their whole size, of which little is resident. */
TEST(stacks_of_threads_are_named_apart_and_do_not_explain_the_resident_set)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.rss_peak_bytes = 20u << 20;
        p.totals.mmap_calls = 2;
        p.totals.mmap_live_bytes = 12u << 20;
        p.regions = heap_zero(2, sizeof *p.regions);
        p.region_count = 2;
        p.regions[0] = (struct profile_region){
                .start = 8u << 20, .end = 16u << 20, .site = FORGE_SITE_MMAP, .stack = 1
        };
        p.regions[1] = (struct profile_region){ .start = 32u << 20,
                                                .end = 36u << 20,
                                                .site = FORGE_SITE_MMAP };
        text = summary_of(&p, "prog.1.seep");
        has_text(text,
                 "  mapped          12.0 MiB  by mmap at the end (2 calls), stacks 8.0 MiB\n");
        has_text(text,
                 "  peak RSS        20.0 MiB  20.0 MiB above the heap, 4.0 MiB of it by mmap\n");
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

/* 64 MiB that KEEPER has, nothing else. */
static void add_free_memory(struct profile *p, uint32_t keeper)
{
        p->mappings = heap_zero(1, sizeof *p->mappings);
        p->mapping_count = 1;
        p->mappings[0] = (struct profile_mapping){
                .start = 64u << 20,
                .end = 128u << 20,
                .rss_bytes = 64u << 20,
                .flags = PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE |
                         PROFILE_MAPPING_KEPT(keeper),
                .name = heap_text(""),
        };
}

TEST(free_memory_that_is_most_of_what_is_resident_is_told_with_what_helps)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        add_free_memory(&p, PROFILE_KEEPER_TCMALLOC);
        text = summary_of(&p, "prog.1.seep");
        has_text(text, "  last RSS        64.0 MiB  64.0 MiB of it free in tcmalloc:\n");
        has_text(text, "TCMALLOC_AGGRESSIVE_DECOMMIT=1 at once\n");
        fits_a_screen(text);
        free(text);
        p.totals.mappings_ms = 100; /* the other numbers are of a later moment */
        p.meta.duration_ms = 5000;
        text = summary_of(&p, "prog.1.seep");
        has_text(text, "  last RSS        64.0 MiB  at 100 ms, 64.0 MiB of it free in tcmalloc:\n");
        free(text);
        for (uint32_t keeper = 1; keeper < PROFILE_KEEPER_COUNT; keeper++) { /* none is cut */
                p.mappings[0].flags = PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE |
                                      PROFILE_MAPPING_KEPT(keeper);
                text = summary_of(&p, "prog.1.seep");
                is_true(!strstr(text, "..."));
                free(text);
        }
        p.mappings[0].flags = PROFILE_MAPPING_READ | PROFILE_MAPPING_WRITE |
                              PROFILE_MAPPING_KEPT(PROFILE_KEEPER_HEAP);
        p.mappings[0].rss_bytes = 2u << 20;
        text = summary_of(&p, "prog.1.seep");
        is_true(!strstr(text, "RSS"));
        free(text);
        profile_free(&p);
}

TEST(what_was_not_seen_is_not_called_free_of_leaks)
{
        struct summary_verdicts v;
        struct symbols *s;
        struct profile p;
        char *text;

        forge_leaky(&p);
        for (uint64_t i = 0; i < p.verdict_count; i++)
                p.verdicts[i].leak = PROFILE_LEAK_REACHABLE;
        text = summary_of(&p, "x.seep");
        has_text(text, "  NO LEAKS, NOT FREED: ");
        free(text);
        p.totals.own_malloc = 1;
        text = summary_of(&p, "x.seep");
        has_text(text, "  NO LEAKS SEEN, NOT FREED: ");
        free(text);
        s = forge_symbols(&p);
        summary_verdicts_make(&v, &p, s);
        for (uint32_t i = 0; i < v.count; i++)
                is_true(v.list[i].level != SUMMARY_GOOD);
        summary_verdicts_free(&v);
        symbols_free(s);
        profile_free(&p);
}

/* The level of the verdict of P that begins so; -1: there is none. */
static int level_of(const struct profile *p, const char *begin)
{
        struct symbols *s = forge_symbols(p);
        struct summary_verdicts v;
        int level = -1;

        summary_verdicts_make(&v, p, s);
        for (uint32_t i = 0; i < v.count; i++)
                if (strncmp(v.list[i].text, begin, strlen(begin)) == 0)
                        level = (int)v.list[i].level;
        summary_verdicts_free(&v);
        symbols_free(s);
        return level;
}

TEST(a_caller_that_does_not_fit_is_cut_and_not_left_out)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.peak_bytes = 2048;
        p.sites[FORGE_SITE_PARSE].peak_bytes = 1024;
        for (uint32_t i = 0; i < p.symbol_count; i++)
                if (strcmp(p.symbols[i].function, "load") == 0) {
                        free(p.symbols[i].function);
                        p.symbols[i].function = heap_text(
                                "a_function_of_c_with_a_name_longer_than_the_line");
                }
        text = summary_of(&p, "prog.1.seep");
        has_text(text, " 50 % of it: parse a.c:10 <- a_function_of");
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

TEST(verdicts_go_by_weight)
{
        struct profile p;

        forge_leaky(&p);
        is_equal(level_of(&p, "possibly lost 35 B"), SUMMARY_WARN);
        is_equal(level_of(&p, "LEAKS: 300 B"), SUMMARY_BAD);
        p.totals.peak_bytes = 1u << 30;
        is_equal(level_of(&p, "possibly lost 35 B"), SUMMARY_INFO);
        is_equal(level_of(&p, "LEAKS: 300 B"), SUMMARY_WARN);
        profile_free(&p);
}

TEST(a_verdict_of_several_lines_has_a_colon_behind_each_name)
{
        struct profile p;

        forge_leaky(&p);
        p.totals.peak_bytes = 1u << 20;
        p.totals.mmap_live_bytes = p.totals.mmap_calls = 4096;
        p.totals.rss_peak_bytes = 20u << 20;
        is_equal(
                level_of(&p,
                         "mapped: 4.0 KiB, by mmap at the end (4,096 calls); peak RSS: 20.0 MiB, "),
                SUMMARY_INFO);
        profile_free(&p);
}

TEST(the_worst_case_still_fits_a_screen)
{
        static const char endless[] = "a warning that explains at great length what went wrong, on "
                                      "what, why, and what to do about it all";
        struct profile p;
        char *text;

        forge_usual(&p);
        add_free_memory(&p, PROFILE_KEEPER_TCMALLOC);
        for (uint32_t i = 0; i < p.symbol_count; i++) {
                free(p.symbols[i].function);
                p.symbols[i].function = heap_text("a_namespace::with_a_class_template<of_long, "
                                                  "parameters>::and_a_long_method_name");
        }
        p.totals.double_frees = p.totals.mismatched = p.totals.unknown_frees = 1234567;
        p.totals.mmap_live_bytes = 1047900000;
        p.totals.mmap_calls = p.totals.rss_peak_bytes = p.totals.temporary = p.error_count = 1;
        p.errors = heap_zero(1, sizeof *p.errors);
        p.sites[1].peak_bytes = p.totals.peak_bytes = p.totals.peak_error_bytes = 1000000;
        for (int i = 0; i < 6; i++)
                add_warning(&p, endless);
        text = summary_of(&p, "prog.1.seep");
        has_text(text,
                 "ERRORS: 1,234,567 double frees, 1,234,567 mismatched, 1,234,567 unknown frees\n");
        has_text(text, "warning: a warning that explains");
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

TEST(a_single_warning_is_whole)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        add_warning(&p, "the event log ends after 589824 events: it could not be written: No space "
                        "left on device");
        text = summary_of(&p, "prog.1.seep");
        has_text(
                text,
                "\n  warning: the event log ends after 589824 events: it could not be written: No\n"
                "           space left on device\n");
        free(text);
        profile_free(&p);
}

TEST(nothing_recorded_is_explained)
{
        struct profile p;
        char *text;

        forge_start(&p);
        text = summary_of(&p, "x.seep");
        has_text(text, "nothing was recorded: the program made no allocation that seep can see");
        free(text);
        p.meta.flags = WIRE_F_START_OFF;
        add_warning(&p, "it was off");
        text = summary_of(&p, "x.seep");
        has_text(text, "nothing was recorded\n  warning: it was off\n");
        free(text);
        p.meta.stop_reason = LEDGER_STOP_NO_MEMORY;
        text = summary_of(&p, "x.seep");
        has_text(text, "nothing was recorded: no memory left for the ledger");
        free(text);
        profile_free(&p);
}

TEST(all_freed_is_said)
{
        struct profile p;
        char *text;

        forge_start(&p);
        p.totals.allocations = p.totals.frees = 5;
        text = summary_of(&p, "x.seep");
        has_text(text, "everything on the heap was freed");
        is_true(!strstr(text, "NOT FREED") && !strstr(text, "--cost live"));
        free(text);
        p.totals.sample_bytes = 65536;
        text = summary_of(&p, "x.seep");
        has_text(text, "  every sampled block was freed; less than about 64.0 KiB may be left\n");
        is_true(!strstr(text, "everything"));
        free(text);
        profile_free(&p);
}

TEST(commands_work_as_printed_also_for_odd_names)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        text = summary_of(&p, "it's here.seep");
        has_text(text, "seep report 'it'\\''s here.seep'");
        free(text);
        text = summary_of(&p, "-x.seep");
        has_text(text, "seep report ./-x.seep");
        free(text);
        profile_free(&p);
}

/* The code that wanted the memory is named, not the library's way to it. */
TEST(library_machinery_is_passed_over)
{
        struct profile p;
        uint32_t node;
        char *text;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "fill(std::vector<int>&)", "/src/f.cc", 3);
        forge_name(&p, 0x200, 0, "std::vector<int, std::allocator<int> >::reserve(unsigned long)",
                   "/inc/vector", 70);
        node = forge_node(&p, forge_node(&p, 0, 0x100, 0), 0x200, 0);
        forge_site(&p, node, LEDGER_KIND_NEW, 40, 1);
        p.totals.allocations = p.totals.live_blocks = 1;
        p.totals.live_bytes = 40;
        text = summary_of(&p, NULL);
        has_text(text, "    1.       40 B       1 block   fill f.cc:3\n");
        free(text);
        profile_free(&p);
}

/* main calls put, and that the C library's strdup. */
TEST(the_caller_of_the_c_library_is_named_with_its_place)
{
        struct profile p;
        uint32_t node;
        char *text;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "main", "/src/m.c", 3);
        forge_name(&p, 0x110, 0, "put", "/src/p.c", 11);
        forge_module(&p, "/lib/libc.so.6");
        forge_name(&p, 0x200, 0, "__GI___vasprintf", "./libio/vasprintf.c", 42);
        forge_name(&p, 0x210, 0, "___asprintf", "./libio/asprintf.c", 5);
        node = forge_node(&p, forge_node(&p, 0, 0x100, 0), 0x110, 0);
        node = forge_node(&p, forge_node(&p, node, 0x210, 1), 0x200, 1);
        forge_site(&p, node, LEDGER_KIND_MALLOC, 40, 1);
        p.totals.allocations = p.totals.live_blocks = 1;
        p.totals.live_bytes = 40;
        text = summary_of(&p, NULL);
        has_text(text, "    1.       40 B       1 block   ___asprintf <- put p.c:11\n");
        free(text);
        profile_free(&p);
}

TEST(the_signal_that_ended_the_program_has_a_name)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.meta.end = PROFILE_END_SIGNAL;
        p.meta.exit_signal = 11;
        p.totals.mismatched = 2;
        text = summary_of(&p, "p.seep");
        has_text(text, ", killed by SIGSEGV\n");
        has_text(text, "  ERRORS: 2 mismatched frees\n");
        free(text);
        profile_free(&p);
}

TEST(of_several_invalid_frees_a_double_one_is_shown)
{
        static const struct profile_error errors[] = {
                { .type = LEDGER_ERROR_MISMATCHED, .count = 1 },
                { .type = LEDGER_ERROR_DOUBLE_FREE, .count = 1 },
        };
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.mismatched = p.totals.double_frees = 1;
        p.error_count = 2;
        p.errors = heap_grow(NULL, 2, sizeof *p.errors);
        memcpy(p.errors, errors, sizeof errors);
        text = summary_of(&p, "p.seep");
        has_text(text, "  ERRORS: 1 double free, 1 mismatched free\n    1.  double free: ");
        free(text);
        profile_free(&p);
}

/* Byte in its line at which WHAT stands in TEXT. */
static long column_of(const char *text, const char *what)
{
        const char *at = strstr(text, what), *line = at;

        while (line && line > text && line[-1] != '\n')
                line--;
        return at ? at - line : -1;
}

TEST(purposes_of_commands_stand_in_one_column)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.temporary = p.totals.allocations;
        text = summary_of(&p, "p.seep");
        is_equal(column_of(text, "what made the peak"), 52);
        is_equal(column_of(text, "in the browser"), 52);
        is_equal(column_of(text, "short-lived blocks"), 52);
        free(text);
        text = summary_of(&p, "server-main.123456.seep");
        is_equal(column_of(text, "short-lived blocks"), 62);
        is_equal(column_of(text, "what made the peak"), 62);
        fits_a_screen(text);
        free(text);
        text = summary_of(&p, "server-main-1.123456.seep");
        is_equal(column_of(text, "short-lived blocks"), -1);
        is_equal(column_of(text, "what made the peak"), column_of(text, "what was not freed"));
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

TEST(a_few_short_lived_blocks_are_nothing_to_look_at)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.allocations = 1000;
        p.totals.temporary = 100;
        text = summary_of(&p, "p.seep");
        is_true(!strstr(text, "--cost temporary"));
        free(text);
        p.totals.temporary = 101;
        text = summary_of(&p, "p.seep");
        has_text(text, "seep report --cost temporary p.seep ");
        free(text);
        profile_free(&p);
}

TEST(of_a_long_path_the_name_of_the_program_is_left)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        free(p.meta.program);
        p.meta.program = heap_text(
                "/srv/somebody/with/a/very/long/path/to/the/build/folder/server");
        p.meta.args = heap_zero(2, sizeof *p.meta.args);
        p.meta.args[0] = heap_text("server");
        p.meta.args[1] = heap_text("--an-argument");
        p.meta.arg_count = 2;
        text = summary_of(&p, "p.seep");
        is_true(strncmp(text, "  server --an-argument (pid ", 28) == 0);
        fits_a_screen(text);
        free(text);
        free(p.meta.args[1]);
        p.meta.arg_count = 1;
        text = summary_of(&p, "p.seep");
        is_true(strncmp(text, "  server (pid ", 14) == 0);
        free(text);
        profile_free(&p);
}

TEST(stacks_that_grow_are_marked)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.slices = heap_zero(50, sizeof *p.slices);
        p.changes = heap_zero(50, sizeof *p.changes);
        for (uint32_t i = 0; i < 50; i++) {
                p.changes[i] = (struct profile_change){ FORGE_SITE_PARSE, 0, 12 * i, i, i, 12 * i };
                p.slices[i] = (struct profile_slice){ .ms = 200 * i,
                                                      .change_first = i,
                                                      .change_count = 1 };
        }
        p.slice_count = p.change_count = 50;
        text = summary_of(&p, "p.seep");
        has_text(text, "6 blocks  grows: parse a.c:10 <- load l.c:7 (60 B/s)\n");
        has_text(text, "2 blocks  load l.c:7 <- main m.c:1 (once)\n");
        has_text(text, "seep report --growth p.seep ");
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

TEST(leaks_are_told_first_and_what_is_reachable_apart)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        text = summary_of(&p, "prog.1.seep");
        has_text(text, "\n  LEAKS: 300 B in 3 blocks definitely lost, 300 B indirectly lost\n"
                       "    1.      100 B       1 block   parse a.c:10 <- load l.c:7 (+200 B)\n"
                       "    2.      100 B       1 block   load l.c:7 <- main m.c:1 (+100 B)\n"
                       "    3.      100 B       1 block   parse a.c:20 <- load l.c:7\n"
                       "  possibly lost 35 B in 2 blocks\n"
                       "  still reachable 365 B in 8 blocks (not an error)\n");
        has_text(text, "\n  next: seep leaks prog.1.seep ");
        has_text(text, "\n        seep html --open prog.1.seep ");
        is_true(!strstr(text, "NOT FREED"));
        fits_a_screen(text);
        free(text);
        text = summary_of(&p, "a-long-program-name.123.seep");
        has_text(text, "leaks with stacks\n");
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

TEST(suppressed_leaks_are_only_summed)
{
        struct suppressions rules = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;

        forge_leaky(&p);
        s = forge_symbols(&p);
        is_true(suppress_read_text(&rules, SUPPRESS_FILE, "x", "leak:^load$\n", &e));
        summary_write(&p, s, &(struct summary_options){ .suppressions = &rules }, &out);
        has_text(out.data, "\n  NO LEAKS, NOT FREED: 1000 B in 16 blocks at the end\n");
        has_text(out.data, "\n  possibly lost 35 B in 2 blocks; suppressed 600 B in 6 blocks\n");
        is_equal(rules.count, 1);
        suppress_free(&rules);
        symbols_free(s);
        str_free(&out);
        profile_free(&p);
}

TEST(a_run_without_a_search_says_why)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.meta.flags = WIRE_F_LEAK_SCAN;
        p.meta.end = PROFILE_END_SIGNAL;
        p.meta.exit_signal = 11;
        text = summary_of(&p, "prog.1.seep");
        has_text(text, "\n  not searched for leaks: SIGSEGV ended the program, ");
        has_text(text, "NOT FREED: 1000 B");
        is_true(!strstr(text, "LEAKS"));
        fits_a_screen(text);
        free(text);
        profile_free(&p);
}

TAP_MAIN(leaks_are_told_first_and_what_is_reachable_apart, suppressed_leaks_are_only_summed,
         a_run_without_a_search_says_why, of_a_long_path_the_name_of_the_program_is_left,
         stacks_that_grow_are_marked, numbers_and_the_largest_sites_are_told,
         mapped_memory_is_named_where_it_explains_the_resident_set,
         libraries_are_named_where_they_explain_the_resident_set,
         stacks_of_threads_are_no_verdict_as_what_is_mapped,
         stacks_of_threads_are_named_apart_and_do_not_explain_the_resident_set,
         free_memory_that_is_most_of_what_is_resident_is_told_with_what_helps,
         what_was_not_seen_is_not_called_free_of_leaks,
         a_caller_that_does_not_fit_is_cut_and_not_left_out, verdicts_go_by_weight,
         a_verdict_of_several_lines_has_a_colon_behind_each_name,
         the_worst_case_still_fits_a_screen, a_single_warning_is_whole,
         nothing_recorded_is_explained, all_freed_is_said,
         commands_work_as_printed_also_for_odd_names, library_machinery_is_passed_over,
         the_caller_of_the_c_library_is_named_with_its_place,
         the_signal_that_ended_the_program_has_a_name, purposes_of_commands_stand_in_one_column,
         of_several_invalid_frees_a_double_one_is_shown,
         a_few_short_lived_blocks_are_nothing_to_look_at)
