/* SPDX-License-Identifier: MIT */
/*
 * thin.c -- a ledger that has little room left is written to more seldom (record --limit-ledger).
 *
 * Keeps:  a step is made by one thread, in no time: whoever comes meanwhile goes on.  Any thread
 *         looks whether one is due, so that no one waits for a thread that was held up.
 *
 * How much memory is behind the ledger is known to the kernel, and the observer asks it now and
 * then (head->look).  What came since is at most what was opened for writing since, and at most a
 * page for each event since (new stacks are few).  When a step would be due by that, the kernel is
 * asked by ourselves: threads open much and use little of it, and the observer may not have had the
 * time for its first look.
 */
#include "agent/thin.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/sample.h"
#include "agent/sandbox.h"
#include "agent/sys.h"
#include "book/shadow.h"
#include "ledger/weight.h"

#include "agent/guest.h"

#define FIRST_MEAN (512ull << 10)
#define EVENT_BYTES SYS_PAGE
#define LOAD(place) __atomic_load_n(place, __ATOMIC_RELAXED)
#define STORE(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)

static uint32_t thin_lock;

/* ---- where something was written ---- */

#define CHUNK_PAGES (LEDGER_SHADOW_CHUNK_BYTES / SYS_PAGE)
#define INFO_SWAP_ALL 8
#define INFO_SWAP_FREE 9

/* A bit for each page of the shadow that was written.  It is kept from the first step on, or with
 * sampling from the start, and asked when it is whole; until then the kernel is. */
static uint8_t *noted, *touched;
static struct arena_table memory;

/* Whether there is room for the bits of COUNT pages. */
static bool has_room(uint64_t count)
{
        return arena_table_open(&memory, (count + 7) / 8);
}

/* What is swapped out looks like what was never there. */
static bool is_swapping(void)
{
        unsigned long info[32] = { 0 }; /* struct sysinfo, and more */

        return sys_failed(sys_call3(SYS_sysinfo, (long)info, 0, 0)) ||
               info[INFO_SWAP_ALL] != info[INFO_SWAP_FREE];
}

static void note_chunk(uint8_t *map, uint64_t chunk)
{
        uint8_t resident[LEDGER_SHADOW_CHUNK_BYTES / SYS_PAGE_LEAST];
        uint64_t first = chunk * CHUNK_PAGES;
        bool known = !sys_failed(sys_call3(SYS_mincore,
                                           (long)(agent_book.shadow + first * SYS_PAGE),
                                           CHUNK_PAGES * SYS_PAGE, (long)resident));

        for (uint64_t i = 0; i < CHUNK_PAGES; i++)
                if (!known || (resident[i] & 1))
                        __atomic_or_fetch(&map[(first + i) / 8], (uint8_t)(1u << (first + i) % 8),
                                          __ATOMIC_RELAXED);
}

static void note_pages(void)
{
        uint32_t chunks = LOAD(&agent.head->shadow_chunk_count);

        if (!has_room(chunks * CHUNK_PAGES))
                STORE(&noted, NULL);
        for (uint32_t i = 0; noted && i < chunks; i++)
                note_chunk(noted, i);
        __atomic_store_n(&touched, noted, __ATOMIC_RELEASE);
}

static uint64_t page_of(const struct ledger_block *b)
{
        return (uint64_t)((const uint8_t *)b - agent_book.shadow) / SYS_PAGE;
}

static bool is_hole(const struct ledger_block *b)
{
        uint8_t resident = 1;

        sys_call3(SYS_mincore, (long)(agent_book.shadow + page_of(b) * SYS_PAGE), SYS_PAGE,
                  (long)&resident);
        return !(resident & 1);
}

bool thin_is_empty(struct thread *t, uint64_t address)
{
        const uint8_t *map = __atomic_load_n(&touched, __ATOMIC_ACQUIRE);
        const struct ledger_block *b = __atomic_load_n(&noted, __ATOMIC_ACQUIRE)
                                               ? shadow_at(&agent_book, &t->writer, address)
                                               : NULL;

        if (b && !map)
                return is_hole(b);
        if (b && page_of(b) / 8 >= LOAD(&memory.open))
                return true;
        return b &&
               !(__atomic_load_n(&map[page_of(b) / 8], __ATOMIC_RELAXED) >> page_of(b) % 8 & 1);
}

void thin_touch(const struct ledger_block *b)
{
        uint8_t *map = __atomic_load_n(&noted, __ATOMIC_ACQUIRE);

        if (map && !has_room(page_of(b) + 1))
                STORE(&noted, NULL); /* nothing is known to be empty any more */
        else if (map)
                __atomic_or_fetch(&map[page_of(b) / 8], (uint8_t)(1u << page_of(b) % 8),
                                  __ATOMIC_RELAXED);
}

/* ---- how large it is ---- */

