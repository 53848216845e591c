/* SPDX-License-Identifier: MIT */
/*
 * test_screen.c -- a picture as lines of text, in every size.
 */
#include "tap.h"

#include <locale.h>
#include <wchar.h>

#include "forge.h"
#include "top/pane.h"
#include "top/player.h"
#include "top/screen.h"
#include "words/text.h"

static const struct symbol_options names = { .no_cache = true, .no_debuginfod = true };

static struct profile p;
static struct player player;
static struct picture picture;
static struct rows rows;
static struct keys_state state;
static struct filter filter;

/* parse grows; the program has a name that would upset a terminal. */
static void open_scene(const char *program)
{
        struct rows_request q = { .filter = &filter };
        struct err e;

        forge_usual(&p);
        free(p.meta.program);
        p.meta.program = heap_text(program);
        p.meta.engine = heap_text("preload");
        p.meta.pid = 4711;
        p.meta.duration_ms = 100000;
        for (uint64_t s = 1; s < 100; s++) {
                forge_slice(&p, s * 1000);
                p.slices[p.slice_count - 1].live_bytes = 10 * s;
                p.slices[p.slice_count - 1].rss_bytes = 5 << 20;
                forge_change(&p, FORGE_SITE_PARSE, 6 * s, 6, s, 10 * s);
        }
        player_open(&player, &p, &names);
        picture = player_picture(&player);
        state = (struct keys_state){ .when = KEYS_LIVE, .page = 20 };
        is_true(rows_make(&rows, &picture, &q, &e));
}

static void close_scene(void)
{
        rows_free(&rows);
        keys_free(&state);
        player_free(&player);
        profile_free(&p);
}

static struct screen_input input(uint32_t columns, uint32_t lines, bool utf8)
{
        return (struct screen_input){ .picture = &picture,
                                      .rows = &rows,
                                      .state = &state,
                                      .columns = columns,
                                      .lines = lines,
                                      .utf8 = utf8 };
}

static char *text_of(uint32_t columns, uint32_t lines, bool utf8)
{
        struct screen_input in = input(columns, lines, utf8);
        struct str text = { 0 };
        struct screen s;

        state.page = screen_page(lines);
        screen_make(&s, &in);
        screen_text(&s, &text);
        screen_free(&s);
        return text.data;
}

/* The size is that of the terminal, and nothing in it is a control character. */
static bool fits(uint32_t columns, uint32_t lines, bool utf8)
{
        struct screen_input in = input(columns, lines, utf8);
        struct screen s;
        bool good;

        state.page = screen_page(lines);
        screen_make(&s, &in);
        good = s.count == lines;
        for (uint32_t i = 0; i < s.count; i++) {
                const char *text = str_get(&s.lines[i].text);

                good = good && text_columns(&s.lines[i].text, 0) <= columns &&
                       s.lines[i].to <= columns;
                for (; *text; text++)
                        good = good && (unsigned char)*text >= ' ' && *text != 127 &&
                               (utf8 || !(*text & 0x80));
        }
        screen_free(&s);
        return good;
}

TEST(every_size_is_kept)
{
        bool good = true;

        open_scene("/bin/a\033[2Jb\n\xff\xfe/prog\u00e9");
        for (uint32_t columns = 1; columns <= 160 && good; columns++)
                for (uint32_t lines = 1; lines <= 30 && good; lines++) {
                        good = fits(columns, lines, true) && fits(columns, lines, false);
                        if (!good)
                                printf("# %u columns, %u lines\n", columns, lines);
                }
        is_true(good);
        close_scene();
}

TEST(a_text_in_place_of_the_table_keeps_every_size_too)
{
        struct pane_input in = { &picture, &names, NULL, 80 };
        struct str text = { 0 };
        bool good = true;

        open_scene("prog");
        pane_stack(&in, &rows.all[0], &text);
        keys_open(&state, "call stack", &text);
        for (uint32_t columns = 1; columns <= 100 && good; columns += 3)
                for (uint32_t lines = 1; lines <= 30 && good; lines++)
                        good = fits(columns, lines, true) && fits(columns, lines, false);
        is_true(good);
        state.pane.left = 1000;
        is_true(fits(80, 24, true));
        close_scene();
}

TEST(a_screen_of_80_columns_tells_all)
{
        char *text;

        open_scene("/usr/bin/prog");
        text = text_of(80, 24, false);
        has_text(text, "prog (4711)  00:01:40  preload  heap 1000  peak 0  RSS 5.0M  16 blocks\n");
        has_text(text, " heap, all 1 min 40 s");
        has_text(text, "alloc/s");
        has_text(text, "*LIVE    +-60s   BLOCKS  CALLS/s  AVG AGE  SITE\n");
        has_text(text, "\n>   600     +360        6");
        has_text(text, "parse a.c:10 <- load l.c:7");
        has_text(text, "h help  q quit\n");
        free(text);
        close_scene();
}

