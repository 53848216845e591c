/* SPDX-License-Identifier: MIT */
/* test_incoming.c -- a journal written by hand becomes the recording that its records tell of;
 * damaged ones say what is missing. */
#include "journal/incoming.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "ledger/ledger.h"
#include "packets.h"
#include "tap.h"

static struct packets written;
static struct profile p;

/* Everything, in three packets; the second and the third build on the one before. */
static void write_all(void)
{
        packets_free(&written);
        written = (struct packets){ .number = 0 };
        packets_begin(&written);
        packets_end(&written, 1);
        packets_work(&written);
        packets_end(&written, 0);
        packets_rest(&written);
        packets_end(&written, 0);
}

static bool read_bytes(const void *bytes, size_t count)
{
        int fd = memfd_create("journal", MFD_CLOEXEC);
        struct err e = { 0 };
        char path[32];
        bool good;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        is_true(io_write(fd, bytes, count));
        profile_free(&p);
        p = (struct profile){ 0 };
        good = incoming_read(&p, path, &e);
        is_true(good || e.text[0]);
        close(fd);
        return good;
}

static size_t start_of(uint32_t packet)
{
        size_t at = 0;

        while (packet--)
                at += JOURNAL_HEAD +
                      journal_load((const uint8_t *)written.file.data + at + JOURNAL_AT_BYTES);
        return at;
}

TEST(a_whole_journal_comes_to_what_it_tells)
{
        write_all();
        is_true(read_bytes(written.file.data, written.file.length));
        is_text(p.meta.exe, "/bin/target");
        is_equal(p.meta.pid, 4711);
        is_equal(p.meta.end, PROFILE_END_EXIT);
        is_equal(p.meta.exit_code, 3);
        is_equal(p.meta.complete, 1);
        is_equal(p.meta.warning_count, 0);
        is_equal(p.meta.duration_ms, 20);
        is_equal(p.totals.allocations, 5);
        is_equal(p.totals.frees, 2);
        is_equal(p.totals.bytes_allocated, 800);
        is_equal(p.totals.live_blocks, 3);
        is_equal(p.totals.live_bytes, 500);
        is_equal(p.totals.peak_bytes, 500);
        is_equal(p.totals.temporary, 2);
        is_equal(p.totals.mmap_calls, 1);
        is_equal(p.totals.mmap_live_bytes, 0x3000);
        is_equal(p.region_count, 2);
        is_equal(p.handle_count, 1);
        is_equal(p.mark_count, 1);
        is_text(p.marks[0].label, "loaded");
        is_equal(p.block_count, 3);
}

TEST(a_missing_packet_is_counted_and_what_builds_on_it_is_left_out)
{
        struct str less = { 0 };
        size_t from, to;

        write_all();
        from = start_of(1);
        to = start_of(2);
        str_bytes(&less, written.file.data, from);
        str_bytes(&less, written.file.data + to, written.file.length - to);
        is_true(read_bytes(less.data, less.length));
        is_equal(p.totals.allocations, 0);
        is_equal(p.meta.complete, 0);
        is_equal(p.meta.warning_count, 2); /* lost, and the end is not told */
        has_text(p.meta.warnings[0], "2 packets of the journal were lost");
        str_free(&less);
}

TEST(a_damaged_packet_is_passed_over)
{
        write_all();
        written.file.data[start_of(1) + JOURNAL_HEAD] ^= 1;
        is_true(read_bytes(written.file.data, written.file.length));
        is_equal(p.totals.allocations, 0);
        is_equal(p.meta.complete, 0);
}

TEST(a_journal_that_is_cut_off_is_read_to_there)
{
        write_all();
        is_true(read_bytes(written.file.data, start_of(2) + 7));
        is_equal(p.totals.live_bytes, 500);
        is_equal(p.meta.end, PROFILE_END_UNKNOWN);
        is_equal(p.meta.warning_count, 1);
        has_text(p.meta.warnings[0], "does not tell the end");
        is_true(!read_bytes(written.file.data, JOURNAL_HEAD - 1));
}

/* As datagrams come: the third before the second, and the first twice. */
TEST(packets_that_come_early_wait_for_those_before)
{
        static const uint32_t order[] = { 0, 2, 0, 1 };
        struct incoming *in;
        struct err e;

        write_all();
        in = incoming_new(&e);
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
                const uint8_t *at = (const uint8_t *)written.file.data + start_of(order[i]);
                struct incoming_head h;

                is_true(incoming_head(at, &h, &e));
                incoming_packet(in, &h, at + JOURNAL_HEAD);
        }
        is_true(incoming_is_over(in));
        profile_free(&p);
        incoming_profile(in, &p);
        incoming_free(in);
        is_equal(p.totals.live_bytes, 500);
        is_equal(p.meta.complete, 1);
}

/* Records that would make tables large, or name what is not there. */
TEST(numbers_that_cannot_be_are_refused)
{
        static const uint64_t huge[][6] = {
                { 0xd2, 1ull << 40, 1, 0, 0, 4 }, { 0xd3, 1u << 23, 1, 1, 0, 3 },
                { 0xd3, 5, 1u << 23, 1, 0, 3 },   { 0xc2, 1ull << 33, 0, 0, 0, 1 },
                { 0xd5, 5000, 0, 0, 0, 2 },       { 0xff, 0, 0, 0, 0, 0 },
                { 0x16, 1u << 23, 8, 64, 0, 3 },  { 0xd9, 77, 0, 0, 0, 4 },
                { 0x18, 7, 0, 0, 0, 1 },
        };

        for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
                write_all();
                written.file.length = start_of(2);
                written.number = 2;
                packets_byte(&written, (uint32_t)huge[i][0]);
                for (uint64_t k = 0; k < huge[i][5]; k++)
                        packets_number(&written, huge[i][k + 1]);
                packets_end(&written, 0);
                is_true(read_bytes(written.file.data, written.file.length));
                is_equal(p.totals.live_bytes, 500);
                is_equal(p.meta.complete, 0);
                is_true(p.node_count < 100 && p.site_count < 100 && p.thread_count < 100);
        }
        packets_free(&written);
        profile_free(&p);
}

TAP_MAIN(a_whole_journal_comes_to_what_it_tells,
         a_missing_packet_is_counted_and_what_builds_on_it_is_left_out,
         a_damaged_packet_is_passed_over, a_journal_that_is_cut_off_is_read_to_there,
         packets_that_come_early_wait_for_those_before, numbers_that_cannot_be_are_refused)