static uint64_t opened_bytes(void)
{
        uint64_t sum = 0;

        for (int part = 0; part < LEDGER_PARTS; part++)
                sum += LOAD(&agent.head->part[part].committed);
        return sum;
}

/* Events that may have written to new places. */
static uint64_t event_count(void)
{
        uint32_t slots = LOAD(&agent.head->slot_count);
        uint64_t sum = 0;

        if (LOAD(&agent.head->thin_count))
                return LOAD(&agent.head->thin_events);
        for (uint32_t i = 0; i < slots; i++)
                sum += LOAD(&book_slot(&agent_book, i)->allocs);
        return sum;
}

/* An older number than the one that was looked at is no growth. */
static uint64_t growth(uint64_t now, uint64_t then)
{
        return now > then ? now - then : 0;
}

/* How large the ledger can be at most, by what was seen in LOOK. */
static uint64_t size_since(const struct ledger_look *look)
{
        uint64_t opened = growth(opened_bytes(), LOAD(&look->opened));
        bool same = LOAD(&agent.head->thin_count) == LOAD(&look->thin_count);
        uint64_t events = growth(event_count(), same ? LOAD(&look->events) : 0);

        return LOAD(&look->present) +
               (opened / EVENT_BYTES < events ? opened : events * EVENT_BYTES);
}

#define LOOK_PAGES 1024u
#define LOOK_NEAR 32u /* parts of the limit: so near to a step it is made */

/* What we saw last ourselves.  All 0: nothing was opened yet, and there was nothing. */
static struct ledger_look own;

/* Pages of the BYTES at AT that have memory. */
static uint64_t count_present(const uint8_t *at, uint64_t bytes, bool *good)
{
        uint8_t resident[LOOK_PAGES];
        uint64_t sum = 0;

        for (uint64_t done = 0; done < bytes && *good; done += sizeof resident * SYS_PAGE) {
                uint64_t pages = growth(bytes, done) / SYS_PAGE < LOOK_PAGES
                                         ? growth(bytes, done) / SYS_PAGE
                                         : LOOK_PAGES;

                *good = !sys_failed(sys_call3(SYS_mincore, (long)(at + done),
                                              (long)(pages * SYS_PAGE), (long)resident));
                for (uint64_t i = 0; *good && i < pages; i++)
                        sum += resident[i] & 1;
        }
        return sum;
}

/* False: the kernel cannot be asked. */
static bool look(struct ledger_look *now)
{
        bool good = !agent.sandboxed && !is_swapping();

        *now = (struct ledger_look){ .thin_count = LOAD(&agent.head->thin_count),
                                     .events = event_count(), .opened = opened_bytes() };
        for (int part = 0; part < LEDGER_PARTS && good; part++)
                now->present += SYS_PAGE * count_present(arena_at(part),
                                                         LOAD(&agent.head->part[part].committed),
                                                         &good);
        return good;
}

/* ---- steps ---- */

/* A quarter of the rest for each step, so that there is always one more. */
static void set_next(uint64_t size)
{
        STORE(&agent.head->thin_at, size + growth(agent.ledger_limit, size) / 4);
}

/* Who finds the flag set and no step yet records exactly.  The step begins when the clock has gone
 * on, so that its blocks are told from those. */
static void begin_step(uint32_t number)
{
        struct ledger_thin *step = &agent.head->thin[number];
        uint64_t mean = number         ? agent.head->thin[number - 1].mean
                        : agent.sample ? agent.sample
                                       : FIRST_MEAN / 2;

        __atomic_or_fetch(&agent.special, SPECIAL_SAMPLE, __ATOMIC_SEQ_CST);
        step->mean = mean * 2 < WEIGHT_MEAN_MAX ? mean * 2 : WEIGHT_MEAN_MAX;
        step->from_ms = agent_now_ms() + 1;
        if (number && step->from_ms <= step[-1].from_ms)
                step->from_ms = step[-1].from_ms + 1;
        __atomic_store_n(&agent.head->thin_count, number + 1, __ATOMIC_SEQ_CST);
        if (!number && !agent.sample)
                note_pages(); /* which takes a while, and others go on */
}

/* The observer has looked since the last time.  Where we cannot look ourselves there is one step
 * for each look of its. */
static bool has_news(void)
{
        static uint64_t seen_opened, seen_events;
        const struct ledger_look *theirs = &agent.head->look;

        if (LOAD(&agent.head->thin_count) && LOAD(&theirs->opened) == seen_opened &&
            LOAD(&theirs->events) == seen_events)
                return false;
        seen_opened = LOAD(&theirs->opened);
        seen_events = LOAD(&theirs->events);
        return true;
}

/* Another thread may have made the step meanwhile. */
static bool may_be_due(uint64_t size)
{
        uint64_t at = LOAD(&agent.head->thin_at);

        return at && size >= at && !LOAD(&agent.head->thin_full) && size_since(&own) >= at;
}

