/* SPDX-License-Identifier: MIT */
/*
 * test_suggest.c -- slips of the fingers are understood, other words are left alone.
 */
#include "cli/suggest.h"
#include "tap.h"

static const char *const words[] = { "record", "report", "info", "help" };

TEST(equal_words_have_no_distance)
{
        is_equal(suggest_distance("", ""), 0);
        is_equal(suggest_distance("report", "report"), 0);
}

TEST(each_slip_counts_once)
{
        is_equal(suggest_distance("report", "eport"), 1);
        is_equal(suggest_distance("report", "rreport"), 1);
        is_equal(suggest_distance("report", "rebort"), 1);
        is_equal(suggest_distance("report", "reprot"), 1);
        is_equal(suggest_distance("report", "erprot"), 2);
        is_equal(suggest_distance("", "info"), 4);
        is_equal(suggest_distance("info", ""), 4);
}

TEST(distance_is_the_same_both_ways)
{
        is_equal(suggest_distance("kitten", "sitting"), 3);
        is_equal(suggest_distance("sitting", "kitten"), 3);
}

TEST(words_of_any_length_are_compared_without_leaving_the_table)
{
        char long_word[300];

        memset(long_word, 'x', sizeof long_word - 1);
        long_word[sizeof long_word - 1] = 0;
        is_equal(suggest_distance(long_word, long_word), 0);
        is_equal(suggest_distance(long_word, ""), 63);
        is_true(!suggest_nearest(long_word, words, 4));
}

TEST(a_slip_finds_its_word)
{
        is_text(suggest_nearest("recrod", words, 4), "record");
        is_text(suggest_nearest("reprt", words, 4), "report");
        is_text(suggest_nearest("inof", words, 4), "info");
        is_text(suggest_nearest("hlep", words, 4), "help");
}

TEST(another_word_finds_nothing)
{
        is_true(!suggest_nearest("ls", words, 4));
        is_true(!suggest_nearest("gcc", words, 4));
        is_true(!suggest_nearest("firefox", words, 4));
        is_true(!suggest_nearest("", words, 4));
        is_true(!suggest_nearest("record", words, 0));
}

TAP_MAIN(equal_words_have_no_distance, each_slip_counts_once, distance_is_the_same_both_ways,
         words_of_any_length_are_compared_without_leaving_the_table, a_slip_finds_its_word,
         another_word_finds_nothing)
