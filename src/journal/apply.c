/* SPDX-License-Identifier: MIT */
/*
 * apply.c -- events of a program on another machine, put into the book.
 *
 * Keeps:  the same order as in the agent (agent/record.h), so that the same events come to the same
 *         sums; what realloc has in hand goes when it has ended.
 */
#include "journal/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "book/count.h"
#include "book/era.h"
#include "book/error.h"
#include "book/shadow.h"
#include "book/tree.h"
#include "collect/marks.h"

#define CHUNKS_MAX 4096u /* of the shadow: 16 GiB of addresses */

bool apply_start(struct incoming *in)
{
        struct book *k = &in->book;

        k->spread = 1; /* whatever allocator there is */
        k->head->pid = 1;
        k->head->page_bytes = 4096;
        return book_commit(k, LEDGER_STRINGS, 1) &&
               book_commit(k, LEDGER_THREADS, sizeof(struct ledger_thread)) && shadow_start(k) &&
               tree_start(k) && error_prepare(k);
}

void apply_end(struct incoming *in)
{
        shadow_end(&in->book);
        tree_end(&in->book);
}

/* ---- threads ---- */

static uint32_t slots_most(const struct incoming *in)
{
        return (uint32_t)(in->book.head->part[LEDGER_SLOTS].size / sizeof(struct ledger_slot));
}

static struct ledger_thread *thread_row(struct incoming *in, uint32_t number)
{
        struct ledger_head *h = in->book.head;

        if (!book_commit(&in->book, LEDGER_THREADS, (number + 1ull) * sizeof(struct ledger_thread)))
                return NULL;
        if (number >= h->thread_count)
                h->thread_count = number + 1;
        return (struct ledger_thread *)book_part(&in->book, LEDGER_THREADS) + number;
}

/* The thread that had SLOT has ended. */
static void leave_slot(struct incoming *in, struct ledger_slot *slot)
{
        struct ledger_thread *r = slot->used ? thread_row(in, slot->thread) : NULL;

        if (r && slot->thread) {
                r->end_ms = book_now_ms(&in->book) | 1;
                r->last_allocs = slot->allocs;
                r->last_alloc_bytes = slot->alloc_bytes;
        }
        if (slot->used && slot->thread < in->thread_count)
                in->threads[slot->thread].known = false;
        slot->used = 0;
}

/* Thread NUMBER begins with the slot INDEX. */
static void begin(struct incoming *in, uint32_t number, uint32_t index, uint32_t tid)
{
        struct incoming_thread *t = &in->threads[number];
        struct ledger_head *h = in->book.head;
        struct ledger_slot *slot;
        struct ledger_thread *r = thread_row(in, number);

        index = index < slots_most(in) ? index : 0;
        book_commit(&in->book, LEDGER_SLOTS, (index + 1ull) * sizeof *slot);
        slot = book_slot(&in->book, index);
        leave_slot(in, slot);
        if (index >= h->slot_count)
                h->slot_count = index + 1;
        slot->used = 1;
        slot->tid = tid;
        slot->thread = number;
        *t = (struct incoming_thread){ .known = true,
                                       .writer = { .slot = slot, .index = index, .record = number,
                                                   .span = UINT64_MAX } };
        if (r && number)
                *r = (struct ledger_thread){ .tid = tid, .slot = index,
                                             .start_ms = book_now_ms(&in->book),
                                             .base_allocs = slot->allocs,
                                             .base_alloc_bytes = slot->alloc_bytes };
        peak_thread_joined(&in->book);
}

static struct incoming_thread *thread_entry(struct incoming *in, uint32_t number)
{
        if (number >= in->thread_count) {
                in->threads = heap_grow(in->threads, number + 1, sizeof *in->threads);
                memset(in->threads + in->thread_count, 0,
                       (number + 1 - in->thread_count) * sizeof *in->threads);
                in->thread_count = number + 1;
        }
        return &in->threads[number];
}

struct incoming_thread *apply_thread(struct incoming *in, uint32_t number)
{
        struct incoming_thread *t = thread_entry(in, number);
        uint32_t most = slots_most(in), index = 0;

        if (t->known)
                return t;
        /* How it began is lost. */
        while (index < in->book.head->slot_count && index + 1 < most &&
               book_slot(&in->book, index)->used)
                index++;
        begin(in, number, index, 0);
        return t;
}

static void name(struct incoming *in, const struct ledger_event *e)
{
        struct ledger_thread *r = e->thread ? thread_row(in, e->thread) : NULL;

        for (uint32_t i = 0; r && i < sizeof r->name; i++) {
                uint64_t word = i < 8 ? e->address : e->size;
                uint32_t at = in->byte_order == 2 ? 7 - i % 8 : i % 8;

                r->name[i] = (char)(word >> 8 * at);
        }
}

/* ---- time ---- */

