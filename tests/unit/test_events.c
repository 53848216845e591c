/* SPDX-License-Identifier: MIT */
/*
 * test_events.c -- events come back as they went in, in few bytes; damaged batches are noticed or
 * harmless.
 */
#include "profile/events.h"

#include <stdlib.h>

#include "base/heap.h"
#include "sample.h"
#include "tap.h"

#define HEAP 0x555500000000ull

/* ---- traces ---- */

struct trace {
        struct ledger_event *event;
        size_t count, room;
        uint64_t random, top;
        uint64_t freed[64][64]; /* by size / 16: last in, first out, as the C library does it */
        unsigned freed_count[64];
        uint32_t ms;
};

static struct ledger_event *add(struct trace *t, uint8_t type, uint16_t thread)
{
        struct ledger_event *e;

        if (t->count == t->room) {
                t->room = t->room ? 2 * t->room : 1024;
                t->event = heap_grow(t->event, t->room, sizeof *t->event);
        }
        t->ms += sample_random(&t->random) % 1000 == 0;
        e = &t->event[t->count++];
        *e = (struct ledger_event){
                .stamp = (uint32_t)t->count, .type = type, .thread = thread, .ms = t->ms
        };
        return e;
}

static uint64_t take_address(struct trace *t, uint64_t size)
{
        unsigned class = (unsigned)((size + 23) / 16 % 64);
        uint64_t at = t->top + HEAP;

        if (t->freed_count[class])
                return t->freed[class][--t->freed_count[class]];
        t->top += (size + 23) / 16 * 16;
        return at;
}

static void give_address(struct trace *t, uint64_t size, uint64_t address)
{
        unsigned class = (unsigned)((size + 23) / 16 % 64);

        if (t->freed_count[class] < 64)
                t->freed[class][t->freed_count[class]++] = address;
}

struct block {
        uint64_t address, size;
};

static struct block trace_alloc(struct trace *t, uint16_t thread, uint32_t site, uint64_t size)
{
        struct block b = { take_address(t, size), size };
        struct ledger_event *e = add(t, LEDGER_EVENT_ALLOC, thread);

        e->kind = LEDGER_KIND_MALLOC;
        e->site = site;
        e->address = b.address;
        e->size = size;
        return b;
}

static void trace_free(struct trace *t, uint16_t thread, struct block b, uint64_t caller)
{
        struct ledger_event *e = add(t, LEDGER_EVENT_FREE, thread);

        e->kind = LEDGER_KIND_MALLOC;
        e->address = b.address;
        e->size = caller;
        give_address(t, b.size, b.address);
}

static struct block trace_realloc(struct trace *t, uint16_t thread, uint32_t site, struct block old,
                                  uint64_t size)
{
        struct ledger_event *e = add(t, LEDGER_EVENT_TAKE, thread);
        struct block new = { old.address, size };

        e->kind = LEDGER_KIND_MALLOC;
        e->address = old.address;
        e->size = 0x401234;
        if (size / 64 != old.size / 64)
                new.address = take_address(t, size);
        e = add(t, LEDGER_EVENT_MOVE, thread);
        e->kind = LEDGER_KIND_MALLOC;
        e->site = site;
        e->address = new.address;
        e->size = size;
        if (new.address != old.address)
                give_address(t, old.size, old.address);
        return new;
}

static void trace_free_all(struct trace *t, struct block *b, int count)
{
        for (int i = 0; i < count; i++)
                trace_free(t, 1, b[i], 0x402000);
}

/* ---- through the codec ---- */

/* The batches of T, one str each; the last is the last of a log. */
static struct str *encode(const struct trace *t, uint32_t batch, size_t *count)
{
        struct events_encoder *c = events_encoder_new();
        struct str *out = heap_zero(t->count / batch + 2, sizeof *out);

        *count = 0;
        for (size_t i = 0; i < t->count;) {
                uint32_t n = t->count - i < batch ? (uint32_t)(t->count - i) : batch;

                events_encode(c, t->event + i, n);
                is_equal(events_waiting(c), n);
                events_batch(c, &out[(*count)++]);
                i += n;
        }
        events_last_batch(t->count, EVENTS_END_DONE, &out[(*count)++]);
        events_encoder_free(c);
        return out;
}

