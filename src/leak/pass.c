/* SPDX-License-Identifier: MIT */
/*
 * pass.c -- all memory that counts, read once from low to high in large pieces.
 *
 * Keeps:  a piece is one call of read(): neighbouring blocks and what little is between them.  What
 *         cannot be read counts as zero.
 */
#include "leak/pass.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/gather.h"

#define PASS_SPANS 32768u       /* in a piece */
#define PASS_LARGE (64u * 1024) /* spans of which unused pages are left out, and in what steps */

struct pass {
        struct sift *sift;
        const struct search_memory *memory;
        uint8_t *buffer;
        struct span *spans;
        struct span_supply supply;
        struct span ahead; /* the next span, or what is left of it */
        bool more;         /* there is one */
        bool root, turned;
        uint64_t done, all; /* bytes, for whoever wants to know how far it is */
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
        uint64_t *looked = p->root ? &p->sift->g->root_bytes : &p->sift->g->heap_bytes;
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
        progress_tell(p->sift->in->progress, p->done & ~UINT64_C(15), p->all);
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

static uint64_t pass_measure(const struct sift *s)
{
        const struct search_input *in = s->in;
        uint64_t all = s->index->bytes;

        for (uint32_t i = 0; i < in->root_count; i++)
                all += in->roots[i].end - in->roots[i].start;
        return all;
}

void pass_run(struct sift *s)
{
        const struct search_input *in = s->in;
        struct pass p = { .sift = s, .memory = &in->memory, .all = pass_measure(s) };

        p.buffer = heap_grow(NULL, GATHER_PIECE, 1);
        p.spans = heap_grow(NULL, PASS_SPANS, sizeof *p.spans);
        for (uint32_t i = 0; i < in->root_count; i++) {
                if (in->roots[i].words)
                        pass_words(&p, &in->roots[i], i);
                else if (in->roots[i].start < in->roots[i].end)
                        pass_supply(&p, span_root(s->index, &in->roots[i], i), &in->roots[i]);
        }
        pass_supply(&p, span_blocks(s->index), NULL);
        free(p.spans);
        free(p.buffer);
}
