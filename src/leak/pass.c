/* SPDX-License-Identifier: MIT */
/*
 * pass.c -- all memory that counts, read once in large pieces.
 *
 * Keeps:  a piece is one call of read(): neighbouring blocks and what little is between them.  What
 *         cannot be read counts as zero.  Memory is divided into parts (some roots, a stretch of a
 *         large one, blocks with all that lies in them), which threads take one after another.
 *         What was found in them is put together in their order, so the number of threads does
 *         not show.  That is done as soon as all parts before are done, and the memory of a part
 *         is the next one's: what was found is there twice only of a few parts.
 */
#include "leak/pass.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/parallel.h"
#include "leak/destinations.h"
#include "leak/gather.h"
#include "leak/huge_array.h"
#include "leak/sift.h"

#define PASS_SPANS 32768u       /* in a piece */
#define PASS_LARGE (64u * 1024) /* spans of which unused pages are left out, and in what steps */
#define PASS_PART (UINT64_C(8) << 20) /* bytes of a part; less is not worth a thread */
#define PASS_SPARE (2 * PARALLEL_MOST)

/* What is read by one thread: roots FIRST to END, of a single one what is between LOW and HIGH; or
 * blocks FIRST to END. */
struct pass_part {
        bool root;
        uint32_t first, end;
        uint64_t low, high;
        bool done;
        struct sift *found; /* NULL: not begun, or put to the others */
};

/* All of them. */
struct pass_plan {
        const struct search_input *in;
        const struct index *index;
        struct search_memory memory; /* that words are read from */
        struct pass_part *parts;
        uint32_t count;
        struct {
                uint8_t *buffer;
                struct span *spans;
        } own[PARALLEL_MOST]; /* by thread */
        uint64_t done, all; /* bytes, for whoever wants to know how far it is */
        pthread_mutex_t lock; /* of all that follows */
        uint32_t joined;      /* parts that are in the graph */
        struct sift *spare[PASS_SPARE];
        uint32_t spare_count;
        struct search_graph *g; /* with room for so much: */
        uint64_t link_room, hold_room;
        uint32_t *owners;
};

/* One part on its way. */
struct pass {
        struct sift *sift;
        const struct search_memory *memory;
        uint8_t *buffer;
        struct span *spans;
        struct span_supply supply;
        struct span ahead; /* the next span, or what is left of it */
        bool more;         /* there is one */
        bool root, turned;
        uint64_t done; /* bytes */
};

static uint64_t pass_used(const struct pass *p, uint64_t start, uint64_t end)
{
        return p->memory->next && end - start > PASS_LARGE
                       ? p->memory->next(p->memory->context, start, end)
                       : start;
}

/* How far to read of a large span: as far as pages are used.  It stops where a page does: to read a
 * word of the next one would make it look used. */
static uint64_t pass_stop(const struct pass *p, uint64_t start, uint64_t end)
{
        uint64_t stop = (start + PASS_LARGE) & ~(uint64_t)(PASS_LARGE - 1);

        if (!p->memory->next)
                return end;
        while (stop < end && p->memory->next(p->memory->context, stop, end) == stop)
                stop += PASS_LARGE;
        return stop < end ? stop : end;
}

static void pass_advance(struct pass *p)
{
        p->done += p->more ? p->ahead.end - p->ahead.start : 0;
        p->more = p->supply.next(&p->supply, &p->ahead);
}

/* Take the span ahead, or what fits of it below LIMIT, as number COUNT of the piece.  Returns
 * where the piece now ends. */
static uint64_t pass_take(struct pass *p, size_t count, uint64_t limit)
{
        uint64_t end = p->ahead.end, overlap = 0;

        if (p->sift->in->unaligned)
                overlap = search_width(p->memory->narrow) - 1;
        p->spans[count] = p->ahead;
        if (end - p->ahead.start > PASS_LARGE)
                end = pass_stop(p, p->ahead.start & ~UINT64_C(7), end < limit ? end : limit);
        end = end < limit ? end : limit;
        p->spans[count].end = end;
        if (end == p->ahead.end) {
                pass_advance(p);
                return end;
        }
        if (p->ahead.start + overlap < end) { /* a word across the border is the next piece's */
                p->done += end - overlap - p->ahead.start;
                p->ahead.start = end - overlap;
        } else if (end < limit) { /* no word goes on in a page that was never used */
                p->done += end - p->ahead.start;
                p->ahead.start = end;
        }
        return end;
}