static void free_batches(struct str *batches, size_t count)
{
        for (size_t i = 0; i < count; i++)
                str_free(&batches[i]);
        free(batches);
}

/* How many events come back unchanged. */
static size_t decode(const struct trace *t, const struct str *batches, size_t count)
{
        struct events_decoder *d = events_decoder_new();
        struct ledger_event e;
        size_t same = 0;

        for (size_t i = 0; i < count; i++) {
                if (!is_true(events_take(d, (const uint8_t *)batches[i].data, batches[i].length)))
                        break;
                while (events_next(d, &e) && same < t->count &&
                       !memcmp(&e, &t->event[same], sizeof e))
                        same++;
                is_true(!events_damaged(d));
        }
        is_equal(events_count(d), t->count);
        is_equal(events_ended(d), EVENTS_END_DONE);
        events_decoder_free(d);
        return same;
}

/* Bytes an event, times 100. */
static unsigned round_trip(struct trace *t, uint32_t batch)
{
        size_t count, bytes = 0;
        struct str *batches = encode(t, batch, &count);

        for (size_t i = 0; i < count; i++)
                bytes += batches[i].length;
        is_equal(decode(t, batches, count), t->count);
        free_batches(batches, count);
        bytes = bytes * 100 / (t->count ? t->count : 1);
        free(t->event);
        return (unsigned)bytes;
}

TEST(a_log_without_events_has_an_end)
{
        struct trace t = { .random = 1 };

        round_trip(&t, EVENTS_BATCH);
}

TEST(last_in_first_out_takes_almost_nothing)
{
        struct trace t = { .random = 2 };
        struct block b[100];

        for (int round = 0; round < 1000; round++) {
                for (int i = 0; i < 100; i++)
                        b[i] = trace_alloc(&t, 1, 1 + (uint32_t)i % 7, 16 + (uint64_t)(i % 7) * 24);
                for (int i = 100; i-- > 0;)
                        trace_free(&t, 1, b[i], 0x401000 + (uint64_t)(i % 7));
        }
        is_true(round_trip(&t, EVENTS_BATCH) <= 20);
}

TEST(first_in_first_out_takes_almost_nothing)
{
        struct trace t = { .random = 3 };
        struct block b[100];

        for (int i = 0; i < 100; i++)
                b[i] = trace_alloc(&t, 1, 1, 40);
        for (int i = 0; i < 100000; i++) {
                trace_free(&t, 1, b[i % 100], 0x401000);
                b[i % 100] = trace_alloc(&t, 1, 1 + (uint32_t)i % 3, 40);
        }
        trace_free_all(&t, b, 100);
        is_true(round_trip(&t, EVENTS_BATCH) <= 20);
}

TEST(random_work_takes_at_most_six_bytes)
{
        struct trace t = { .random = 4 };
        struct block b[4096];
        bool used[4096] = { false };

        for (int i = 0; i < 300000; i++) {
                unsigned k = (unsigned)(sample_random(&t.random) % 4096);

                if (used[k])
                        trace_free(&t, 1, b[k], 0x401000 + sample_random(&t.random) % 16 * 5);
                else
                        b[k] = trace_alloc(&t, 1, 1 + (uint32_t)(sample_random(&t.random) % 16),
                                           sample_random(&t.random) % 900);
                used[k] = !used[k];
        }
        is_true(round_trip(&t, EVENTS_BATCH) <= 600);
}

TEST(chains_of_realloc_in_place_and_elsewhere)
{
        struct trace t = { .random = 5 };

        for (int i = 0; i < 2000; i++) {
                struct block b = trace_alloc(&t, 1, 1, 8);

                for (uint64_t size = 16; size < 900; size += 16 + sample_random(&t.random) % 40)
                        b = trace_realloc(&t, 1, 2, b, size);
                if (i % 3 == 0) { /* one that fails */
                        add(&t, LEDGER_EVENT_TAKE, 1)->address = b.address;
                        add(&t, LEDGER_EVENT_PUT_BACK, 1);
                }
                if (i % 5 == 0) { /* one to 0 bytes */
                        add(&t, LEDGER_EVENT_TAKE, 1)->address = b.address;
                        continue;
                }
                trace_free(&t, 1, b, 0x401000);
        }
        is_true(round_trip(&t, EVENTS_BATCH) <= 300);
}

