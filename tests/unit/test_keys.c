/* SPDX-License-Identifier: MIT */
/*
 * test_keys.c -- what keys do.
 */
#include "tap.h"

#include "base/heap.h"
#include "top/keys.h"

enum { ROWS = 50, PAGE = 10 };

static struct row all[ROWS];
static const struct rows rows = { .all = all, .count = ROWS };

static struct keys_state fresh(unsigned when)
{
        for (uint32_t i = 0; i < ROWS; i++)
                all[i].key = 100 + i;
        return (struct keys_state){ .when = when, .page = PAGE, .speed = 1 };
}

static void type(struct keys_state *s, const char *text)
{
        for (; *text; text++)
                keys_press(s, (unsigned char)*text, ROWS);
}

static void move(struct keys_state *s, uint32_t key)
{
        if (keys_press(s, key, ROWS) == KEYS_DO_MOVE)
                keys_choose(s, &rows, s->index);
}

TEST(s_goes_through_all_columns_and_back)
{
        struct keys_state s = fresh(KEYS_LIVE);

        for (int i = 1; i <= ROWS_COLUMN_COUNT; i++) {
                is_equal(keys_press(&s, 's', ROWS), KEYS_ROWS);
                is_equal(s.sort, i % ROWS_COLUMN_COUNT);
        }
        keys_press(&s, '<', ROWS);
        is_equal(s.sort, ROWS_COLUMN_COUNT - 1);
        keys_press(&s, '>', ROWS);
        is_equal(s.sort, 0);
        keys_free(&s);
}

TEST(arrows_stay_within_the_table_and_the_line_on_the_screen)
{
        static const uint32_t keys[] = { KEYS_DOWN,    KEYS_UP,  KEYS_PAGE_DOWN,
                                         KEYS_PAGE_UP, KEYS_END, KEYS_HOME };
        struct keys_state s = fresh(KEYS_LIVE);
        uint64_t random = 1;

        keys_choose(&s, &rows, 0);
        for (int i = 0; i < 2000; i++) {
                random = random * 6364136223846793005ull + 1442695040888963407ull;
                move(&s, keys[(random >> 40) % 6]);
                if (!is_true(s.index < ROWS && s.first <= s.index && s.index < s.first + PAGE &&
                             s.chosen == 100 + s.index))
                        break;
        }
        move(&s, KEYS_END);
        is_equal(s.index, ROWS - 1);
        is_equal(s.first, ROWS - PAGE);
        move(&s, KEYS_HOME);
        is_equal(s.first, 0);
        keys_free(&s);
}

TEST(fewer_rows_than_before_leave_a_line_that_exists)
{
        struct keys_state s = fresh(KEYS_LIVE);
        struct rows few = { .all = all, .count = 3 }, none = { 0 };

        move(&s, KEYS_END);
        keys_choose(&s, &few, s.index);
        is_equal(s.index, 2);
        is_equal(s.first, 0);
        keys_choose(&s, &none, s.index);
        is_equal(s.index, 0);
        is_equal(keys_press(&s, KEYS_DOWN, 0), KEYS_NOTHING);
        keys_free(&s);
}

TEST(what_is_typed_is_a_filter_when_enter_is_pressed)
{
        struct keys_state s = fresh(KEYS_LIVE);

        is_equal(keys_press(&s, '/', ROWS), KEYS_DRAW);
        type(&s, "parsq");
        keys_press(&s, KEYS_BACKSPACE, ROWS);
        type(&s, "e q"); /* q is a letter here */
        is_equal(keys_press(&s, KEYS_ENTER, ROWS), KEYS_DO_TYPED_FILTER);
        is_text(str_get(&s.typed), "parse q");
        is_equal(s.prompt, KEYS_NO_PROMPT);
        keys_free(&s);
}

TEST(escape_leaves_the_prompt_and_nothing_else)
{
        struct keys_state s = fresh(KEYS_LIVE);

        str_text(&s.filter, "old");
        keys_press(&s, '/', ROWS);
        is_text(str_get(&s.typed), "old");
        keys_press(&s, 'U' - '@', ROWS);
        is_text(str_get(&s.typed), "");
        type(&s, "new");
        is_equal(keys_press(&s, KEYS_ESCAPE, ROWS), KEYS_DRAW);
        is_text(str_get(&s.filter), "old");
        is_equal(s.prompt, KEYS_NO_PROMPT);
        keys_free(&s);
}

