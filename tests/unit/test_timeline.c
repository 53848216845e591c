/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "report/rises.h"
#include "report/views.h"

enum { SLICES = 11, STEP_MS = 1000 };

/* Eleven seconds; live rises by 1000 bytes a second to 10,000, half of it by parse.  RSS stays at 1
 * MiB. */
static void forge_course(struct profile *p)
{
        forge_usual(p);
        p->slices = heap_zero(SLICES, sizeof *p->slices);
        p->changes = heap_zero(SLICES, sizeof *p->changes);
        for (uint32_t i = 0; i < SLICES; i++) {
                p->slices[i] = (struct profile_slice){ .ms = STEP_MS * i,
                                                       .live_bytes = 1000 * i,
                                                       .rss_bytes = 1 << 20,
                                                       .change_first = i,
                                                       .change_count = 1 };
                p->changes[i] = (struct profile_change){
                        FORGE_SITE_PARSE, 0, 500 * i, i, i, 500 * i
                };
        }
        p->slice_count = p->change_count = SLICES;
        p->totals.peak_bytes = 20480;
        p->totals.peak_ms = 5000;
}

static void mark_slice(struct profile *p, uint32_t slice, uint32_t seq, const char *label)
{
        p->marks = heap_grow(p->marks, p->mark_count + 1, sizeof *p->marks);
        p->marks[p->mark_count++] = (struct profile_mark){ .type = seq ? LEDGER_MARK_SNAPSHOT
                                                                       : LEDGER_MARK_TAG,
                                                           .seq = seq,
                                                           .slice = slice,
                                                           .ms = p->slices[slice].ms,
                                                           .label = heap_text(label) };
}

static char *drawn(const struct profile *p, const char *include, struct timeline_options options)
{
        struct symbols *s = forge_symbols(p);
        struct filter f = { 0 };
        struct select_request request = { .cost = SELECT_LIVE, .filter = &f };
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };

        is_true(!include || filter_add(&f, FILTER_INCLUDE, include, &e));
        is_true(select_make(&sel, p, s, &request, &e));
        timeline_write(&sel, s, &options, &out);
        select_free(&sel);
        filter_free(&f);
        symbols_free(s);
        return out.data;
}

/* Every line has at most COLUMNS columns and no space at its end. */
static void fits(const char *text, size_t columns)
{
        while (*text) {
                size_t length = strcspn(text, "\n");

                is_true(length <= columns && (!length || text[length - 1] != ' '));
                text += length + (text[length] == '\n');
        }
}

/* The column of the first C in line NUMBER of TEXT; -1 none. */
static int column_of(const char *text, int number, char c)
{
        const char *end, *at;

        for (; number; number--)
                text = strchr(text, '\n') + 1;
        end = strchr(text, '\n');
        at = memchr(text, c, (size_t)(end - text));
        return at ? (int)(at - text) : -1;
}

TEST(the_peak_is_the_exact_one_and_marked)
{
        struct profile p;
        char *text;

        forge_course(&p);
        text = drawn(&p, NULL, (struct timeline_options){ .whole = true, .to_ms = UINT64_MAX });
        has_text(text, "heap: 20.0 KiB at most, at 5.0 s; 9.8 KiB at the end\n");
        has_text(text, "\n  20.0 KiB |");
        has_text(text, "\n  10.0 KiB |");
        has_text(text, "\n       0 B +-");
        has_text(text, "\nRSS: 1.0 MiB at most, at 0 ms; 1.0 MiB at the end\n");
        is_equal(column_of(text, 1, 'P'), column_of(text, 2, '#'));
        is_equal(column_of(text, 1, 'P'), 12 + 67 / 2);
        fits(text, 80);
        free(text);
        profile_free(&p);
}

/* The largest rises of VALUES, one each 10 ms, as FROM TO MORE. */
static void rises_are(const uint64_t *values, uint32_t count, const int64_t (*expected)[3],
                      uint32_t expected_count)
{
        uint64_t ms[32];
        struct rise found[RISES_MOST];

        for (uint32_t i = 0; i < count; i++)
                ms[i] = 10 * i;
        is_equal(rises_find(&(struct rises_curve){ values, ms, 0, count - 1 }, found),
                 expected_count);
        for (uint32_t i = 0; i < expected_count; i++) {
                is_equal(found[i].from, expected[i][0]);
                is_equal(found[i].to, expected[i][1]);
                is_equal((int64_t)found[i].more, expected[i][2]);
        }
}

TEST(a_rise_goes_from_a_minimum_to_the_maximum_behind_it)
{
        rises_are((uint64_t[]){ 0, 40, 100, 60, 20, 50, 90, 10 }, 8,
                  (int64_t[][3]){ { -1, 2, 100 }, { 4, 6, 70 } }, 2);
        rises_are((uint64_t[]){ 0, 30, 28, 60, 58, 100 }, 6, (int64_t[][3]){ { -1, 5, 100 } }, 1);
        rises_are((uint64_t[]){ 10, 0, 20, 0, 30, 0, 40, 0 }, 8,
                  (int64_t[][3]){ { 5, 6, 40 }, { 3, 4, 30 }, { 1, 2, 20 } }, 3);
        rises_are((uint64_t[]){ 0, 0, 0 }, 3, NULL, 0);
}