static void pass_piece(struct pass *p)
{
        uint64_t start = p->ahead.start & ~UINT64_C(7), limit = start + GATHER_PIECE < start
                                                                        ? UINT64_MAX & ~UINT64_C(7)
                                                                        : start + GATHER_PIECE;
        uint64_t end, bytes = 0;
        uint64_t *looked = p->root ? &p->sift->root_bytes : &p->sift->heap_bytes;
        size_t count = 0;
        bool whole;

        do {
                uint64_t rest = p->ahead.end;

                end = pass_take(p, count, limit);
                whole = end == rest;
                bytes += end - p->spans[count++].start;
        } while (whole && p->more && count < PASS_SPANS && p->ahead.start <= end + GATHER_GAP &&
                 p->ahead.start < limit && p->ahead.end - p->ahead.start <= PASS_LARGE);
        *looked += bytes;
        gather_bytes(p->memory, start, p->buffer, end - start);
        sift_piece(p->sift,
                   &(struct piece){ .bytes = p->buffer, .address = start, .size = end - start,
                                    .step = p->sift->in->unaligned
                                                    ? 1
                                                    : search_width(p->memory->narrow),
                                    .spans = p->spans, .span_count = count, .root = p->root,
                                    .turned = p->turned, .narrow = p->memory->narrow });
}

/* ROOT: what it is of; NULL: blocks. */
static void pass_supply(struct pass *p, struct span_supply supply, const struct search_root *root)
{
        p->supply = supply;
        p->root = root;
        p->turned = p->memory->turned && !(root && root->flags & SEARCH_ROOT_HOST);
        p->more = false;
        pass_advance(p);
        while (p->more) {
                uint64_t used = pass_used(p, p->ahead.start, p->ahead.end);

                p->done += (used < p->ahead.end ? used : p->ahead.end) - p->ahead.start;
                p->ahead.start = used < p->ahead.end ? used : p->ahead.end;
                if (p->ahead.start == p->ahead.end)
                        pass_advance(p);
                else
                        pass_piece(p);
        }
}

/* Words that are in no memory. */
static void pass_words(struct pass *p, const struct search_root *root, uint32_t number)
{
        struct span span = { .start = root->start, .end = root->end, .owner = number };

        sift_piece(p->sift,
                   &(struct piece){ .bytes = (const uint8_t *)root->words, .address = root->start,
                                    .size = root->end - root->start,
                                    .step = search_width(p->memory->narrow), .spans = &span,
                                    .span_count = 1, .root = true,
                                    .narrow = p->memory->narrow });
}

/* Part of a root: memory of it between LOW and HIGH. */
static void pass_root(struct pass *p, uint32_t number, const struct pass_part *part)
{
        struct search_root root = p->sift->in->roots[number];

        if (root.words) {
                pass_words(p, &root, number);
                return;
        }
        root.start = root.start > part->low ? root.start : part->low;
        root.end = root.end < part->high ? root.end : part->high;
        if (root.start < root.end)
                pass_supply(p, span_root(p->sift->index, &root, number), &root);
}

/* ---- what was found, in one ---- */

/* Lists are there even where nothing is in them.  Room for a pointer in each block is asked for at
 * the start: what is large at once can be moved as it grows, without a copy. */
