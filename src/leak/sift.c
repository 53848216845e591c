/* SPDX-License-Identifier: MIT */
/*
 * sift.c -- the pointers among the words of a piece of memory.
 *
 * Keeps:  three sieves, each finer and slower than the one before: is the word between the lowest
 *         and the highest block; does it belong to anybody; is there a block.  The last works on
 *         batches, so that the cache misses of many look-ups overlap.
 */
#include "leak/sift.h"

#include <stdlib.h>
#include <string.h>

#include "leak/code.h"
#include "leak/huge_array.h"

#define SIFT_WORDS 1024u /* at a time */
#define SIFT_BATCH 64u   /* look-ups under way */

/* A word that may be a pointer, and whose it is. */
struct sift_word {
        uint64_t word;
        uint64_t at; /* address */
        const struct span *span;
};

/* Offsets from BYTES of likely words, of COUNT at distances of STEP.  Without a branch: every
 * tenth word may be a pointer. */
static inline __attribute__((always_inline)) size_t sift_words(const struct index *x,
                                                               const uint8_t *bytes, size_t count,
                                                               size_t step, bool narrow,
                                                               bool turned, uint32_t *offsets)
{
        size_t found = 0;

        for (size_t i = 0; i < count; i++) {
                offsets[found] = (uint32_t)(i * step);
                found += index_likely(x, search_word(bytes + i * step, narrow, turned));
        }
        return found;
}

static size_t sift_likely(const struct index *x, const struct piece *p, const uint8_t *bytes,
                          size_t count, uint32_t *offsets)
{
        if (p->narrow)
                return p->turned ? sift_words(x, bytes, count, p->step, true, true, offsets)
                                 : sift_words(x, bytes, count, p->step, true, false, offsets);
        return p->turned ? sift_words(x, bytes, count, p->step, false, true, offsets)
                         : sift_words(x, bytes, count, p->step, false, false, offsets);
}

/* Room for what a round may find. */
static void sift_reserve(struct sift *s, bool root)
{
        if (root && s->hold_room - s->hold_count < SIFT_WORDS) {
                s->hold_room = s->hold_room ? 2 * s->hold_room : 2 * SIFT_WORDS;
                s->holds = huge_array_grow(s->holds, s->hold_room, sizeof *s->holds);
                s->hold_offsets = huge_array_grow(s->hold_offsets, s->hold_room,
                                                  sizeof *s->hold_offsets);
        }
        if (!root && s->link_room - s->link_count < SIFT_WORDS) {
                s->link_room = s->link_room ? 2 * s->link_room : 2 * SIFT_WORDS;
                s->links = huge_array_grow(s->links, s->link_room, sizeof *s->links);
                s->link_offsets = huge_array_grow(s->link_offsets, s->link_room,
                                                  sizeof *s->link_offsets);
                if (s->index->parents)
                        s->owners = huge_array_grow(s->owners, s->link_room, sizeof *s->owners);
        }
}

void sift_clear(struct sift *s)
{
        s->link_count = s->hold_count = s->root_bytes = s->heap_bytes = 0;
        s->flags = 0;
}

void sift_free(struct sift *s)
{
        free(s->links);
        free(s->link_offsets);
        free(s->owners);
        free(s->holds);
        free(s->hold_offsets);
}

static inline void sift_put_link(struct sift *s, uint32_t owner, struct search_link link,
                                 uint8_t offset)
{
        if (s->owners)
                s->owners[s->link_count] = owner;
        s->link_offsets[s->link_count] = offset;
        s->flags |= link.to;
        s->links[s->link_count++] = link;
        s->g->first[owner + 1]++;
}

void sift_add_link(struct sift *s, uint32_t owner, struct search_link link)
{
        sift_reserve(s, false);
        sift_put_link(s, owner, link, 0);
}

/* Where a passage or an inner block begins is not known for sure; only an array of no elements is
 * hit by its end. */
static inline uint32_t sift_how(const struct sift *s, const struct index_probe *probe)
{
        const struct search_block *b = &s->in->blocks[probe->block];

        if (probe->start || b->flags & (SEARCH_BLOCK_PASSAGE | SEARCH_BLOCK_INNER))
                return 0;
        return probe->word - b->address == b->size ? SEARCH_LINK_IDIOM : SEARCH_LINK_INTERIOR;
}