TEST(eight_threads_at_once_and_more_than_there_are_lanes)
{
        struct trace t = { .random = 6 };
        struct block b[512];
        bool used[512] = { false };

        for (int i = 0; i < 200000; i++) {
                unsigned k = (unsigned)(sample_random(&t.random) % 512);
                uint16_t thread = (uint16_t)(i < 100000 ? 1 + (unsigned)i % 8
                                                        : sample_random(&t.random) % 65536);

                if (used[k] && i % 11 == 0)
                        b[k] = trace_realloc(&t, thread, 9, b[k], sample_random(&t.random) % 300);
                else if (used[k])
                        trace_free(&t, thread, b[k], 0x401000);
                else
                        b[k] = trace_alloc(&t, thread, 1 + thread % 8u, 16 + thread % 8u * 16);
                used[k] = !used[k] || i % 11 == 0;
        }
        round_trip(&t, EVENTS_BATCH);
}

TEST(addresses_that_come_again_without_having_been_freed)
{
        struct trace t = { .random = 7 };

        for (int i = 0; i < 20000; i++) {
                struct ledger_event *e = add(&t, LEDGER_EVENT_ALLOC, 1);

                e->kind = LEDGER_KIND_MALLOC;
                e->site = 1;
                e->size = 32;
                e->address = HEAP + sample_random(&t.random) % 64 * 48;
                if (i % 3 == 0) { /* freed, known or not */
                        e = add(&t, LEDGER_EVENT_FREE, 1);
                        e->address = HEAP + sample_random(&t.random) % 128 * 48;
                        e->kind = LEDGER_KIND_MALLOC;
                }
        }
        round_trip(&t, EVENTS_BATCH);
}

TEST(a_pool_s_block_may_begin_where_its_arena_begins)
{
        struct trace t = { .random = 8 };

        for (int i = 0; i < 1000; i++) {
                struct block arena = trace_alloc(&t, 1, 1, 800);
                struct ledger_event *e = add(&t, LEDGER_EVENT_ALLOC, 1);

                e->kind = LEDGER_KIND_POOL;
                e->site = 2;
                e->address = arena.address;
                e->size = 80;
                if (i % 2) {
                        e = add(&t, LEDGER_EVENT_FREE, 1);
                        e->kind = LEDGER_KIND_POOL;
                        e->address = arena.address;
                }
                trace_free(&t, 1, arena, 0x401000);
        }
        round_trip(&t, EVENTS_BATCH);
}

#define PEAK_SITES 10u

/* By hand: what each site has, and a copy of it at the first moment with the most. */
struct peak_model {
        int64_t live[PEAK_SITES], blocks[PEAK_SITES], then[PEAK_SITES], blocks_then[PEAK_SITES],
                bytes, most;
        uint32_t ms;
};

static void model_change(struct peak_model *m, const struct trace *t, uint32_t site, int64_t bytes,
                         int64_t blocks)
{
        m->live[site] += bytes;
        m->blocks[site] += blocks;
        m->bytes += bytes;
        if (m->bytes <= m->most)
                return;
        m->most = m->bytes;
        m->ms = t->ms;
        memcpy(m->then, m->live, sizeof m->then);
        memcpy(m->blocks_then, m->blocks, sizeof m->blocks_then);
}

/* Random work by four threads: allocations, releases, reallocs that move, that fail, and parts that
 * pools take. */
