/* SPDX-License-Identifier: MIT */
/*
 * extents.c -- mappings and resources of a program on another machine: which exist, and what was
 * counted.
 */
#include "journal/parts.h"

#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "book/count.h"

#define REGIONS_MAX 65536u
#define HANDLES_MAX (1u << 22)

/* The first region that ends behind START. */
static uint32_t find(const struct incoming *in, uint64_t start)
{
        return (uint32_t)FIND_FIRST(in->region_count, i, in->regions[i].end <= start);
}

static void insert(struct incoming *in, const struct ledger_region *r)
{
        uint32_t at = find(in, r->start);

        if (in->region_count >= REGIONS_MAX) {
                in->lost_here++;
                return;
        }
        in->regions = heap_next(in->regions, in->region_count, sizeof *in->regions);
        memmove(in->regions + at + 1, in->regions + at,
                (in->region_count - at) * sizeof *in->regions);
        in->regions[at] = *r;
        in->region_count++;
}

static void drop(struct incoming *in, uint32_t at)
{
        in->region_count--;
        memmove(in->regions + at, in->regions + at + 1,
                (in->region_count - at) * sizeof *in->regions);
}

static void note_cut(struct incoming *in, const struct ledger_region *was, uint64_t bytes,
                     bool whole)
{
        in->cuts = heap_next(in->cuts, in->cut_count, sizeof *in->cuts);
        in->cuts[in->cut_count++] = (struct incoming_cut){ *was, bytes, whole };
}

/* Take [START, END) out of what is mapped. */
static void cut(struct incoming *in, struct incoming_thread *t, uint64_t start, uint64_t end)
{
        uint32_t at = find(in, start);

        while (start < end && at < in->region_count && in->regions[at].start < end) {
                struct ledger_region old = in->regions[at], left = old;
                uint64_t low = old.start > start ? old.start : start,
                         high = old.end < end ? old.end : end;
                bool whole = low == old.start && high == old.end &&
                             !(old.flags & LEDGER_REGION_PIECE);
                struct ledger_counter *c = apply_counter(in, t, old.site);

                if (c)
                        count_unmap(&in->book, c, high - low, whole);
                left.start = low;
                left.end = high;
                note_cut(in, &left, high - low, whole);
                drop(in, at);
                left = old;
                left.end = low;
                if (left.start < left.end)
                        insert(in, &left);
                left = old;
                left.start = high;
                left.flags |= old.start < low ? LEDGER_REGION_PIECE : 0;
                if (left.start < left.end)
                        insert(in, &left);
                at = find(in, high);
        }
}

void extents_add(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        struct ledger_counter *c = apply_counter(in, t, e->site);
        struct ledger_region r = { .start = e->address, .end = e->address + e->size,
                                   .site = e->site, .birth_ms = e->ms, .thread = e->thread };

        if (!c || r.start >= r.end)
                return;
        in->cut_count = 0;
        cut(in, t, r.start, r.end);
        in->cut_count = 0;
        insert(in, &r);
        count_map(&in->book, c, e->size);
}

void extents_stack(struct incoming *in, const struct ledger_event *e)
{
        uint32_t at = find(in, e->address);

        if (at < in->region_count && in->regions[at].start == e->address &&
            in->regions[at].end == e->address + e->size)
                in->regions[at].flags |= LEDGER_REGION_STACK;
}

void extents_remove(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        in->cut_count = 0;
        in->cut_thread = e->thread;
        cut(in, t, e->address, e->address + e->size);
}

void extents_put_back(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        if (e->thread != in->cut_thread)
                return;
        for (uint32_t i = 0; i < in->cut_count; i++) {
                const struct incoming_cut *x = &in->cuts[i];
                struct ledger_counter *c = apply_counter(in, t, x->was.site);

                if (c) {
                        c->frees -= x->whole;
                        c->free_bytes -= x->bytes;
                }
                insert(in, &x->was);
        }
        in->cut_count = 0;
}

/* ---- resources ---- */

static uint32_t kind_at(const struct incoming *in, uint32_t site)
{
        return in->book.sites[site].kind;
}

static void give_up(struct incoming *in, struct incoming_thread *t, struct ledger_handle *h)
{
        struct ledger_counter *c = h->site ? apply_counter(in, t, h->site) : NULL;
        uint32_t now = book_now_ms(&in->book);

        if (c) {
                peak_before_free(in->book.head, c);
                c->frees++;
                c->free_bytes += h->amount;
                c->lifetime_ms += now > h->birth_ms ? now - h->birth_ms : 0;
        }
        h->site = 0;
}

/* The entry of HANDLE; `next` has the kind while we keep it. */
static struct ledger_handle *handle_of(struct incoming *in, uint32_t kind, uint64_t handle)
{
        uint32_t n = TABLE_NUMBER(&in->handle_table, table_hash(handle, kind), i,
                                  in->handles[i].handle == handle && in->handles[i].next == kind);

        if (n == in->handle_count) {
                in->handles = heap_next(in->handles, in->handle_count, sizeof *in->handles);
                in->handles[in->handle_count++] = (struct ledger_handle){ .handle = handle,
                                                                          .next = kind };
        }
        return &in->handles[n];
}

void extents_acquire(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        struct ledger_counter *c = apply_counter(in, t, e->site);
        struct ledger_handle *h;

        if (!c || !LEDGER_KIND_IS_RESOURCE(kind_at(in, e->site)) ||
            in->handle_count >= HANDLES_MAX) {
                in->lost_here++;
                return;
        }
        h = handle_of(in, kind_at(in, e->site), e->address);
        give_up(in, t, h);
        h->amount = e->size;
        h->site = e->site;
        h->birth_ms = e->ms;
        h->thread = e->thread;
        peak_before_alloc(in->book.head, c);
        c->allocs++;
        c->alloc_bytes += e->size;
}

void extents_release(struct incoming *in, struct incoming_thread *t, const struct ledger_event *e)
{
        if (in->handle_count < HANDLES_MAX)
                give_up(in, t, handle_of(in, e->kind, e->address));
}

/* ---- the end ---- */

void extents_end(struct incoming *in)
{
        struct ledger_head *h = in->book.head;

        if (book_commit(&in->book, LEDGER_REGIONS, in->region_count * sizeof *in->regions)) {
                if (in->region_count)
                        memcpy(book_part(&in->book, LEDGER_REGIONS), in->regions,
                               in->region_count * sizeof *in->regions);
                h->region_count = in->region_count;
        }
        if (!book_commit(&in->book, LEDGER_HANDLES, in->handle_count * sizeof *in->handles))
                return;
        if (in->handle_count)
                memcpy(book_part(&in->book, LEDGER_HANDLES), in->handles,
                       in->handle_count * sizeof *in->handles);
        h->handle_count = in->handle_count;
}