static inline uint8_t sift_offset(const struct sift *s, const struct index_probe *probe)
{
        uint64_t offset = probe->word - s->in->blocks[probe->block].address;

        return offset <= SEARCH_NEAR ? (uint8_t)offset : 0;
}

static inline void sift_put(struct sift *s, bool root, const struct sift_word *w,
                            const struct index_probe *probe)
{
        uint32_t owner = w->span->owner, to = probe->block | sift_how(s, probe);
        uint64_t at = w->at - w->span->base;
        uint8_t offset = to & SEARCH_LINK_INTERIOR ? sift_offset(s, probe) : 0;

        if (root) {
                if (s->in->roots[owner].flags & SEARCH_ROOT_WHOLE)
                        to = probe->block;
                s->flags |= to;
                s->hold_offsets[s->hold_count] = offset;
                s->holds[s->hold_count++] = (struct search_hold){ .at = at, .root = owner,
                                                                  .to = to };
                return;
        }
        if (owner == probe->block)
                return;
        at >>= s->unit;
        at = at < SEARCH_AT_ARENA ? at : UINT32_MAX;
        sift_put_link(s, owner, (struct search_link){ .to = to, .at = (uint32_t)at }, offset);
}

static void sift_look_up(struct sift *s, bool root, const struct sift_word *words, size_t count)
{
        struct index_probe probes[SIFT_BATCH];
        uint32_t which[SIFT_BATCH];

        for (size_t i = 0; i < count; i += SIFT_BATCH) {
                size_t batch = count - i < SIFT_BATCH ? count - i : SIFT_BATCH, hits = 0;

                for (size_t k = 0; k < batch; k++) {
                        index_probe_begin(s->index, &probes[hits], words[i + k].word);
                        which[hits] = (uint32_t)(i + k);
                        if (!root)
                                __builtin_prefetch(&s->g->first[words[i + k].span->owner + 1], 1);
                        hits += probes[hits].stretch != NULL;
                }
                for (size_t k = 0; k < hits; k++)
                        index_probe_rank(s->index, &probes[k]);
                for (size_t k = 0; k < hits; k++) {
                        index_probe_end(s->index, &probes[k]);
                        if (probes[k].block != INDEX_NONE)
                                sift_put(s, root, &words[which[k]], &probes[k]);
                }
        }
}

/* Words of blocks that can tell the class of an object. */
static void sift_vtables(struct sift *s, const struct piece *p)
{
        uint32_t width = search_width(p->narrow);

        for (size_t i = 0; i < p->span_count; i++) {
                const struct span *span = &p->spans[i];

                if (span->start == span->base && span->end - span->start >= width) {
                        uint64_t word = search_word(p->bytes + (span->start - p->address),
                                                    p->narrow, p->turned);

                        if (code_has(s->in, word))
                                s->g->vtables[span->owner] = word;
                }
        }
}

void sift_piece(struct sift *s, const struct piece *p)
{
        size_t step = p->step, width = search_width(p->narrow);
        size_t all = p->size < width ? 0 : (p->size - width) / step + 1;
        const struct span *span = p->spans, *end = p->spans + p->span_count;
        struct sift_word words[SIFT_WORDS];
        uint32_t offsets[SIFT_WORDS];

        for (size_t done = 0; done < all; done += SIFT_WORDS) {
                const uint8_t *bytes = p->bytes + done * step;
                size_t count = all - done < SIFT_WORDS ? all - done : SIFT_WORDS, owned = 0;
                size_t likely = sift_likely(s->index, p, bytes, count, offsets);

                for (size_t i = 0; i < likely; i++) {
                        uint64_t at = p->address + done * step + offsets[i];

                        while (span < end && span->end < at + width)
                                span++;
                        if (span == end)
                                break;
                        words[owned] = (struct sift_word){
                                .word = search_word(bytes + offsets[i], p->narrow, p->turned),
                                .at = at, .span = span };
                        owned += span->start <= at;
                }
                sift_reserve(s, p->root);
                sift_look_up(s, p->root, words, owned);
        }
        if (!p->root && s->in->code_count)
                sift_vtables(s, p);
}
