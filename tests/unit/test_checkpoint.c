/* SPDX-License-Identifier: MIT */
/*
 * test_checkpoint.c -- when checkpoints are written, and what they may cost.
 */
#include "session/checkpoint.h"

#include "tap.h"

#define MS 1000000u
#define RUN_MS 600000u
#define MIB (1ull << 20)

/* A run of ten minutes, each checkpoint of which takes so much. */
struct run {
        uint64_t light_ns, whole_ns, ledger_bytes;
        uint32_t sharers;
        /* found: the longest time without one after its first ten seconds */
        uint64_t spent_ns, longest_ms, light, whole;
};

static void play(struct run *r)
{
        struct checkpoint c;
        uint64_t last_ms = 0;

        checkpoint_init(&c, true);
        for (uint64_t now_ms = 0; now_ms < RUN_MS; now_ms += 10) {
                struct checkpoint_state s = { now_ms, r->ledger_bytes, r->sharers };
                enum checkpoint_kind kind = checkpoint_due(&c, &s);
                uint64_t cost_ns = kind == CHECKPOINT_WHOLE ? r->whole_ns : r->light_ns;

                if (now_ms > 10000 && now_ms - last_ms > r->longest_ms)
                        r->longest_ms = now_ms - last_ms;
                if (kind == CHECKPOINT_NONE)
                        continue;
                checkpoint_begun(&c, kind, now_ms);
                checkpoint_done(&c, 0, cost_ns);
                r->spent_ns += cost_ns;
                r->light += kind == CHECKPOINT_LIGHT;
                r->whole += kind == CHECKPOINT_WHOLE;
                last_ms = now_ms;
        }
}

TEST(a_small_recording_is_written_every_four_seconds)
{
        struct run r = { 2 * MS, 3 * MS, 4 * MIB, 1, 0, 0, 0, 0 };

        play(&r);
        is_true(r.longest_ms <= 4500);
        is_equal(r.light, 0);
        is_true(r.whole > 140);
}

TEST(blocks_that_are_too_dear_are_left_out_of_some)
{
        struct run r = { 5 * MS, 400 * MS, 300 * MIB, 1, 0, 0, 0, 0 };

        play(&r);
        is_true(r.longest_ms <= 4500);
        is_true(r.light > 100);
        is_true(r.whole > 2);
        is_true(r.spent_ns <= RUN_MS * 10000ull + 405 * MS);
}

TEST(nothing_takes_more_than_one_percent)
{
        struct run r = { 1500 * MS, 2000 * MS, 300 * MIB, 1, 0, 0, 0, 0 };

        play(&r);
        is_true(r.light + r.whole >= 2);
        is_true(r.spent_ns <= RUN_MS * 10000ull + 3500 * MS);
}

TEST(recordings_share_what_they_may_take)
{
        struct run r = { 2 * MS, 3 * MS, 4 * MIB, 100, 0, 0, 0, 0 };

        play(&r);
        is_true(r.spent_ns <= RUN_MS * 100ull + 5 * MS);
        is_true(r.light + r.whole > 10);
}

TEST(none_without_a_file)
{
        struct checkpoint c;
        struct checkpoint_state s = { RUN_MS, MIB, 1 };

        checkpoint_init(&c, false);
        is_equal(checkpoint_due(&c, &s), CHECKPOINT_NONE);
}

TEST(failures_are_tried_again)
{
        struct checkpoint c;
        struct checkpoint_state s = { 5000, MIB, 1 };

        checkpoint_init(&c, true);
        is_equal(checkpoint_due(&c, &s), CHECKPOINT_WHOLE);
        checkpoint_begun(&c, CHECKPOINT_WHOLE, 5000); /* no process for it */
        is_equal(checkpoint_due(&c, &s), CHECKPOINT_NONE);
        s.now_ms = 9000;
        is_equal(checkpoint_due(&c, &s), CHECKPOINT_WHOLE);
        c.writer.pid = 7;
        checkpoint_begun(&c, CHECKPOINT_WHOLE, 9000);
        s.now_ms = 20000;
        is_equal(checkpoint_due(&c, &s), CHECKPOINT_NONE); /* one is being written */
        checkpoint_done(&c, 1 << 8, MS);
        is_true(c.failed);
        is_equal(checkpoint_due(&c, &s), CHECKPOINT_WHOLE);
}

TAP_MAIN(a_small_recording_is_written_every_four_seconds,
         blocks_that_are_too_dear_are_left_out_of_some,
         nothing_takes_more_than_one_percent,
         recordings_share_what_they_may_take,
         none_without_a_file,
         failures_are_tried_again)
