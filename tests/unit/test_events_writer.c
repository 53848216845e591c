/* SPDX-License-Identifier: MIT */
/*
 * test_journal.c -- events from a ring to a file, with the program's part played by threads of
 * ours.
 */
#include "base/place.h"
#include "collect/events_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profile/file.h"
#include "specimen.h"
#include "tap.h"

static char place[64], path[96], side[96];
static struct specimen ledger;
static struct view view;
static struct events_writer *journal;
static uint32_t max_parts;     /* for start() */
static bool gone_when_started; /* the directory is removed once it is open */

static void start(uint64_t max_bytes)
{
        int folder;

        if (!*place) {
                strcpy(place, "/tmp/seep-journal-XXXXXX");
                is_true(mkdtemp(place));
                snprintf(path, sizeof path, "%s/a.seep", place);
                snprintf(side, sizeof side, "%s/.a.seep.events", place);
        }
        specimen_open(&ledger);
        is_equal(fcntl(ledger.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        view = specimen_view(&ledger);
        folder = place_folder(place);
        is_true(folder >= 0);
        if (gone_when_started)
                is_equal(rmdir(place), 0);
        journal = events_writer_open(&view, 0, (struct events_writer_place){ path, folder },
                                     (struct events_writer_bound){ max_bytes, max_parts });
        close(folder);
        if (gone_when_started)
                is_equal(mkdir(place, 0700), 0);
}

static uint64_t ring_room(void)
{
        return ledger.head->part[LEDGER_JOURNAL].size / sizeof(struct ledger_event);
}

/* As the agent does it, waiting without a futex. */
static bool put(uint16_t thread, uint64_t value, bool finish)
{
        struct ledger_head *h = ledger.head;
        uint64_t index = __atomic_fetch_add(&h->journal_reserved, 1, __ATOMIC_ACQ_REL);
        struct ledger_event *e = (struct ledger_event *)specimen_part(&ledger, LEDGER_JOURNAL) +
                                 index % ring_room();
        struct timespec moment = { 0, 100000 };

        __atomic_add_fetch(&h->journal_waiting, 1, __ATOMIC_ACQ_REL);
        while (index - __atomic_load_n(&h->journal_read, __ATOMIC_ACQUIRE) >= ring_room() &&
               !__atomic_load_n(&h->journal_closed, __ATOMIC_ACQUIRE))
                nanosleep(&moment, NULL);
        __atomic_sub_fetch(&h->journal_waiting, 1, __ATOMIC_ACQ_REL);
        if (__atomic_load_n(&h->journal_closed, __ATOMIC_ACQUIRE))
                return false;
        e->type = LEDGER_EVENT_ACQUIRE;
        e->kind = LEDGER_KIND_TYPE_FIRST;
        e->thread = thread;
        e->site = 0;
        e->ms = 1;
        e->address = value;
        e->size = value * 0x9e3779b97f4a7c15ull; /* takes its bytes */
        if (finish)
                __atomic_store_n(&e->stamp, (uint32_t)(index + 1), __ATOMIC_RELEASE);
        return true;
}

/* End the journal, write the recording, and look at it. */
static struct events_log *finish(struct profile *p)
{
        struct events_ids ids = { 0 };
        struct events_log *log;
        struct err e = { 0 };

        *p = (struct profile){ 0 };
        events_writer_finish(journal, true);
        events_writer_give(journal, &ids, p);
        is_true(file_write(p, path, &e));
        events_writer_close(journal, false);
        is_true(access(side, F_OK) != 0);
        log = events_log_open(path, &e);
        is_true(log != NULL);
        return log;
}

static void clean(struct profile *p, struct events_log *log)
{
        events_log_close(log);
        profile_free(p);
        view_close(&view);
        specimen_close(&ledger);
        unlink(path);
}

static uint64_t count_events(struct events_log *log)
{
        struct ledger_event e;
        uint64_t count = 0;

        while (events_log_next(log, &e))
                count++;
        return count;
}

TEST(more_events_than_the_ring_holds_arrive_in_order)
{
        struct ledger_event e;
        struct events_log *log;
        struct profile p;
        uint64_t next = 0;

        start(0);
        for (uint64_t i = 0; i < 5 * ring_room() + 77; i++)
                put(1, i, true);
        log = finish(&p);
        while (events_log_next(log, &e))
                is_true(e.address == next++);
        is_equal(next, 5 * ring_room() + 77);
        is_equal(p.meta.warning_count, 0);
        is_true(!events_log_why(log));
        clean(&p, log);
}

static void *producer(void *thread)
{
        for (uint64_t i = 0; i < 20000; i++)
                put((uint16_t)(uintptr_t)thread, i, true);
        return NULL;
}

TEST(eight_threads_lose_nothing_and_each_keeps_its_order)
{
        uint64_t next[9] = { 0 };
        pthread_t thread[9];
        struct ledger_event e;
        struct events_log *log;
        struct profile p;

        start(0);
        for (uintptr_t i = 1; i <= 8; i++)
                is_equal(pthread_create(&thread[i], NULL, producer, (void *)i), 0);
        for (int i = 1; i <= 8; i++)
                pthread_join(thread[i], NULL);
        log = finish(&p);
        while (events_log_next(log, &e))
                is_true(e.thread < 9 && e.address == next[e.thread]++);
        for (int i = 1; i <= 8; i++)
                is_equal(next[i], 20000);
        clean(&p, log);
}

TEST(entries_that_a_killed_thread_left_unfinished_are_passed_over_and_told)
{
        struct events_log *log;
        struct profile p;

        start(0);
        for (uint64_t i = 0; i < 100; i++)
                put(1, i, i % 10 != 3);
        log = finish(&p);
        is_equal(count_events(log), 90);
        is_equal(p.meta.warning_count, 1);
        has_text(p.meta.warnings[0], "10 events are missing");
        clean(&p, log);
}

TEST(an_entry_that_nobody_finishes_does_not_hold_up_the_others_for_ever)
{
        struct events_log *log;
        struct profile p;
        uint64_t count;

        start(0);
        count = 3 * ring_room();
        put(1, 0, false);
        for (uint64_t i = 1; i < count; i++)
                put(1, i, true);
        log = finish(&p);
        is_equal(count_events(log), count - 1);
        has_text(p.meta.warnings[0], "1 events are missing");
        clean(&p, log);
}

TEST(a_log_that_may_not_grow_ends_and_the_program_is_told)
{
        struct events_log *log;
        struct profile p;
        uint64_t put_count = 0, count;

        start(10000);
        while (put_count < 1000000 && put(1, put_count, true))
                put_count++;
        is_true(put_count < 1000000 && ledger.head->journal_closed);
        log = finish(&p);
        count = count_events(log);
        is_true(count > 500 && count <= put_count);
        is_true(events_log_size(log).bytes <= 10000 + 100);
        has_text(events_log_why(log), "--max-file");
        is_equal(p.meta.warning_count, 1);
        has_text(p.meta.warnings[0], "--max-file was reached");
        clean(&p, log);
}

/* Values count up, so that the last event of the log must be the last that was put, and those
 * before it follow each other. */
TEST(a_log_in_parts_has_the_last_of_them_and_knows_what_is_gone)
{
        struct ledger_event e, last = { 0 };
        struct events_log *log;
        struct profile p;
        uint64_t count = 0;
        bool good = true;
        struct stat st;

        max_parts = 3;
        start(4000);
        max_parts = 0;
        for (uint64_t i = 0; i < 200000; i++)
                good &= put(1, i, true);
        is_equal(stat(side, &st), 0);
        log = finish(&p);
        is_true(good && events_log_headless(log) && events_log_dropped(log) > 0);
        is_true(events_log_size(log).bytes <= 3 * (4000 + 2000));
        while (events_log_next(log, &e)) {
                if (count && e.type == last.type && e.address != last.address + 1)
                        break;
                last = e;
                count++;
        }
        is_equal(count + events_log_dropped(log), 200000);
        is_equal(last.address, 199999);
        /* what is gone takes no room */
        is_true(st.st_size > 65536 && st.st_blocks * 512 < st.st_size / 2 + 4096);
        is_text(events_log_why(log), NULL);
        is_equal(p.meta.warning_count, 0);
        clean(&p, log);
}

TEST(a_place_that_cannot_be_written_ends_the_log_at_once)
{
        struct events_ids ids = { 0 };
        struct profile p = { 0 };

        gone_when_started = true;
        start(0);
        gone_when_started = false;
        is_true(ledger.head->journal_closed);
        events_writer_finish(journal, true);
        events_writer_give(journal, &ids, &p);
        has_text(p.meta.warnings[0], "could not be written: No such file");
        events_writer_close(journal, false);
        profile_free(&p);
        view_close(&view);
        specimen_close(&ledger);
}

TEST(what_a_dead_observer_leaves_can_be_read)
{
        struct events_log *log;
        struct profile p = { 0 };
        struct err e = { 0 };

        start(0);
        for (uint64_t i = 0; i < 3000; i++)
                put(1, i, true);
        events_writer_close(journal, true);
        log = events_log_open(side, &e);
        is_true(log != NULL);
        is_equal(count_events(log), 3000);
        has_text(events_log_why(log), "it was not closed");
        unlink(side);
        clean(&p, log);
        rmdir(place);
}

TEST(a_ring_that_promises_too_much_does_no_harm)
{
        struct events_log *log;
        struct profile p;

        *place = 0;
        start(0);
        for (uint64_t i = 0; i < 10; i++)
                put(1, i, true);
        __atomic_store_n(&ledger.head->journal_reserved, UINT64_MAX / 2, __ATOMIC_RELEASE);
        log = finish(&p);
        is_equal(count_events(log), 10);
        clean(&p, log);
        rmdir(place);
}

TAP_MAIN(more_events_than_the_ring_holds_arrive_in_order,
         eight_threads_lose_nothing_and_each_keeps_its_order,
         entries_that_a_killed_thread_left_unfinished_are_passed_over_and_told,
         an_entry_that_nobody_finishes_does_not_hold_up_the_others_for_ever,
         a_log_that_may_not_grow_ends_and_the_program_is_told,
         a_log_in_parts_has_the_last_of_them_and_knows_what_is_gone,
         a_place_that_cannot_be_written_ends_the_log_at_once,
         what_a_dead_observer_leaves_can_be_read, a_ring_that_promises_too_much_does_no_harm)