TEST(what_grows_is_marked)
{
        char *text;

        open_scene("prog");
        is_equal(rows.all[0].growth.class, GROWTH_GROWS);
        text = text_of(80, 24, false);
        has_text(text, "^ grows\n");
        free(text);
        text = text_of(140, 24, true);
        has_text(text, "▲ grows 360 B/min\n");
        free(text);
        close_scene();
}

TEST(the_sorted_column_is_marked)
{
        static const char *const marked[] = { "▼LIVE", "▼±60s", "▼BLOCKS", "▼CALLS/s", "▼AVG AGE" };

        open_scene("prog");
        for (int i = 0; i < ROWS_COLUMN_COUNT; i++) {
                char *text;

                state.sort = (enum rows_column)i;
                text = text_of(80, 24, true);
                is_true(strstr(text, marked[i]) != NULL);
                is_true(strstr(strstr(text, "▼") + 1, "▼") == NULL);
                free(text);
        }
        close_scene();
}

TEST(a_script_is_told_of_rows_that_are_too_many_to_print)
{
        struct screen_input in = input(80, 0, false);
        struct rows few;
        struct screen s;

        open_scene("prog");
        few = rows;
        rows.count = 12345;
        rows.all = heap_zero(rows.count, sizeof *rows.all);
        screen_make(&s, &in);
        is_equal(s.count, 3 + 10000 + 1); /* the head, rows, what is left */
        is_text(str_get(&s.lines[s.count - 1].text), "  ... 2345 more (-n N prints N)");
        screen_free(&s);
        in.limit = 11000;
        screen_make(&s, &in);
        is_equal(s.count, 3 + 11000);
        screen_free(&s);
        free(rows.all);
        rows = few;
        close_scene();
}

TEST(a_script_gets_all_rows_and_no_keys)
{
        char *text;

        open_scene("prog");
        text = text_of(80, 0, false);
        has_text(text, "tiny");
        has_text(text, "small");
        is_true(!strstr(text, "q quit"));
        is_true(!strstr(text, "\n>"));
        free(text);
        close_scene();
}

TEST(what_is_typed_and_told_is_in_the_last_line)
{
        struct screen_input in = input(80, 24, true);
        struct screen s;

        open_scene("prog");
        state.prompt = KEYS_PROMPT_FILTER;
        str_text(&state.typed, "par.*");
        screen_make(&s, &in);
        is_true(s.prompt);
        is_text(str_get(&s.lines[23].text), "functions (none: all): par.*");
        screen_free(&s);
        state.prompt = KEYS_NO_PROMPT;
        str_text(&state.message, "told");
        in.ended = "the program has ended";
        screen_make(&s, &in);
        is_text(str_get(&s.lines[23].text), "told");
        screen_free(&s);
        str_clear(&state.message);
        screen_make(&s, &in);
        is_text(str_get(&s.lines[23].text), "the program has ended");
        screen_free(&s);
        close_scene();
}

TEST(the_help_lists_every_key_that_works)
{
        struct str live = { 0 }, replay = { 0 };

        pane_help(KEYS_LIVE, &live);
        pane_help(KEYS_REPLAY, &replay);
        for (const struct keys_help *k = keys_help; k->name; k++) {
                is_equal(strstr(str_get(&live), k->text) != NULL, (k->when & KEYS_LIVE) != 0);
                is_equal(strstr(str_get(&replay), k->text) != NULL, (k->when & KEYS_REPLAY) != 0);
        }
        str_free(&live);
        str_free(&replay);
}

TEST(a_stack_is_told_with_its_numbers)
{
        struct pane_input in = { &picture, &names, NULL, 80 };
        struct str text = { 0 };

        open_scene("prog");
        pane_stack(&in, &rows.all[0], &text);
        has_text(str_get(&text), "600 B live in 6 blocks, 100 B on average");
        has_text(str_get(&text), "change since 60s ago: +360 B");
        has_text(str_get(&text),
                 "  parse [/src/a.c:10]\n  load [/src/l.c:7]\n  main [/src/m.c:1]\n");
        has_text(str_get(&text), "The source text was not found");
        str_free(&text);
        close_scene();
}

TAP_MAIN(every_size_is_kept, a_text_in_place_of_the_table_keeps_every_size_too,
         a_screen_of_80_columns_tells_all, what_grows_is_marked, the_sorted_column_is_marked,
         a_script_is_told_of_rows_that_are_too_many_to_print, a_script_gets_all_rows_and_no_keys,
         what_is_typed_and_told_is_in_the_last_line, the_help_lists_every_key_that_works,
         a_stack_is_told_with_its_numbers)
