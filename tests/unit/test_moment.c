/* SPDX-License-Identifier: MIT */
/* test_moment.c -- words for moments. */
#include "query/moment.h"

#include <fcntl.h>
#include <unistd.h>

#include "forge.h"
#include "tap.h"

/* tag a, snapshot 1 "one", tag b, tag a again, snapshot 2 without a label, tags "end" and "2". */
static void marked(struct profile *p)
{
        static const struct {
                uint32_t type, seq;
                const char *label;
        } marks[] = { { LEDGER_MARK_TAG, 0, "a" },      { LEDGER_MARK_SNAPSHOT, 1, "one" },
                      { LEDGER_MARK_TAG, 0, "b" },      { LEDGER_MARK_TAG, 0, "a" },
                      { LEDGER_MARK_SIGNAL, 2, "" },    { LEDGER_MARK_TAG, 0, "end" },
                      { LEDGER_MARK_TAG, 0, "2" },      { LEDGER_MARK_TAG, 0, "x:1" },
                      { LEDGER_MARK_TAG, 0, "v1..v2" }, { LEDGER_MARK_ENABLE, 0, "on" } };

        forge_start(p);
        for (uint32_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
                forge_slice(p, 100 * (i + 1));
                forge_mark(p, marks[i].type, marks[i].seq, marks[i].label);
        }
}

/* The mark a word means; -1: another moment; -2: none. */
static int mark_of(const struct profile *p, const char *word)
{
        struct err e = { 0 };
        struct moment m;

        if (!moment_find(p, word, &m, &e))
                return e.exit_code == ERR_EXIT_USAGE ? -2 : -3;
        return m.type == MOMENT_MARK ? (int)m.mark : -1;
}

static enum moment_type type_of(const struct profile *p, const char *word, uint64_t *ms)
{
        struct err e = { 0 };
        struct moment m = { 0 };

        is_true(moment_find(p, word, &m, &e));
        *ms = m.ms;
        return m.type;
}

TEST(labels_and_numbers_name_marks)
{
        struct profile p;

        marked(&p);
        is_equal(mark_of(&p, "a"), 0);
        is_equal(mark_of(&p, "a:1"), 0);
        is_equal(mark_of(&p, "a:2"), 3);
        is_equal(mark_of(&p, "one"), 1);
        is_equal(mark_of(&p, "1"), 1);
        is_equal(mark_of(&p, "2"), 4);
        is_equal(mark_of(&p, "x:1"), 7);
        is_equal(mark_of(&p, "x:1:1"), 7);
        profile_free(&p);
}

TEST(fixed_words_win_over_labels_and_an_occurrence_reaches_the_label)
{
        struct profile p;
        uint64_t ms;

        marked(&p);
        is_equal(type_of(&p, "end", &ms), MOMENT_END);
        is_equal(mark_of(&p, "end:1"), 5);
        is_equal(mark_of(&p, "2:1"), 6);
        is_equal(type_of(&p, "start", &ms), MOMENT_START);
        is_equal(ms, 0);
        is_equal(type_of(&p, "peak", &ms), MOMENT_PEAK);
        profile_free(&p);
}

TEST(times_have_a_unit_or_a_point)
{
        struct profile p;
        uint64_t ms;

        marked(&p);
        is_equal(type_of(&p, "1.5s", &ms), MOMENT_TIME);
        is_equal(ms, 1500);
        is_equal(type_of(&p, "200ms", &ms), MOMENT_TIME);
        is_equal(ms, 200);
        is_equal(type_of(&p, "0.25", &ms), MOMENT_TIME);
        is_equal(ms, 250);
        is_equal(mark_of(&p, "3"), -2);
        profile_free(&p);
}