TEST(a_level_stretch_parts_two_rises)
{
        const uint64_t values[] = { 0, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 80, 110 };

        rises_are(values, 14, (int64_t[][3]){ { 10, 13, 60 }, { -1, 1, 50 } }, 2);
}

TEST(the_largest_rise_has_the_name_of_what_grew)
{
        struct profile p;
        char *text;

        forge_course(&p);
        text = drawn(&p, NULL, (struct timeline_options){ .whole = true, .to_ms = UINT64_MAX });
        has_text(text, "\nlargest rise:\n    +9.8 KiB  0 ms to 10.0 s      +4.9 KiB parse");
        fits(text, 80);
        free(text);
        text = drawn(&p, NULL,
                     (struct timeline_options){ .whole = true, .from_ms = 2000, .to_ms = 6000 });
        has_text(text, "\nlargest rise:\n    +3.9 KiB  2.0 s to 6.0 s      +2.0 KiB parse");
        free(text);
        profile_free(&p);
}

TEST(time_runs_from_left_to_right)
{
        struct profile p;
        char *text;

        forge_course(&p);
        text = drawn(&p, NULL,
                     (struct timeline_options){
                             .whole = true, .to_ms = UINT64_MAX, .columns = 60 });
        has_text(text, "+-----------------------+----------------------+\n"
                       "            0 ms                 5.0 s               10.0 s\n");
        is_true(column_of(text, 13, '#') < column_of(text, 9, '#'));
        fits(text, 60);
        free(text);
        profile_free(&p);
}

TEST(chosen_stacks_have_their_own_curve)
{
        struct profile p;
        char *text;

        forge_course(&p);
        text = drawn(&p, "parse", (struct timeline_options){ .to_ms = UINT64_MAX });
        has_text(text,
                 "heap of the chosen stacks: 4.9 KiB at most, at 10.0 s; 4.9 KiB at the end\n");
        is_true(!strstr(text, "RSS"));
        free(text);
        text = drawn(&p, "tiny", (struct timeline_options){ .to_ms = UINT64_MAX });
        has_text(text, "heap of the chosen stacks: 0 B at most");
        free(text);
        profile_free(&p);
}

TEST(marks_stand_below_their_moment_and_in_a_list)
{
        struct profile p;
        char *text;

        forge_course(&p);
        mark_slice(&p, 0, 0, "started\n");
        mark_slice(&p, 5, 1, "half");
        mark_slice(&p, 5, 2, "");
        mark_slice(&p, 10, 0, "done");
        text = drawn(&p, NULL, (struct timeline_options){ .whole = true, .to_ms = UINT64_MAX });
        is_equal(column_of(text, 16, 'a'), 12);
        is_equal(column_of(text, 16, '1'), column_of(text, 1, 'P'));
        is_equal(column_of(text, 17, '2'), column_of(text, 1, 'P'));
        is_equal(column_of(text, 16, 'b'), 78);
        has_text(text, "         a  0 ms                 0 B  tag started \n");
        has_text(text, "         1  5.0 s            4.9 KiB  snapshot half\n");
        has_text(text, "         2  5.0 s            4.9 KiB  snapshot\n");
        has_text(text, "         b  10.0 s           9.8 KiB  tag done\n");
        free(text);
        profile_free(&p);
}

TEST(a_part_of_the_time_can_be_shown)
{
        struct profile p;
        char *text;

        forge_course(&p);
        mark_slice(&p, 1, 1, "outside");
        text = drawn(&p, NULL,
                     (struct timeline_options){ .whole = true, .from_ms = 6000, .to_ms = 8000 });
        has_text(text, "heap: 7.8 KiB at most, at 8.0 s; 7.8 KiB at the end\n");
        has_text(text, "            6.0 s ");
        is_true(!strstr(text, "outside"));
        free(text);
        profile_free(&p);
}

TEST(without_slices_the_reason_is_told)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        text = drawn(&p, NULL, (struct timeline_options){ .whole = true, .to_ms = UINT64_MAX });
        has_text(text, "no time slices");
        free(text);
        profile_free(&p);
}

TEST(a_rise_that_begins_between_two_looks_is_told_from_the_nearer_one)
{
        struct profile p;
        char *text;

        forge_course(&p);
        p.slices[2].ms = 2900; /* with the sum only; what parse held is known of 1.0 and of 3.0 s */
        p.slices[2].live_bytes = p.slices[3].live_bytes;
        p.slices[2].change_count = 0;
        text = drawn(&p, NULL,
                     (struct timeline_options){ .whole = true, .from_ms = 2900, .to_ms = 6000 });
        has_text(text, " to 6.0 s      +1.5 KiB parse");
        free(text);
        profile_free(&p);
}

TAP_MAIN(the_peak_is_the_exact_one_and_marked, a_rise_goes_from_a_minimum_to_the_maximum_behind_it,
         a_level_stretch_parts_two_rises, the_largest_rise_has_the_name_of_what_grew,
         a_rise_that_begins_between_two_looks_is_told_from_the_nearer_one,
         time_runs_from_left_to_right, chosen_stacks_have_their_own_curve,
         marks_stand_below_their_moment_and_in_a_list, a_part_of_the_time_can_be_shown,
         without_slices_the_reason_is_told)