void apply_time(struct incoming *in, uint32_t ms)
{
        struct ledger_head *h = in->book.head;
        struct err e;

        if (ms <= h->tick_ms)
                return;
        /* Before all is told, times are those of what was. */
        if (!in->again && slices_due(&in->slices, ms) && view_refresh(&in->view, &e))
                slices_cut(&in->slices, &in->view, ms, 0, false);
        h->tick_ms = ms;
}

void apply_mark(struct incoming *in, const struct ledger_mark *m)
{
        uint32_t index = era_mark(&in->book, m, m->ms);
        struct profile_mark mark;
        struct err e;

        if (index == ERA_NO_MARK || !view_refresh(&in->view, &e) ||
            !marks_read(&in->view, index, &mark))
                return;
        if (mark.type == LEDGER_MARK_SNAPSHOT)
                mark.seq = ++in->seq;
        if (in->again) {
                in->marks = heap_grow(in->marks, in->mark_count + 1, sizeof *in->marks);
                in->marks[in->mark_count++] = mark;
                return;
        }
        slices_mark(&in->slices, &in->view, mark.ms, 0, &mark, 1);
}

/* ---- a process that ran before ---- */

/* What is counted for SITE in a slot; NULL nothing was ever. */
static struct ledger_counter *counter_in(struct incoming *in, uint32_t slot, uint32_t site)
{
        uint32_t chunk = book_slot(&in->book, slot)->chunk[site / LEDGER_COUNTERS_PER_CHUNK];

        return chunk ? (struct ledger_counter *)(in->book.counters +
                                                 (chunk - 1ull) * LEDGER_COUNTER_CHUNK_BYTES) +
                               site % LEDGER_COUNTERS_PER_CHUNK
                     : NULL;
}

/* All counters are saved for a maximum at which they had nothing. */
static void clear_peak(struct incoming *in)
{
        struct ledger_head *h = in->book.head;

        h->at_peak = 0;
        h->epoch++;
        for (uint32_t i = 0; i < h->slot_count; i++)
                for (uint32_t site = 0; site < h->site_count; site++) {
                        struct ledger_counter *c = counter_in(in, i, site);

                        if (!c)
                                continue;
                        c->peak_bytes = c->peak_blocks = 0;
                        c->epoch = h->epoch;
                }
}

/* One of SITE that has counted something: others are left out of what is collected. */
static struct ledger_counter *used_counter(struct incoming *in, uint32_t site)
{
        struct ledger_head *h = in->book.head;

        for (uint32_t i = 0; i < h->slot_count && site < h->site_count; i++) {
                struct ledger_counter *c = counter_in(in, i, site);

                if (c && c->allocs)
                        return c;
        }
        return NULL;
}

/* The maximum that was told holds, unless there is more now. */
static void take_peak(struct incoming *in)
{
        struct ledger_head *h = in->book.head;
        uint64_t live = 0;

        for (uint32_t i = 0; i < h->slot_count; i++)
                live += book_slot(&in->book, i)->alloc_bytes - book_slot(&in->book, i)->free_bytes;
        if (in->peak.bytes < live || !in->peak.bytes)
                return;
        clear_peak(in);
        for (uint32_t i = 0; i < in->part_count; i++) {
                struct ledger_counter *c = used_counter(in, in->parts[i].site);

                if (!c)
                        continue;
                c->peak_bytes = (int64_t)in->parts[i].bytes;
                c->peak_blocks = (int32_t)in->parts[i].blocks;
                c->epoch = h->epoch;
        }
        h->peak_bytes = in->peak.bytes;
        h->peak_tick_ms = (uint32_t)in->peak.ms;
        h->peak_error_bytes = in->peak.error_bytes;
}

void apply_current(struct incoming *in)
{
        uint32_t now = book_now_ms(&in->book);
        struct err e;

        in->again = false;
        if (in->peak_told)
                take_peak(in);
        if (view_refresh(&in->view, &e))
                slices_mark(&in->slices, &in->view, now, 0, in->marks, in->mark_count);
        free(in->marks);
        in->marks = NULL;
        in->mark_count = 0;
}

void apply_ignore(struct incoming *in, struct incoming_thread *t, uint64_t address)
{
        struct ledger_block *b = shadow_pool_entry(&in->book, address);

        if (!b || !LEDGER_BLOCK_LIVE(*b))
                b = address & 7 ? NULL : shadow_find(&in->book, &t->writer, address);
        if (b && LEDGER_BLOCK_LIVE(*b))
                b->b |= SHADOW_IGNORED;
}

/* ---- allocations ---- */

