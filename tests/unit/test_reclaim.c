/* SPDX-License-Identifier: MIT */
/*
 * test_reclaim.c -- shadow is given back while threads allocate: both sides, the agent's own code
 * and the observer's, in one process.
 */
#include "collect/reclaim.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/arena.h"
#include "agent/sys.h"
#include "agent/thin.h"
#include "book/shadow.h"
#include "tap.h"

#define OFFSET 65536u
#define PAGES 4096u
#define ENTRIES (PAGES * 256u)
#define THREADS 3
#define HELD 200u
#define ROUNDS 60
#define ROUNDS_MOST 100000
#define NEVER 0xffffffffu

struct agent agent;
struct book agent_book;

void *arena_dense(size_t size)
{
        return calloc(1, size);
}

void arena_private_free(void *p, size_t size)
{
        (void)size;
        free(p);
}

bool arena_commit(enum ledger_part part, uint64_t bytes)
{
        (void)part;
        (void)bytes;
        return false;
}

void thin_check(void)
{
}

void thin_end(enum ledger_stop reason)
{
        (void)reason;
}

bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS])
{
        (void)number;
        (void)arguments;
        return true;
}

static struct view view;

static void begin(void)
{
        struct err e;
        int fd = memfd_create("ledger", MFD_ALLOW_SEALING);
        struct ledger_head *head;

        is_true(fd >= 0 && ftruncate(fd, OFFSET + PAGES * 4096u) == 0 &&
                fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
        head = mmap(NULL, OFFSET + PAGES * 4096u, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        head->magic = LEDGER_MAGIC;
        head->version = LEDGER_VERSION;
        head->part[LEDGER_SHADOW] = (struct ledger_extent){ OFFSET, PAGES * 4096u, PAGES * 4096u };
        agent.head = head;
        book_begin(&agent_book, head);
        agent.sandboxed = 0;
        is_true(view_open(&view, fd, &e));
}

static void end(void)
{
        munmap(agent.head, OFFSET + PAGES * 4096u);
        view_close(&view);
}

static uint64_t present_pages(void)
{
        struct stat st;

        return fstat(view.fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 / 4096 : 0;
}

static struct ledger_block *entry(uint32_t i)
{
        return (struct ledger_block *)(void *)agent_book.shadow + i;
}

static struct ledger_block block(uint32_t number)
{
        struct ledger_block b = shadow_block(0, 100, LEDGER_KIND_MALLOC, 7);

        b.a |= number;
        return b;
}

TEST(what_is_dead_goes_and_what_lives_stays)
{
        struct book_writer t = { 0 };

        begin();
        for (uint32_t i = 0; i < ENTRIES; i += 128) {
                shadow_put(&agent_book, &t, entry(i), block(i + 1));
                if (i % 4096 != 0)
                        shadow_bury(entry(i), 50);
        }
        is_equal(present_pages() >= PAGES, 1);
        is_equal(reclaim_work(&view, 50), 0); /* not dead long enough */
        is_equal(reclaim_work(&view, 51), (PAGES - PAGES / 16) * 4096ull);
        for (uint32_t i = 0; i < ENTRIES; i += 4096)
                is_true(entry(i)->a == block(i + 1).a && entry(i)->b == block(i + 1).b);
        is_equal(agent.head->reclaims & 1, 0);
        end();
}

/* A thread was in the middle of writing an entry while its page went, and goes on after everything
 * is over. */
TEST(a_thread_that_slept_through_it_writes_again)
{
        struct book_writer t = { 0 };
        struct ledger_block b = block(5);

        begin();
        entry(10)->a = b.a;
        is_equal(reclaim_work(&view, NEVER), 4096);
        entry(10)->b = b.b;
        is_true(agent.head->reclaims != t.reclaims);
        shadow_keep(&agent_book, &t, entry(10), b);
        is_true(entry(10)->a == b.a && entry(10)->b == b.b);
        is_true(agent.head->reclaims == t.reclaims);
        end();
}

/* The observer was killed in the worst moment: nobody waits for ever, and nothing is lost. */
TEST(an_observer_that_died_holds_nobody_up)
{
        struct book_writer t = { 0 };

        begin();
        agent.head->reclaim[3] = (struct ledger_reclaim){ 0, PAGES, LEDGER_RECLAIM_TAKEN };
        agent.head->reclaims = 1;
        shadow_put(&agent_book, &t, entry(10), block(5));
        is_equal(agent.head->reclaim[3].state, LEDGER_RECLAIM_GONE);
        agent.sandboxed = 1;
        agent.head->reclaim[3].state = LEDGER_RECLAIM_TAKEN;
        shadow_put(&agent_book, &t, entry(11), block(6));
        is_true(entry(10)->a == block(5).a && entry(11)->a == block(6).a);
        end();
}

/* Threads that sleep, then allocate all over the shadow, then look whether everything is there and
 * free it.  Each knows what it has. */
struct allocating {
        pthread_t id;
        struct book_writer writer;
        uint32_t first;
        volatile bool *over;
        uint64_t lost, events;
};

static void burst(struct allocating *w, uint32_t *dice)
{
        uint32_t held[HELD], number[HELD];

        for (uint32_t i = 0; i < HELD; i++) {
                *dice = *dice * 1103515245 + 12345;
                /* no place twice */
                held[i] = ((*dice >> 8) % (ENTRIES / THREADS / HELD) * HELD + i) * THREADS +
                          w->first;
                number[i] = (uint32_t)++w->events;
                shadow_put(&agent_book, &w->writer, entry(held[i]), block(number[i]));
        }
        for (uint32_t i = 0; i < HELD; i++) {
                const struct ledger_block *b = entry(held[i]);

                w->lost += b->a != block(number[i]).a || b->b != block(number[i]).b;
                shadow_bury(entry(held[i]), 8);
        }
}

static void *work(void *argument)
{
        struct allocating *w = argument;
        uint32_t dice = w->first * 7919 + 1;

        while (!*w->over) {
                burst(w, &dice);
                usleep(dice >> 8 & 0x7fff);
        }
        return NULL;
}

TEST(threads_lose_nothing_meanwhile)
{
        struct allocating workers[THREADS] = { 0 };
        volatile bool over = false;
        uint64_t bytes = 0;

        begin();
        for (uint32_t i = 0; i < THREADS; i++) {
                workers[i].first = i;
                workers[i].over = &over;
                is_equal(pthread_create(&workers[i].id, NULL, work, &workers[i]), 0);
        }
        for (int i = 0, good = 0; good < ROUNDS && i < ROUNDS_MOST; i++) {
                uint64_t more = reclaim_work(&view, NEVER);

                bytes += more;
                good += more > 0;
                sched_yield();
        }
        over = true;
        for (uint32_t i = 0; i < THREADS; i++) {
                pthread_join(workers[i].id, NULL);
                is_equal(workers[i].lost, 0);
                is_true(workers[i].events > 0);
        }
        is_true(bytes > 0);
        end();
}

static void live_in(uint32_t first_page, uint32_t end_page)
{
        struct book_writer t = { 0 };

        for (uint32_t i = first_page * 256; i < end_page * 256; i += 256)
                shadow_put(&agent_book, &t, entry(i), block(i + 1));
}

/* Whether a try begins at NOW_MS; it is over then. */
static bool tries(struct reclaim *r, uint64_t now_ms)
{
        reclaim_tick(r, &view, now_ms, PAGES * 4096u);
        if (!r->worker.pid)
                return false;
        worker_wait(&r->worker);
        reclaim_done(r, &view, now_ms);
        return true;
}

TEST(what_was_of_no_use_is_tried_seldom_until_there_is_more)
{
        struct reclaim r = { 0 };
        uint64_t now_ms = 20000, before;

        begin();
        live_in(0, PAGES / 2);
        is_true(tries(&r, now_ms));
        do {
                before = now_ms;
                while (!tries(&r, now_ms += 5000) && now_ms < 10000000)
                        ;
        } while (now_ms - before < 160000 && now_ms < 10000000);
        is_true(!tries(&r, now_ms += 5000));
        live_in(PAGES / 2, PAGES * 3 / 4);
        is_true(tries(&r, now_ms += 5000));
        is_true(tries(&r, now_ms += 5000)); /* what was freed just before is old enough only now */
        end();
}

/* What is of use is done at every look, also when the work itself takes a while. */
TEST(a_try_that_helped_is_followed_by_another)
{
        struct reclaim r = { 0 };
        struct book_writer t = { 0 };
        uint64_t now_ms = 20000;

        begin();
        live_in(0, PAGES / 2);
        for (uint32_t i = PAGES / 2 * 256; i < ENTRIES; i += 256) {
                shadow_put(&agent_book, &t, entry(i), block(i + 1));
                shadow_bury(entry(i), 50);
        }
        reclaim_tick(&r, &view, now_ms, 0);
        is_true(r.worker.pid != 0);
        worker_wait(&r.worker);
        reclaim_done(&r, &view, now_ms + 400);
        is_true(present_pages() < PAGES * 3 / 4);
        is_true(tries(&r, now_ms + 5000));
        end();
}

/* Memory behind the end of what the program has opened. */
TEST(what_was_made_and_nobody_came_to_is_given_back)
{
        struct book_writer t = { 0 };
        struct reclaim r = { 0 };

        begin();
        agent.head->part[LEDGER_SHADOW].committed = PAGES / 4 * 4096u;
        memset(agent_book.shadow, 0, PAGES * 4096u);
        for (uint32_t i = 0; i < ENTRIES / 4; i += 128)
                shadow_put(&agent_book, &t, entry(i), block(i + 1));
        is_true(present_pages() >= PAGES);
        is_true(tries(&r, 20000));
        is_true(present_pages() >= PAGES / 4 && present_pages() < PAGES / 2);
        for (uint32_t i = 0; i < ENTRIES / 4; i += 128)
                is_true(entry(i)->a == block(i + 1).a);
        end();
}

TAP_MAIN(what_is_dead_goes_and_what_lives_stays, a_thread_that_slept_through_it_writes_again,
         an_observer_that_died_holds_nobody_up, threads_lose_nothing_meanwhile,
         what_was_of_no_use_is_tried_seldom_until_there_is_more,
         a_try_that_helped_is_followed_by_another, what_was_made_and_nobody_came_to_is_given_back)
