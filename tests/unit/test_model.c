/* SPDX-License-Identifier: MIT */
/*
 * test_model.c -- look-ups in a recording.
 */
#include "profile/model.h"

#include "base/heap.h"
#include "ledger/ledger.h"
#include "sample.h"
#include "tap.h"

/* Three slices: at 10 ms site 1 has 100 bytes, at 20 ms site 2 gets 50, at 30 ms site 1 is down to
 * 0. */
static void three_slices(struct profile *p)
{
        static struct profile_slice slices[] = {
                { .ms = 10, .change_first = 0, .change_count = 1 },
                { .ms = 20, .change_first = 1, .change_count = 1 },
                { .ms = 30, .change_first = 2, .change_count = 1 }
        };
        static struct profile_change changes[] = { { .site = 1, .live_bytes = 100, .allocs = 1 },
                                                   { .site = 2, .live_bytes = 50, .allocs = 5 },
                                                   { .site = 1, .live_bytes = 0, .allocs = 1 } };

        *p = (struct profile){ .slices = slices,
                               .slice_count = 3,
                               .changes = changes,
                               .change_count = 3,
                               .site_count = 3 };
}

TEST(before_the_first_slice_nothing_is_known)
{
        struct profile p;
        struct profile_change out[3];

        three_slices(&p);
        is_true(!profile_at(&p, 9, out));
        p.slice_count = 0;
        is_true(!profile_at(&p, 1000, out));
}

TEST(a_moment_has_the_state_of_the_last_slice_that_is_not_later)
{
        struct profile p;
        struct profile_change out[3];

        three_slices(&p);
        is_true(profile_at(&p, 10, out));
        is_true(out[1].live_bytes == 100 && out[2].live_bytes == 0);
        is_true(profile_at(&p, 29, out));
        is_true(out[1].live_bytes == 100 && out[2].live_bytes == 50 && out[2].allocs == 5);
        is_true(profile_at(&p, UINT64_MAX, out));
        is_true(out[1].live_bytes == 0 && out[1].allocs == 1 && out[2].live_bytes == 50);
        is_true(out[0].site == 0 && out[1].site == 1 && out[2].site == 2);
}

TEST(slices_of_one_millisecond_are_told_apart_by_their_index)
{
        struct profile p;
        struct profile_change out[3];

        three_slices(&p);
        p.slices[1].ms = 10;
        is_true(profile_at_slice(&p, 0, out) && out[2].live_bytes == 0);
        is_true(profile_at_slice(&p, 1, out) && out[2].live_bytes == 50);
        is_true(!profile_at_slice(&p, 3, out));
        p.slices[1].ms = 20;
}

/* The marks of the program raise the ledger's clock to 15, 16 and 17 ms; their slices are cut at 10
 * and 20 ms. */
static void peak_among_marks(struct profile *p, uint64_t peak_ms)
{
        static struct profile_mark marks[] = { { .slice = 0, .era = 1, .ms = 15 },
                                               { .slice = 1, .era = 2, .ms = 16 },
                                               { .slice = 1, .era = 3, .ms = 17 },
                                               { .slice = 2, .era = 0, .ms = 30 } };

        three_slices(p);
        p->marks = marks;
        p->mark_count = 4;
        p->meta.duration_ms = 31;
        p->totals.peak_ms = peak_ms;
}

TEST(marks_tell_the_place_of_the_peak)
{
        static const struct {
                uint64_t ms;
                uint32_t before;
        } cases[] = { { 0, 0 },  { 14, 0 }, { 15, 1 }, { 16, 1 },
                      { 17, 2 }, { 29, 2 }, { 30, 3 }, { 99, 3 } };

        for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct profile p;

                peak_among_marks(&p, cases[i].ms);
                is_equal(profile_slices_before_peak(&p), cases[i].before);
        }
}

TEST(the_peak_is_not_later_than_the_slice_that_follows_it)
{
        static const struct {
                uint64_t ms, shown;
        } cases[] = { { 5, 5 },   { 14, 10 }, { 15, 15 }, { 17, 20 },
                      { 29, 29 }, { 30, 30 }, { 99, 31 } };
        struct profile p;

        for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                peak_among_marks(&p, cases[i].ms);
                is_equal(profile_peak_ms(&p), cases[i].shown);
        }
        p.slice_count = 0;
        p.mark_count = 0;
        is_equal(profile_peak_ms(&p), 31);
}

TEST(every_mark_has_a_word)
{
        is_text(profile_mark_word(LEDGER_MARK_TAG), "tag");
        is_text(profile_mark_word(LEDGER_MARK_OUTSIDE), "outside");
        is_text(profile_mark_word(LEDGER_MARK_OUTSIDE + 1), "unknown");
}

TEST(every_kind_has_its_name_and_others_are_unknown)
{
        struct profile p = { 0 };

        is_text(profile_kind_name(&p, LEDGER_KIND_MALLOC), "malloc");
        is_text(profile_kind_name(&p, LEDGER_KIND_NEW_ARRAY), "new[]");
        is_text(profile_kind_name(&p, LEDGER_KIND_MREMAP), "mremap");
        is_text(profile_kind_name(&p, PROFILE_KIND_OLDER), "older");
        is_text(profile_kind_name(&p, PROFILE_KIND_OLDER + 1), "unknown");
        is_text(profile_kind_name(&p, UINT32_MAX), "unknown");
}

TEST(an_emptied_profile_is_empty_and_can_be_emptied_again)
{
        struct profile p, zero = { 0 };

        sample_profile(&p, 3, 100);
        profile_free(&p);
        is_true(!memcmp(&p, &zero, sizeof p));
        profile_free(&p);
}

TAP_MAIN(before_the_first_slice_nothing_is_known,
         a_moment_has_the_state_of_the_last_slice_that_is_not_later,
         slices_of_one_millisecond_are_told_apart_by_their_index, marks_tell_the_place_of_the_peak,
         the_peak_is_not_later_than_the_slice_that_follows_it, every_mark_has_a_word,
         every_kind_has_its_name_and_others_are_unknown,
         an_emptied_profile_is_empty_and_can_be_emptied_again)