static void random_work(struct trace *t, struct peak_model *m, int steps)
{
        struct block b[200] = { { 0, 0 } };
        uint32_t site[200] = { 0 };

        for (int i = 0; i < steps; i++) {
                unsigned k = (unsigned)(sample_random(&t->random) % 200),
                         what = (unsigned)(sample_random(&t->random) % 8);
                uint16_t thread = (uint16_t)(1 + sample_random(&t->random) % 4);

                if (!b[k].address || what == 0) {
                        if (b[k].address)
                                continue;
                        site[k] = 1 + (uint32_t)(sample_random(&t->random) % (PEAK_SITES - 1));
                        b[k] = trace_alloc(t, thread, site[k], sample_random(&t->random) % 500);
                        model_change(m, t, site[k], (int64_t)b[k].size, 1);
                } else if (what == 1) {
                        struct ledger_event *e = add(t, LEDGER_EVENT_TAKE, thread);

                        e->kind = LEDGER_KIND_MALLOC;
                        e->address = b[k].address;
                        add(t, LEDGER_EVENT_PUT_BACK, thread);
                } else if (what == 2) {
                        int64_t more = (int64_t)(sample_random(&t->random) % 500);

                        model_change(m, t, site[k], -(int64_t)b[k].size, -1);
                        b[k] = trace_realloc(t, thread, site[k], b[k], (uint64_t)more);
                        model_change(m, t, site[k], more, 1);
                } else if (what == 3) {
                        struct ledger_event *e = add(t, LEDGER_EVENT_CARVE, thread);

                        e->site = site[k];
                        e->size = (uint64_t)(i % 2 ? 8 : -8);
                        model_change(m, t, site[k], i % 2 ? -8 : 8, 0);
                } else {
                        trace_free(t, thread, b[k], 0x401000);
                        model_change(m, t, site[k], -(int64_t)b[k].size, -1);
                        b[k].address = 0;
                }
        }
}

TEST(the_encoder_knows_the_peak_and_what_it_was_made_of)
{
        for (uint64_t seed = 1; seed <= 20; seed++) {
                struct trace t = { .random = seed };
                struct peak_model m = { .most = 0 };
                struct events_encoder *c = events_encoder_new();
                const struct feed *f = events_sums(c);

                random_work(&t, &m, 200 * (int)seed);
                events_encode(c, t.event, (uint32_t)t.count);
                is_equal(f->book.head->peak_bytes, m.most);
                is_equal(f->book.head->peak_tick_ms, m.ms);
                is_equal(feed_live_bytes(f), m.bytes);
                for (uint32_t i = 1; i < PEAK_SITES; i++) {
                        uint64_t bytes = 0, blocks = 0;

                        peak_of(f->book.head, feed_site(f, i), &bytes, &blocks);
                        is_equal(bytes, m.then[i]);
                        is_equal(blocks, m.blocks_then[i]);
                }
                is_equal(feed_site(f, 1u << 20)->allocs, 0);
                events_encoder_free(c);
                free(t.event);
        }
}

TEST(any_values_in_any_field_come_back)
{
        struct trace t = { .random = 9 };

        for (int i = 0; i < 100000; i++) {
                uint64_t r = sample_random(&t.random);
                unsigned shift = (unsigned)(r % 64);
                struct ledger_event *e = add(&t, (uint8_t)(i % 5 ? r >> 8 & 7 : r >> 8),
                                             (uint16_t)(r >> 16));

                e->kind = (uint8_t)(r >> 32);
                e->ms = (uint32_t)(r >> 20);
                e->site = (uint32_t)(sample_random(&t.random) >> shift);
                e->address = sample_random(&t.random) >> shift;
                e->size = sample_random(&t.random) >> (63 - shift);
                if (i % 4 == 0 && i > 10) /* some that are alive */
                        e->address = t.event[t.count - 2 - r % 8].address;
        }
        round_trip(&t, EVENTS_BATCH);
}

TEST(batches_of_one_event_and_of_odd_numbers)
{
        for (uint32_t batch = 1; batch < 3000; batch = batch * 7 + 1) {
                struct trace t = { .random = batch };
                struct block b[50];

                for (int round = 0; round < 20; round++) {
                        for (int i = 0; i < 50; i++)
                                b[i] = trace_alloc(&t, 1, 1, 16);
                        trace_free_all(&t, b, 50);
                }
                round_trip(&t, batch);
        }
}