/* SITE has an entry; one that was never told of is known by its number only. */
struct ledger_counter *apply_counter(struct incoming *in, struct incoming_thread *t,
                                       uint32_t site)
{
        struct ledger_head *h = in->book.head;

        if (!site || !incoming_may_be(in, site, LEDGER_SITES_MAX) ||
            !book_commit(&in->book, LEDGER_SITES, (site + 1ull) * sizeof(struct ledger_site)))
                return NULL;
        if (!in->book.sites[site].kind) {
                in->book.sites[site] = (struct ledger_site){ .node = LEDGER_NODE_CUT,
                                                             .kind = LEDGER_KIND_MALLOC };
                h->site_count = site >= h->site_count ? site + 1 : h->site_count;
        }
        return book_counter(&in->book, &t->writer, site);
}

static void gone(struct incoming *in, struct incoming_thread *t, struct ledger_block b,
                 uint64_t address)
{
        struct ledger_counter *c = apply_counter(in, t, LEDGER_BLOCK_SITE(b));
        uint32_t now = book_now_ms(&in->book), birth = LEDGER_BLOCK_BIRTH_MS(b);

        if (!LEDGER_BLOCK_SITE(b)) { /* from before a reset */
                in->older_here++;
                in->book.head->older++;
                return;
        }
        if (in->book.head->mark_count)
                era_death(&in->book, &b, 1);
        if (c)
                count_remove(&in->book, &t->writer, c,
                             (struct count_blocks){ address, LEDGER_BLOCK_SIZE(b), 1,
                                                    now > birth ? now - birth : 0 });
}

/* Blocks that are told again, and released in the same while: what came and went is told apart
 * (apply_gone), so that they count as if they had never been. */
static void undo(struct incoming *in, struct ledger_block b, uint64_t address)
{
        struct incoming_thread *t = apply_thread(in, LEDGER_BLOCK_THREAD(b));
        struct ledger_counter *c = apply_counter(in, t, LEDGER_BLOCK_SITE(b));
        struct ledger_slot *slot = t->writer.slot;
        uint64_t size = LEDGER_BLOCK_SIZE(b);

        if (!c)
                return;
        gone(in, t, b, address);
        c->allocs--;
        c->frees--;
        c->alloc_bytes -= size;
        c->free_bytes -= size;
        slot->allocs--;
        slot->frees--;
        slot->alloc_bytes -= size;
        slot->free_bytes -= size;
}

static void end_block(struct incoming *in, struct incoming_thread *t, struct ledger_block b,
                      uint64_t address)
{
        if (in->again)
                undo(in, b, address);
        else
                gone(in, t, b, address);
}

static bool is_pool(const struct ledger_event *e)
{
        return e->kind == LEDGER_KIND_POOL;
}

static struct ledger_block *entry_for(struct incoming *in, struct incoming_thread *t,
                                      const struct ledger_event *e)
{
        uint32_t plane = is_pool(e) ? shadow_pool_plane(e->address) : 1 + shadow_sub(e->address);
        struct ledger_block *b = NULL;

        if (e->address >> LEDGER_ADDRESS_BITS || (!is_pool(e) && e->address % 8))
                return NULL;
        b = is_pool(e) ? shadow_pool_entry(&in->book, e->address)
                       : shadow_at(&in->book, &t->writer, e->address);
        if (!b && in->book.head->shadow_chunk_count < CHUNKS_MAX)
                b = shadow_make(&in->book, e->address, plane);
        return b;
}

static void allocate(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        struct ledger_counter *c = apply_counter(in, t, e->site);
        struct ledger_block *b = c ? entry_for(in, t, e) : NULL, what;
        uint64_t size = shadow_size(e->size);
        uint32_t kind;

        if (!b) {
                in->lost_here++;
                return;
        }
        if (LEDGER_BLOCK_LIVE(*b)) { /* its release was in what is lost */
                struct ledger_block old = *b;

                shadow_bury(b, book_now_ms(&in->book));
                end_block(in, t, old, e->address);
        }
        kind = in->book.sites[e->site].kind;
        kind = LEDGER_KIND_IS_HEAP(LEDGER_KIND_PLAIN(kind)) ? kind : LEDGER_KIND_MALLOC;
        if (!is_pool(e) && kind == LEDGER_KIND_POOL)
                kind = LEDGER_KIND_MALLOC;
        count_add(&in->book, &t->writer, c,
                  (struct count_blocks){ is_pool(e) ? 0 : e->address, size, 1, 0 });
        what = shadow_block(e->address, size, is_pool(e) ? LEDGER_KIND_POOL : kind, e->ms);
        what.a |= e->site;
        shadow_write(&in->book, &t->writer, b, what);
}

/* A search finds what a realloc has in hand there, and takes it for in use. */
static void take_in_hand(struct incoming_thread *t, uint64_t size)
{
        t->moving = true;
        t->writer.slot->moving_bytes = size;
        t->writer.slot->moving = t->address;
}