static void pass_reserve(struct pass_plan *plan, const struct sift *s)
{
        struct search_graph *g = plan->g;

        if (!g->links || plan->link_room - g->link_count < s->link_count) {
                plan->link_room = 2 * plan->link_room + s->link_count;
                g->links = huge_array_grow(g->links, plan->link_room, sizeof *g->links);
                g->link_offsets = huge_array_grow(g->link_offsets, plan->link_room,
                                                  sizeof *g->link_offsets);
                if (plan->index->parents)
                        plan->owners = huge_array_grow(plan->owners, plan->link_room,
                                                       sizeof *plan->owners);
        }
        if (!g->holds || plan->hold_room - g->hold_count < s->hold_count) {
                plan->hold_room = 2 * plan->hold_room + s->hold_count;
                g->holds = huge_array_grow(g->holds, plan->hold_room, sizeof *g->holds);
                g->hold_offsets = huge_array_grow(g->hold_offsets, plan->hold_room,
                                                  sizeof *g->hold_offsets);
        }
}

static void pass_take_over(struct pass_plan *plan, const struct sift *s)
{
        struct search_graph *g = plan->g;

        pass_reserve(plan, s);
        if (s->link_count) {
                memcpy(g->links + g->link_count, s->links, s->link_count * sizeof *s->links);
                memcpy(g->link_offsets + g->link_count, s->link_offsets, s->link_count);
                if (plan->owners)
                        memcpy(plan->owners + g->link_count, s->owners,
                               s->link_count * sizeof *s->owners);
        }
        if (s->hold_count) {
                memcpy(g->holds + g->hold_count, s->holds, s->hold_count * sizeof *s->holds);
                memcpy(g->hold_offsets + g->hold_count, s->hold_offsets, s->hold_count);
        }
        g->link_count += s->link_count;
        g->hold_count += s->hold_count;
        g->link_flags |= s->flags & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM);
        g->root_bytes += s->root_bytes;
        g->heap_bytes += s->heap_bytes;
}

static struct sift *pass_begin(struct pass_plan *plan)
{
        struct sift *s = NULL;

        pthread_mutex_lock(&plan->lock);
        if (plan->spare_count)
                s = plan->spare[--plan->spare_count];
        pthread_mutex_unlock(&plan->lock);
        if (!s) {
                s = heap_zero(1, sizeof *s);
                *s = (struct sift){ .in = plan->in, .index = plan->index, .g = plan->g,
                                    .unit = (uint32_t)__builtin_ctz(plan->g->unit) };
        }
        return s;
}

static void pass_leave(struct pass_plan *plan, struct sift *s)
{
        if (plan->spare_count < PASS_SPARE) {
                sift_clear(s);
                plan->spare[plan->spare_count++] = s;
        } else {
                sift_free(s);
                free(s);
        }
}

/* PART is done: whatever has all parts before it in the graph goes there, too. */
static void pass_end(struct pass_plan *plan, struct pass_part *part)
{
        pthread_mutex_lock(&plan->lock);
        part->done = true;
        while (plan->joined < plan->count && plan->parts[plan->joined].done) {
                struct pass_part *next = &plan->parts[plan->joined++];

                pass_take_over(plan, next->found);
                pass_leave(plan, next->found);
                next->found = NULL;
        }
        pthread_mutex_unlock(&plan->lock);
}

static void pass_run_part(void *context, uint32_t slot, uint32_t number)
{
        struct pass_plan *plan = context;
        struct pass_part *part = &plan->parts[number];
        struct pass p = { .memory = &plan->memory };
        uint64_t done;

        if (!plan->own[slot].buffer) {
                plan->own[slot].buffer = heap_grow(NULL, GATHER_PIECE, 1);
                plan->own[slot].spans = heap_grow(NULL, PASS_SPANS, sizeof *p.spans);
        }
        p.buffer = plan->own[slot].buffer;
        p.spans = plan->own[slot].spans;
        p.sift = part->found = pass_begin(plan);
        if (!part->root)
                pass_supply(&p, span_blocks(plan->index, part->first, part->end), NULL);
        for (uint32_t i = part->first; part->root && i < part->end; i++)
                pass_root(&p, i, part);
        pass_end(plan, part);
        done = __atomic_add_fetch(&plan->done, p.done, __ATOMIC_RELAXED);
        if (!slot)
                progress_tell(plan->in->progress, done & ~UINT64_C(15), plan->all);
}