TEST(what_does_not_exist_is_answered_with_what_does)
{
        struct profile p;
        struct err e = { 0 };
        struct moment m;

        marked(&p);
        is_true(!moment_find(&p, "nowhere", &m, &e));
        has_text(e.text, "no moment 'nowhere'");
        has_text(e.text, "tag a at 100 ms, snapshot 1 (one) at 200 ms");
        has_text(e.text, "snapshot 2 at 500 ms");
        is_true(!strstr(e.text, "tag on"));
        is_equal(mark_of(&p, "a:3"), -2);
        is_equal(mark_of(&p, "a:0"), -2);
        is_equal(mark_of(&p, "on"), -2);
        is_equal(mark_of(&p, ""), -2);
        is_equal(mark_of(&p, ":1"), -2);
        profile_free(&p);
        forge_start(&p);
        is_true(!moment_find(&p, "4", &m, &e));
        has_text(e.text, "no tags and no snapshots");
        has_text(e.text, "a plain number is that of a snapshot");
        profile_free(&p);
}

TEST(a_range_has_two_ends_in_order)
{
        struct profile p;
        struct err e = { 0 };
        struct moment from, to;

        marked(&p);
        is_true(moment_range(&p, "a..b", &from, &to, &e));
        is_equal(from.mark, 0);
        is_equal(to.mark, 2);
        is_true(moment_range(&p, "..a:2", &from, &to, &e));
        is_equal(from.type, MOMENT_START);
        is_equal(to.mark, 3);
        is_true(moment_range(&p, "b..", &from, &to, &e));
        is_equal(to.type, MOMENT_END);
        is_true(moment_range(&p, "150ms..1s", &from, &to, &e));
        is_true(moment_range(&p, "a..v1..v2", &from, &to, &e));
        is_equal(to.mark, 8);
        is_true(moment_range(&p, "v1..v2..end", &from, &to, &e));
        is_equal(from.mark, 8);
        is_true(!moment_range(&p, "b..a", &from, &to, &e));
        has_text(e.text, "the end lies before the start");
        is_true(!moment_range(&p, "a", &from, &to, &e));
        is_true(!moment_range(&p, "peak..end", &from, &to, &e));
        is_true(!moment_range(&p, "a..nowhere", &from, &to, &e));
        profile_free(&p);
}

TEST(a_file_with_an_at_sign_in_its_name_wins)
{
        char path[64];
        int fd;

        snprintf(path, sizeof path, "/tmp/seep-moment-%d@2", (int)getpid());
        is_text(moment_split(path), "@2");
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        is_true(fd >= 0 && close(fd) == 0);
        is_true(!moment_split(path));
        unlink(path);
        is_true(!moment_split("plain.seep"));
        is_text(moment_split("@peak"), "@peak");
        is_text(moment_split("a@b@c"), "@c");
}

TEST(moments_are_named_for_people)
{
        struct profile p;
        struct str out = { 0 };

        marked(&p);
        moment_name(&p, &(struct moment){ MOMENT_MARK, 1, 200 }, &out);
        str_text(&out, ", ");
        moment_name(&p, &(struct moment){ MOMENT_MARK, 4, 500 }, &out);
        str_text(&out, ", ");
        moment_name(&p, &(struct moment){ MOMENT_MARK, 2, 300 }, &out);
        str_text(&out, ", ");
        moment_name(&p, &(struct moment){ MOMENT_TIME, 0, 1500 }, &out);
        str_text(&out, ", ");
        moment_name(&p, &(struct moment){ MOMENT_TIME, 0, 1960 }, &out);
        str_text(&out, ", ");
        moment_name(&p, &(struct moment){ MOMENT_TIME, 0, 12345 }, &out);
        is_text(str_get(&out), "snapshot 1 (one), snapshot 2, tag b, 1.5 s, 1.96 s, 12.345 s");
        str_free(&out);
        profile_free(&p);
}

TAP_MAIN(labels_and_numbers_name_marks,
         fixed_words_win_over_labels_and_an_occurrence_reaches_the_label,
         times_have_a_unit_or_a_point, what_does_not_exist_is_answered_with_what_does,
         a_range_has_two_ends_in_order, a_file_with_an_at_sign_in_its_name_wins,
         moments_are_named_for_people)
