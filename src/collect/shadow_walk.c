/* SPDX-License-Identifier: MIT */
/*
 * shadow_walk.c -- the ledger's shadow of the address space, entry by entry.
 *
 * Cost:   proportional to the pages of the shadow that were ever touched (0.3 ms per
 *         MiB); holes are skipped.
 */
#include "collect/shadow_walk.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"

#define SHADOW_AT_ONCE 4096u /* entries read in one go: 64 KiB stay in the cache */

/* Bytes [at, end) of the shadow hold data. */
struct stretch {
        uint64_t at, end;
};

struct numbered_chunk {
        struct ledger_chunk chunk;
        uint32_t index;
};

struct shadow_parts {
        const struct view *view;
        struct stretch *stretch; /* in the order of the file */
        uint32_t stretch_count;
        struct numbered_chunk *chunks; /* in the order of addresses */
        uint32_t *first; /* by part, and behind the last: its first chunk */
        uint32_t count;
};

/* One part on its way. */
struct walk {
        const struct view *view;
        const struct shadow_visitor *visitor;
        struct ledger_block *part;
};

static bool is_wanted(const struct shadow_visitor *v, const struct ledger_block *b)
{
        return LEDGER_BLOCK_LIVE(*b) ||
               (v->dead && b->b && LEDGER_BLOCK_BIRTH_MS(*b) >= v->dead_since_ms);
}

/* Entries of bytes [AT, END) of the shadow, which lie in chunk C. */
static void visit_stretch(struct walk *w, const struct numbered_chunk *c, uint64_t at, uint64_t end)
{
        uint64_t first = c->index * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES,
                 low = LEDGER_PLANE_LOW(c->chunk.plane);

        at -= (at - first) % sizeof *w->part;
        while (at < end) {
                uint64_t count = (end - at) / sizeof *w->part;
                uint64_t entry = (at - first) / sizeof *w->part;

                if (count > SHADOW_AT_ONCE)
                        count = SHADOW_AT_ONCE;
                if (count == 0)
                        return;
                view_read(w->view, LEDGER_SHADOW, at, w->part, count * sizeof *w->part);
                for (uint64_t i = 0; i < count; i++)
                        if (is_wanted(w->visitor, &w->part[i]))
                                w->visitor->take(w->visitor->context, &w->part[i],
                                                 c->chunk.base +
                                                         (entry + i) * LEDGER_SHADOW_GRANULE +
                                                         8 * LEDGER_BLOCK_SUB(w->part[i]) + low);
                at += count * sizeof *w->part;
        }
}

/* Asking for the end of a stretch costs as much as it is long, so that it is done
 * once for all chunks in it. */
static void find_stretches(struct shadow_parts *w)
{
        uint64_t at = 0, end;

        while ((end = view_data(w->view, LEDGER_SHADOW, &at, UINT64_MAX)) != 0) {
                w->stretch = heap_next(w->stretch, w->stretch_count, sizeof *w->stretch);
                w->stretch[w->stretch_count++] = (struct stretch){ at, end };
                at = end;
        }
}

/* The first stretch that ends after AT. */
static uint32_t find_stretch(const struct shadow_parts *w, uint64_t at)
{
        return (uint32_t)FIND_FIRST(w->stretch_count, i, w->stretch[i].end <= at);
}

/* Returns how many bytes of the shadow it looked at. */
static uint64_t visit_chunk(const struct shadow_parts *parts, struct walk *w,
                            const struct numbered_chunk *c)
{
        uint64_t first = c->index * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES, bytes = 0,
                 last = first + LEDGER_SHADOW_CHUNK_BYTES;

        for (uint32_t i = find_stretch(parts, first);
             i < parts->stretch_count && parts->stretch[i].at < last; i++) {
                uint64_t at = parts->stretch[i].at > first ? parts->stretch[i].at : first;
                uint64_t end = parts->stretch[i].end < last ? parts->stretch[i].end : last;

                visit_stretch(w, c, at, end);
                bytes += end - at;
        }
        return bytes;
}

static int by_base(const void *a, const void *b)
{
        const struct numbered_chunk *x = a, *y = b;

        return ORDER(x->chunk.base, y->chunk.base) ?: ORDER(x->index, y->index);
}

/* Chunks in the order of their addresses, so that blocks come out sorted unless planes overlap:
 * then within a chunk's span. */
static struct numbered_chunk *sorted_chunks(const struct view *v, uint32_t *count)
{
        struct ledger_chunk *raw;
        struct numbered_chunk *chunks;
        uint32_t total = v->head.shadow_chunk_count, used = 0;

        raw = view_table(v, LEDGER_CHUNKS, &total, sizeof *raw);
        chunks = heap_zero(total, sizeof *chunks);
        for (uint32_t i = 0; i < total; i++)
                if (raw[i].ready && raw[i].base % LEDGER_SHADOW_SPAN == 0)
                        chunks[used++] = (struct numbered_chunk){ raw[i], i };
        free(raw);
        qsort(chunks, used, sizeof *chunks, by_base);
        *count = used;
        return chunks;
}

struct shadow_parts *shadow_parts_open(const struct view *v)
{
        struct shadow_parts *parts = heap_zero(1, sizeof *parts);
        uint32_t chunks;

        parts->view = v;
        find_stretches(parts);
        parts->chunks = sorted_chunks(v, &chunks);
        parts->first = heap_zero(chunks + 1u, sizeof *parts->first);
        for (uint32_t i = 0; i < chunks; i++)
                if (!i || parts->chunks[i].chunk.base != parts->chunks[i - 1].chunk.base)
                        parts->first[parts->count++] = i;
        parts->first[parts->count] = chunks;
        return parts;
}

uint32_t shadow_parts_count(const struct shadow_parts *parts)
{
        return parts->count;
}

uint64_t shadow_parts_read(const struct shadow_parts *parts, uint32_t part,
                           const struct shadow_visitor *visitor)
{
        struct walk w = { .view = parts->view, .visitor = visitor };
        uint64_t bytes = 0;

        w.part = heap_grow(NULL, SHADOW_AT_ONCE, sizeof *w.part);
        for (uint32_t i = parts->first[part]; i < parts->first[part + 1]; i++)
                bytes += visit_chunk(parts, &w, &parts->chunks[i]);
        free(w.part);
        return bytes;
}

void shadow_parts_close(struct shadow_parts *parts)
{
        free(parts->chunks);
        free(parts->stretch);
        free(parts->first);
        free(parts);
}

void shadow_walk(const struct view *v, const struct shadow_visitor *visitor)
{
        struct shadow_parts *parts = shadow_parts_open(v);
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < parts->count &&
                             !(visitor->enough && visitor->enough(visitor->context, bytes));
             i++)
                bytes += shadow_parts_read(parts, i, visitor);
        shadow_parts_close(parts);
}