/* A carved block holds its arena, as if it had a pointer to it. */
static void pass_arenas(struct pass_plan *plan)
{
        const struct index *x = plan->index;
        struct sift *s;

        if (!x->parents)
                return;
        s = pass_begin(plan);
        for (uint32_t i = 0; i < x->count; i++)
                if (x->parents[i])
                        sift_add_link(s, i, (struct search_link){ .to = x->parents[i] - 1,
                                                                  .at = SEARCH_AT_ARENA });
        pass_take_over(plan, s);
        pass_leave(plan, s);
}

/* ---- which parts ---- */

static void pass_add(struct pass_plan *plan, struct pass_part part)
{
        plan->parts = heap_next(plan->parts, plan->count, sizeof *plan->parts);
        plan->parts[plan->count++] = part;
}

/* Memory of root NUMBER in stretches.  Terabytes may be reserved, or a core file say so: what was
 * never used is in none. */
static void pass_divide_root(struct pass_plan *plan, uint32_t number)
{
        const struct search_memory *m = &plan->in->memory;
        uint64_t end = plan->in->roots[number].end, low = plan->in->roots[number].start, high;

        for (; low < end; low = high) {
                low = m->next ? m->next(m->context, low, end) : low;
                if (low >= end)
                        break;
                high = (low + PASS_PART) & ~(PASS_PART - 1);
                high = low < high && high < end ? high : end;
                plan->all += high - low;
                pass_add(plan, (struct pass_part){ .root = true, .first = number, .end = number + 1,
                                                   .low = low, .high = high });
        }
}

/* Small ones together, large ones in stretches.  A word that is not aligned may lie on both sides
 * of a border. */
static void pass_divide_roots(struct pass_plan *plan)
{
        const struct search_root *roots = plan->in->roots;
        uint32_t first = 0, count = plan->in->root_count;
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < count; i++) {
                uint64_t size = roots[i].end > roots[i].start ? roots[i].end - roots[i].start : 0;
                bool large = size > PASS_PART && !plan->in->unaligned && !roots[i].words;

                plan->all += large ? 0 : size;
                bytes += large ? 0 : size;
                if (!large && bytes < PASS_PART && i + 1 < count)
                        continue;
                if (first < i + !large)
                        pass_add(plan, (struct pass_part){ .root = true, .first = first,
                                                           .end = i + !large, .high = UINT64_MAX });
                if (large)
                        pass_divide_root(plan, i);
                first = i + 1;
                bytes = 0;
        }
}

/* Borders are where blocks begin that lie in no other one. */
static void pass_divide_blocks(struct pass_plan *plan)
{
        const struct index *x = plan->index;
        uint64_t parts = x->bytes / PASS_PART + 1;
        uint32_t first = 0;

        plan->all += x->bytes;
        for (uint64_t i = 1; i <= parts && first < x->count; i++) {
                uint32_t end = (uint32_t)(x->count * i / parts);

                end = end > first ? end : first + 1;
                while (x->parents && end < x->count && x->parents[end])
                        end++;
                pass_add(plan, (struct pass_part){ .first = first, .end = end });
                first = end;
        }
}

uint32_t *pass_run(const struct search_input *in, const struct index *x, struct search_graph *g)
{
        struct pass_plan plan = { .in = in, .index = x, .memory = destinations_memory(in), .g = g,
                                  .lock = PTHREAD_MUTEX_INITIALIZER };

        pass_reserve(&plan, &(struct sift){ .link_count = x->count });
        pass_divide_roots(&plan);
        pass_divide_blocks(&plan);
        parallel_run(in->threads, plan.count, pass_run_part, &plan);
        progress_tell(in->progress, plan.all & ~UINT64_C(15), plan.all);
        pass_arenas(&plan);
        for (uint32_t i = 0; i < PARALLEL_MOST; i++) {
                free(plan.own[i].buffer);
                free(plan.own[i].spans);
        }
        for (uint32_t i = 0; i < plan.spare_count; i++) {
                sift_free(plan.spare[i]);
                free(plan.spare[i]);
        }
        free(plan.parts);
        pthread_mutex_destroy(&plan.lock);
        return plan.owners;
}