TEST(characters_beyond_ascii_are_typed_and_erased_whole)
{
        struct keys_state s = fresh(KEYS_LIVE);

        keys_press(&s, 't', ROWS);
        keys_press(&s, 0xe4, ROWS);
        keys_press(&s, 0x20ac, ROWS);
        keys_press(&s, 0x1f600, ROWS);
        is_text(str_get(&s.typed), "ä€😀");
        keys_press(&s, KEYS_BACKSPACE, ROWS);
        keys_press(&s, KEYS_BACKSPACE, ROWS);
        is_text(str_get(&s.typed), "ä");
        for (int i = 0; i < 1000; i++)
                keys_press(&s, 0x20ac, ROWS);
        is_true(s.typed.length < 300);
        keys_free(&s);
}

TEST(a_text_is_scrolled_and_closed)
{
        struct keys_state s = fresh(KEYS_LIVE);
        struct str text = { 0 };

        for (int i = 0; i < 25; i++)
                str_format(&text, "line %d\n", i);
        keys_open(&s, "title", &text);
        is_equal(keys_pane_lines(&s), 25);
        keys_press(&s, KEYS_END, ROWS);
        is_equal(s.pane.top, 15);
        keys_press(&s, KEYS_DOWN, ROWS);
        is_equal(s.pane.top, 15);
        keys_press(&s, KEYS_RIGHT, ROWS);
        is_equal(s.pane.left, 8);
        keys_press(&s, KEYS_LEFT, ROWS);
        keys_press(&s, KEYS_LEFT, ROWS);
        is_equal(s.pane.left, 0);
        is_equal(keys_press(&s, 'q', ROWS), KEYS_DRAW);
        is_true(!s.pane.open);
        is_equal(keys_press(&s, 'q', ROWS), KEYS_DO_QUIT);
        keys_free(&s);
}

TEST(keys_of_time_are_for_recordings_and_snapshots_for_processes)
{
        struct keys_state live = fresh(KEYS_LIVE), replay = fresh(KEYS_REPLAY);

        is_equal(keys_press(&live, ' ', ROWS), KEYS_NOTHING);
        is_equal(keys_press(&live, KEYS_LEFT, ROWS), KEYS_NOTHING);
        is_equal(keys_press(&live, 'n', ROWS), KEYS_DO_SNAPSHOT);
        is_equal(keys_press(&replay, ' ', ROWS), KEYS_DO_PLAY);
        is_equal(keys_press(&replay, KEYS_LEFT, ROWS), KEYS_DO_BACK);
        is_equal(keys_press(&replay, KEYS_RIGHT, ROWS), KEYS_DO_FORTH);
        is_equal(keys_press(&replay, '[', ROWS), KEYS_DO_MARK_BACK);
        is_equal(keys_press(&replay, 'n', ROWS), KEYS_NOTHING);
        is_equal(keys_press(&replay, 'p', ROWS), KEYS_NOTHING);
        keys_free(&live);
        keys_free(&replay);
}

TEST(a_message_is_gone_with_the_next_key)
{
        struct keys_state s = fresh(KEYS_LIVE);

        str_text(&s.message, "told");
        keys_press(&s, 'p', ROWS);
        is_text(str_get(&s.message), "");
        is_true(s.paused);
        keys_press(&s, 'p', ROWS);
        is_true(!s.paused);
        keys_free(&s);
}

TAP_MAIN(s_goes_through_all_columns_and_back,
         arrows_stay_within_the_table_and_the_line_on_the_screen,
         fewer_rows_than_before_leave_a_line_that_exists,
         what_is_typed_is_a_filter_when_enter_is_pressed, escape_leaves_the_prompt_and_nothing_else,
         characters_beyond_ascii_are_typed_and_erased_whole, a_text_is_scrolled_and_closed,
         keys_of_time_are_for_recordings_and_snapshots_for_processes,
         a_message_is_gone_with_the_next_key)