/* PRESENT is what is known to be there, SIZE what there may be. */
static void step(uint64_t size, uint64_t present)
{
        uint32_t count = LOAD(&agent.head->thin_count);

        if (count && (present >= agent.ledger_limit || count == LEDGER_THINS))
                STORE(&agent.head->thin_full, 1);
        else
                begin_step(count);
        set_next(size);
}

/* By a look of our own, or, where that cannot be, by SIZE, which is a bound from above. */
static void step_if_due(uint64_t size, const struct ledger_look *now, bool looked)
{
        uint32_t count = LOAD(&agent.head->thin_count);

        if (!looked) {
                if (may_be_due(size) && has_news())
                        step(size, LOAD(&agent.head->look.present));
                return;
        }
        own = *now;
        if (now->thin_count == count && !LOAD(&agent.head->thin_full) &&
            now->present + agent.ledger_limit / LOOK_NEAR >= LOAD(&agent.head->thin_at))
                step(now->present, now->present);
}

static bool take_lock(void)
{
        return !__atomic_exchange_n(&thin_lock, 1, __ATOMIC_ACQUIRE);
}

static void give_lock(void)
{
        __atomic_store_n(&thin_lock, 0, __ATOMIC_RELEASE);
}

void thin_start(void)
{
        agent.head->ledger_limit = agent.ledger_limit;
        agent.head->thin_at = agent.ledger_limit - agent.ledger_limit / 4;
        if (!agent.ledger_limit && !agent.sample)
                return;
        noted = arena_table(&memory, agent.head->part[LEDGER_SHADOW].size / SYS_PAGE / 8);
        if (agent.sample)
                touched = noted;
        else
                /* All that is recorded may be released. */
                memset(sample_filter, SAMPLE_FILTER_FULL, sizeof sample_filter);
}

void thin_check(void)
{
        uint64_t size = agent.ledger_limit ? size_since(&agent.head->look) : 0;
        struct ledger_look now;
        bool wanted, looked;

        if (size < LOAD(&agent.head->thin_at) || !size)
                return;
        if (!LOAD(&agent.head->thin_count) && (agent.sandboxed || is_swapping()))
                STORE(&noted, NULL);
        if (!take_lock())
                return;
        wanted = may_be_due(size);
        give_lock();
        /* Looking takes a while, and a thread may be held up in it: no other waits for it. */
        looked = wanted && look(&now);
        if (!wanted || !take_lock())
                return;
        step_if_due(size, &now, looked);
        give_lock();
}

void thin_end(enum ledger_stop reason)
{
        uint32_t none = LEDGER_STOP_NOT;

        if (sandbox_refused_memory())
                reason = LEDGER_STOP_SANDBOX;
        __atomic_compare_exchange_n(&agent.head->stop_reason, &none, reason, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        STORE(&agent.head->thin_full, 1);
        if (!take_lock())
                return; /* whoever has it makes the step, or one is made already */
        if (!LOAD(&agent.head->thin_count)) {
                if (!agent.sample && !agent.ledger_limit)
                        memset(sample_filter, SAMPLE_FILTER_FULL, sizeof sample_filter);
                begin_step(0);
                /* Nothing is recorded, but all of it counted. */
                STORE(&agent.head->thin[0].mean, 1);
        }
        give_lock();
}

void thin_forked(void)
{
        thin_lock = 0;
        own = (struct ledger_look){ 0 };
        if (agent.head->thin_count && !touched)
                noted = NULL; /* who made it is not here */
}

struct thin_stage thin_now(void)
{
        uint32_t number = __atomic_load_n(&agent.head->thin_count, __ATOMIC_ACQUIRE);
        const struct ledger_thin *now = &agent.head->thin[number - 1];

        if (!number || number > LEDGER_THINS)
                return (struct thin_stage){ agent.sample, 0, 0 };
        return (struct thin_stage){ now->mean, now->from_ms, number };
}

uint32_t thin_birth(const struct thin_stage *stage)
{
        uint32_t now = agent_now_ms(), end;

        if (!stage->number)
                return now;
        if (__atomic_load_n(&agent.head->thin_count, __ATOMIC_ACQUIRE) > stage->number &&
            stage->number < LEDGER_THINS) {
                end = agent.head->thin[stage->number].from_ms;
                now = now < end ? now : end - 1;
        }
        return now > stage->from_ms ? now : stage->from_ms;
}

uint64_t thin_mean(uint32_t birth_ms)
{
        uint32_t number = LOAD(&agent.head->thin_count);

        number = number < LEDGER_THINS ? number : LEDGER_THINS;
        while (number > 1 && agent.head->thin[number - 1].from_ms > birth_ms)
                number--;
        return number ? agent.head->thin[number - 1].mean : agent.sample;
}