static void let_go(struct incoming_thread *t)
{
        if (t->moving)
                t->writer.slot->moving = t->writer.slot->moving_bytes = 0;
        t->moving = false;
}

/* A realloc that told no end made nothing of its block. */
static void settle(struct incoming *in, struct incoming_thread *t)
{
        if (t->moving)
                end_block(in, t, t->block, t->address);
        let_go(t);
}

void apply_settle(struct incoming *in)
{
        for (uint32_t i = 0; i < in->thread_count; i++)
                if (in->threads[i].known)
                        settle(in, &in->threads[i]);
}

static void release(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        struct ledger_block *b = is_pool(e) ? shadow_pool_entry(&in->book, e->address)
                                            : shadow_find(&in->book, &t->writer, e->address);
        struct ledger_block old;

        if (!b || !LEDGER_BLOCK_LIVE(*b)) {
                in->strangers += !in->again;
                t->writer.last = 0;
                return;
        }
        old = *b;
        shadow_bury(b, book_now_ms(&in->book));
        if (e->type == LEDGER_EVENT_TAKE) {
                t->place = b;
                t->block = old;
                t->address = e->address;
                take_in_hand(t, LEDGER_BLOCK_SIZE(old));
        } else {
                end_block(in, t, old, e->address);
        }
}

static void put_back(struct incoming *in, struct incoming_thread *t)
{
        if (t->moving && !LEDGER_BLOCK_LIVE(*t->place))
                shadow_put(&in->book, &t->writer, t->place, t->block);
        let_go(t);
        t->writer.last = 0;
}

static void carve(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        struct ledger_counter *c = apply_counter(in, t, e->site);

        if (!c)
                return;
        count_carve(&in->book, &t->writer, c, (int64_t)e->size);
        peak_after_alloc(&in->book, &t->writer);
}

static void heap_event(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        if (t->moving && e->type != LEDGER_EVENT_PUT_BACK)
                settle(in, t);
        if (e->type == LEDGER_EVENT_ALLOC || e->type == LEDGER_EVENT_MOVE)
                allocate(in, t, e);
        else if (e->type == LEDGER_EVENT_PUT_BACK)
                put_back(in, t);
        else
                release(in, t, e);
}

void apply_event(struct incoming *in, const struct ledger_event *e)
{
        struct incoming_thread *t;

        if (e->type == LEDGER_EVENT_THREAD) {
                thread_entry(in, e->thread);
                begin(in, e->thread, e->size < UINT32_MAX ? (uint32_t)e->size : 0,
                      (uint32_t)e->address);
                return;
        }
        if (e->type == LEDGER_EVENT_THREAD_NAME) {
                name(in, e);
                return;
        }
        t = apply_thread(in, e->thread);
        if (e->type <= LEDGER_EVENT_PUT_BACK) {
                heap_event(in, t, e);
                return;
        }
        t->writer.last = e->type == LEDGER_EVENT_CARVE ? t->writer.last : 0;
        if (e->type == LEDGER_EVENT_CARVE)
                carve(in, t, e);
        else if (e->type == LEDGER_EVENT_MAP)
                extents_add(in, t, e);
        else if (e->type == LEDGER_EVENT_UNMAP)
                extents_remove(in, t, e);
        else if (e->type == LEDGER_EVENT_UNMAP_FAILED)
                extents_put_back(in, t, e);
        else if (e->type == LEDGER_EVENT_ACQUIRE)
                extents_acquire(in, t, e);
        else if (e->type == LEDGER_EVENT_RELEASE)
                extents_release(in, t, e);
        else if (e->type == LEDGER_EVENT_IGNORE)
                apply_ignore(in, t, e->address);
        else if (e->type == LEDGER_EVENT_STACK)
                extents_stack(in, e);
}

void apply_held(struct incoming *in, const struct ledger_event *e)
{
        struct incoming_thread *t = apply_thread(in, e->thread);

        allocate(in, t, e);
        t->writer.last = 0;
}

void apply_gone(struct incoming *in, const struct apply_past *past)
{
        struct incoming_thread *t = apply_thread(in, 0);
        struct ledger_counter *c = past->site < LEDGER_SITES_MAX
                                           ? apply_counter(in, t, (uint32_t)past->site)
                                           : NULL;
        struct ledger_slot *slot = t->writer.slot;

        if (!c)
                return;
        c->allocs += past->blocks;
        c->alloc_bytes += past->bytes;
        c->frees += past->blocks;
        c->free_bytes += past->bytes;
        c->lifetime_ms += past->lifetime_ms;
        c->temporary += past->temporary;
        if (!LEDGER_KIND_IS_HEAP(LEDGER_KIND_PLAIN(in->book.sites[past->site].kind)))
                return;
        slot->allocs += past->blocks;
        slot->alloc_bytes += past->bytes;
        slot->frees += past->blocks;
        slot->free_bytes += past->bytes;
}
