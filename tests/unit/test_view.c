/* SPDX-License-Identifier: MIT */
/*
 * test_view.c -- the words of a ledger that both sides write.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/view.h"
#include "specimen.h"
#include "tap.h"

TEST(a_file_that_may_shrink_is_not_mapped)
{
        struct specimen f;
        struct view v;

        specimen_open(&f);
        v = specimen_view(&f);
        is_true(!view_shared(&v));
        view_close(&v);
        specimen_close(&f);
}

TEST(the_head_of_a_sealed_file_is_shared)
{
        struct specimen f;
        struct view v;

        specimen_open(&f);
        is_equal(fcntl(f.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        v = specimen_view(&f);
        if (is_true(view_shared(&v))) {
                f.head->journal_reserved = 77;
                is_equal(view_shared(&v)->journal_reserved, 77);
        }
        view_close(&v);
        specimen_close(&f);
}

static void check_clock(bool sealed)
{
        struct specimen f;
        struct view v;

        specimen_open(&f);
        if (sealed)
                is_equal(fcntl(f.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        v = specimen_view(&f);
        view_tick(&v, 100, false);
        is_equal(f.head->tick_ms, 100);
        f.head->tick_ms = 120; /* the program, at a mark */
        view_tick(&v, 110, true);
        is_equal(f.head->tick_ms, 120);
        view_tick(&v, 121, false);
        is_equal(f.head->tick_ms, 121);
        is_equal(f.head->working, 110);
        view_observer(&v, 4711);
        view_served(&v, 3);
        is_equal(f.head->observer, 4711);
        is_equal(f.head->served, 3);
        view_close(&v);
        specimen_close(&f);
}

TEST(the_clock_is_never_turned_back)
{
        check_clock(true);
        check_clock(false);
}

static void *wait_for_served(void *context)
{
        struct ledger_head *h = context;
        struct timespec deadline = { 30, 0 };

        while (__atomic_load_n(&h->served, __ATOMIC_ACQUIRE) == 0)
                if (syscall(SYS_futex, &h->served, FUTEX_WAIT, 0, &deadline, NULL, 0) < 0 &&
                    __atomic_load_n(&h->served, __ATOMIC_ACQUIRE) == 0)
                        return NULL; /* the deadline: nobody woke us */
        return h;
}

TEST(who_waits_for_a_mark_is_woken)
{
        struct specimen f;
        struct view v;
        pthread_t waiters[3];
        void *woken;

        specimen_open(&f);
        is_equal(fcntl(f.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        v = specimen_view(&f);
        for (int i = 0; i < 3; i++)
                is_equal(pthread_create(&waiters[i], NULL, wait_for_served, f.head), 0);
        view_served(&v, 1);
        for (int i = 0; i < 3; i++) {
                pthread_join(waiters[i], &woken);
                is_true(woken == f.head);
        }
        view_close(&v);
        specimen_close(&f);
}

TAP_MAIN(a_file_that_may_shrink_is_not_mapped, the_head_of_a_sealed_file_is_shared,
         the_clock_is_never_turned_back, who_waits_for_a_mark_is_woken)