TEST(live_blocks_without_end_do_not_lose_their_names)
{
        struct trace t = { .random = 10 };
        size_t live = 0, room = 100000;
        struct block *b = heap_zero(room, sizeof *b);

        for (int i = 0; i < 150000; i++) {
                if (i % 4 == 3) { /* now and then an old one */
                        size_t k = sample_random(&t.random) % live;

                        trace_free(&t, 1, b[k], 0x401000);
                        b[k] = b[--live];
                } else if (live < room) {
                        b[live++] = trace_alloc(&t, 1, 1 + (uint32_t)i % 5, 24);
                }
        }
        round_trip(&t, EVENTS_BATCH);
        free(b);
}

/* ---- damage ---- */

static void decode_damaged(const struct str *batches, size_t count, size_t which,
                           const struct str *instead)
{
        struct events_decoder *d = events_decoder_new();
        struct ledger_event e;
        uint64_t events = 0;

        for (size_t i = 0; i < count; i++) {
                const struct str *s = i == which ? instead : &batches[i];

                if (!events_take(d, (const uint8_t *)str_get(s), s->length))
                        break;
                while (events_next(d, &e))
                        events++;
                if (events_damaged(d))
                        break;
        }
        is_true(events <= events_count(d));
        events_decoder_free(d);
}

TEST(damaged_batches_never_do_harm)
{
        struct trace t = { .random = 11 };
        struct block b[64] = { { 0 } };
        struct str *batches, damaged = { 0 };
        size_t count;

        for (int i = 0; i < 3000; i++) {
                b[i % 64] = trace_alloc(&t, (uint16_t)(i % 3), 1 + (uint32_t)i % 9,
                                        sample_random(&t.random) % 400);
                if (i % 3 == 0)
                        b[i % 64] = trace_realloc(&t, 1, 7, b[i % 64], 64);
                if (i % 5)
                        trace_free(&t, 1, b[i % 64], sample_random(&t.random) % 8);
        }
        batches = encode(&t, 1000, &count);
        for (int i = 0; i < 4000; i++) {
                size_t which = sample_random(&t.random) % count,
                       at = sample_random(&t.random) % batches[which].length;

                str_clear(&damaged);
                str_bytes(&damaged, batches[which].data, i % 7 ? batches[which].length : at);
                if (i % 7)
                        damaged.data[at] ^= (char)(1u << (i % 8));
                decode_damaged(batches, count, which, &damaged);
        }
        str_free(&damaged);
        free_batches(batches, count);
        free(t.event);
}

TEST(a_batch_that_is_not_the_next_one_is_refused)
{
        struct trace t = { .random = 12 };
        struct events_decoder *d = events_decoder_new();
        struct ledger_event e;
        struct str *batches;
        size_t count;

        for (int i = 0; i < 30; i++)
                trace_alloc(&t, 1, 1, 16);
        batches = encode(&t, 10, &count);
        is_equal(count, 4);
        is_true(events_take(d, (const uint8_t *)batches[0].data, batches[0].length));
        while (events_next(d, &e))
                continue;
        is_true(!events_take(d, (const uint8_t *)batches[2].data, batches[2].length));
        is_true(events_damaged(d) && !events_next(d, &e));
        events_decoder_free(d);
        free_batches(batches, count);
        free(t.event);
}

TEST(each_end_has_its_words)
{
        for (int end = 0; end < EVENTS_END_COUNT; end++)
                is_true(events_end_text((enum events_end)end)[0]);
        is_text(events_end_text(EVENTS_END_FULL), "--max-file was reached");
}

TAP_MAIN(a_log_without_events_has_an_end, last_in_first_out_takes_almost_nothing,
         first_in_first_out_takes_almost_nothing, random_work_takes_at_most_six_bytes,
         chains_of_realloc_in_place_and_elsewhere,
         eight_threads_at_once_and_more_than_there_are_lanes,
         addresses_that_come_again_without_having_been_freed,
         a_pool_s_block_may_begin_where_its_arena_begins,
         the_encoder_knows_the_peak_and_what_it_was_made_of, any_values_in_any_field_come_back,
         batches_of_one_event_and_of_odd_numbers, live_blocks_without_end_do_not_lose_their_names,
         damaged_batches_never_do_harm, a_batch_that_is_not_the_next_one_is_refused,
         each_end_has_its_words)
