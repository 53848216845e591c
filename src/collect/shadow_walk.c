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

struct walk {
        const struct view *view;
        const struct shadow_visitor *visitor;
        struct ledger_block *part;
        struct stretch *stretch; /* in the order of the file */
        uint32_t stretch_count;
        uint64_t looked_at_bytes;
};

struct numbered_chunk {
        struct ledger_chunk chunk;
        uint32_t index;
};

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
                        if (LEDGER_BLOCK_LIVE(w->part[i]) || (w->visitor->dead && w->part[i].b))
                                w->visitor->take(w->visitor->context, &w->part[i],
                                                 c->chunk.base +
                                                         (entry + i) * LEDGER_SHADOW_GRANULE +
                                                         8 * LEDGER_BLOCK_SUB(w->part[i]) + low);
                at += count * sizeof *w->part;
        }
}

/* Asking for the end of a stretch costs as much as it is long, so that it is done
 * once for all chunks in it. */
static void find_stretches(struct walk *w)
{
        uint64_t at = 0, end;

        while ((end = view_data(w->view, LEDGER_SHADOW, &at, UINT64_MAX)) != 0) {
                w->stretch = heap_next(w->stretch, w->stretch_count, sizeof *w->stretch);
                w->stretch[w->stretch_count++] = (struct stretch){ at, end };
                at = end;
        }
}

/* The first stretch that ends after AT. */
static uint32_t find_stretch(const struct walk *w, uint64_t at)
{
        return (uint32_t)FIND_FIRST(w->stretch_count, i, w->stretch[i].end <= at);
}

static void visit_chunk(struct walk *w, const struct numbered_chunk *c)
{
        uint64_t first = c->index * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES,
                 last = first + LEDGER_SHADOW_CHUNK_BYTES;

        for (uint32_t i = find_stretch(w, first); i < w->stretch_count && w->stretch[i].at < last;
             i++) {
                uint64_t at = w->stretch[i].at > first ? w->stretch[i].at : first;
                uint64_t end = w->stretch[i].end < last ? w->stretch[i].end : last;

                visit_stretch(w, c, at, end);
                w->looked_at_bytes += end - at;
        }
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

void shadow_walk(const struct view *v, const struct shadow_visitor *visitor)
{
        struct walk w = { .view = v, .visitor = visitor };
        struct numbered_chunk *chunks;
        uint32_t count;

        w.part = heap_grow(NULL, SHADOW_AT_ONCE, sizeof *w.part);
        find_stretches(&w);
        chunks = sorted_chunks(v, &count);
        for (uint32_t i = 0; i < count && !(visitor->enough &&
                                            visitor->enough(visitor->context, w.looked_at_bytes));
             i++)
                visit_chunk(&w, &chunks[i]);
        free(chunks);
        free(w.stretch);
        free(w.part);
}
