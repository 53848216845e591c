/* SPDX-License-Identifier: MIT */
/*
 * test_snapshots.c -- marks of a ledger: order, numbers, which want a report, and when they are
 * done with.
 */
#include "session/snapshots.h"
#include "specimen.h"
#include "tap.h"

struct producer {
        struct specimen ledger;
        struct slices slices;
        struct snapshots snapshots;
};

static void producer_open(struct producer *d)
{
        *d = (struct producer){ 0 };
        specimen_open(&d->ledger);
}

static void producer_close(struct producer *d)
{
        snapshots_free(&d->snapshots);
        slices_free(&d->slices);
        specimen_close(&d->ledger);
}

static void look(struct producer *d, uint64_t ms, bool ended)
{
        struct view v = specimen_view(&d->ledger);
        struct snapshots_moment now = { &d->slices, &v, ms, 0, ended };

        snapshots_look(&d->snapshots, &now);
        view_close(&v);
}

static void take(struct producer *d, uint64_t ms, bool report)
{
        struct view v = specimen_view(&d->ledger);
        struct snapshots_moment now = { &d->slices, &v, ms, 0, false };

        snapshots_take(&d->snapshots, &now, LEDGER_MARK_OUTSIDE, "outside", report,
                       SNAPSHOTS_NOBODY);
        view_close(&v);
}

static struct ledger_mark *mark_at(struct producer *d, uint32_t i)
{
        return (struct ledger_mark *)specimen_part(&d->ledger, LEDGER_MARKS) + i;
}

TEST(snapshots_are_numbered_and_tags_are_not)
{
        struct producer d;

        producer_open(&d);
        specimen_mark(&d.ledger, LEDGER_MARK_TAG, 1, "tag");
        specimen_mark(&d.ledger, LEDGER_MARK_SNAPSHOT, 2, "one");
        specimen_mark(&d.ledger, LEDGER_MARK_DISABLE, 3, "");
        specimen_mark(&d.ledger, LEDGER_MARK_HEAP, 4, "two");
        specimen_mark(&d.ledger, LEDGER_MARK_SIGNAL, 5, "");
        look(&d, 10, false);
        is_equal(d.slices.mark_count, 5);
        is_equal(d.slices.mark[0].seq, 0);
        is_equal(d.slices.mark[1].seq, 1);
        is_text(d.slices.mark[1].label, "one");
        is_equal(d.slices.mark[2].seq, 0);
        is_equal(d.slices.mark[3].seq, 2);
        is_equal(d.slices.mark[4].seq, 3);
        producer_close(&d);
}

TEST(reports_follow_each_other_past_snapshots_without)
{
        struct producer d;

        producer_open(&d);
        specimen_mark(&d.ledger, LEDGER_MARK_SNAPSHOT, 2, "one");
        specimen_mark(&d.ledger, LEDGER_MARK_HEAP, 4, "two");
        look(&d, 10, false);
        take(&d, 11, false);
        take(&d, 12, true);
        is_equal(d.snapshots.due_count, 2);
        is_equal(d.snapshots.due[0].order.from_seq, 0);
        is_equal(d.snapshots.due[0].order.seq, 1);
        is_equal(d.snapshots.due[1].order.from_seq, 1);
        is_equal(d.snapshots.due[1].order.seq, 4);
        producer_close(&d);
}

TEST(a_mark_is_done_with_when_its_report_and_all_before_it_are)
{
        struct producer d;

        producer_open(&d);
        specimen_mark(&d.ledger, LEDGER_MARK_TAG, 1, "");
        look(&d, 2, false);
        is_equal(snapshots_served(&d.snapshots), 1);
        specimen_mark(&d.ledger, LEDGER_MARK_TAG, 3, "");
        specimen_mark(&d.ledger, LEDGER_MARK_SNAPSHOT, 4, "");
        specimen_mark(&d.ledger, LEDGER_MARK_TAG, 5, "");
        take(&d, 6, true);
        look(&d, 7, false);
        is_equal(snapshots_served(&d.snapshots), 2);
        snapshots_forget(&d.snapshots, 1); /* the one from outside */
        is_equal(snapshots_served(&d.snapshots), 2);
        snapshots_forget(&d.snapshots, 1);
        is_equal(snapshots_served(&d.snapshots), 4);
        producer_close(&d);
}

TEST(a_mark_that_is_being_written_holds_up_the_later_ones_for_a_while_only)
{
        struct producer d;

        producer_open(&d);
        specimen_mark(&d.ledger, LEDGER_MARK_SNAPSHOT, 1, "half");
        specimen_mark(&d.ledger, LEDGER_MARK_SNAPSHOT, 2, "whole");
        mark_at(&d, 0)->ready = 0;
        look(&d, 10, false);
        is_equal(d.slices.mark_count, 0);
        look(&d, 400, false);
        is_equal(d.slices.mark_count, 0);
        is_equal(snapshots_served(&d.snapshots), 0);
        look(&d, 700, false);
        is_equal(d.slices.mark_count, 1);
        is_text(d.slices.mark[0].label, "whole");
        is_equal(d.snapshots.seen, 2);
        producer_close(&d);
}

TEST(at_the_end_what_is_not_ready_never_will_be)
{
        struct producer d;

        producer_open(&d);
        specimen_mark(&d.ledger, LEDGER_MARK_SNAPSHOT, 1, "half");
        specimen_mark(&d.ledger, LEDGER_MARK_EXIT, 2, "");
        mark_at(&d, 0)->ready = 0;
        look(&d, 10, true);
        is_equal(d.snapshots.seen, 2);
        is_equal(d.slices.mark_count, 1);
        is_true(d.snapshots.exit_seen);
        producer_close(&d);
}

TEST(a_thousand_marks_at_once_get_a_thousand_reports)
{
        struct producer d;

        producer_open(&d);
        for (uint32_t i = 0; i < 1000; i++)
                specimen_mark(&d.ledger, LEDGER_MARK_SIGNAL, i, "");
        look(&d, 2000, false);
        is_equal(d.snapshots.due_count, 1000);
        is_equal(d.snapshots.due[999].order.seq, 1000);
        is_equal(d.snapshots.due[999].order.from_seq, 999);
        is_equal(snapshots_served(&d.snapshots), 0);
        snapshots_forget(&d.snapshots, 1000);
        is_equal(snapshots_served(&d.snapshots), 1000);
        producer_close(&d);
}

TEST(marks_of_a_hostile_ledger_do_no_harm)
{
        struct producer d;

        producer_open(&d);
        specimen_mark(&d.ledger, 4000000000u, 1, "");
        specimen_mark(&d.ledger, LEDGER_MARK_OUTSIDE, 1, "");
        specimen_mark(&d.ledger, LEDGER_MARK_TAG, 4000000000u, "");
        mark_at(&d, 2)->label = 4000000000u;
        d.ledger.head->mark_count = 4000000000u;
        look(&d, 10, true);
        is_true(d.snapshots.seen <= LEDGER_MARKS_MAX);
        is_equal(d.snapshots.due_count, 0);
        is_equal(d.slices.mark[0].seq, 0);
        is_equal(d.slices.mark[1].seq, 0);
        producer_close(&d);
}

TAP_MAIN(snapshots_are_numbered_and_tags_are_not, reports_follow_each_other_past_snapshots_without,
         a_mark_is_done_with_when_its_report_and_all_before_it_are,
         a_mark_that_is_being_written_holds_up_the_later_ones_for_a_while_only,
         at_the_end_what_is_not_ready_never_will_be,
         a_thousand_marks_at_once_get_a_thousand_reports, marks_of_a_hostile_ledger_do_no_harm)
