/* SPDX-License-Identifier: MIT */
/*
 * scene_slow.c -- the search for pointers by its rules alone.
 */
#include "scene_slow.h"

#include <stdlib.h>

#include "base/heap.h"

#define NOBODY UINT32_MAX

/* The last block around ADDRESS in the order of blocks is the innermost.  With AS_TARGET, blocks of
 * no bytes have one. */
static uint32_t slow_block_at(const struct scene *s, uint64_t address, bool as_target)
{
        for (uint32_t i = s->block_count; i-- > 0;) {
                const struct search_block *b = &s->blocks[i];

                if (address >= b->address &&
                    address < b->address + (b->size || !as_target ? b->size : 1))
                        return i;
        }
        return NOBODY;
}

static bool slow_owns(const struct scene *s, uint64_t address, uint32_t owner)
{
        for (unsigned i = 0; i < 8; i++)
                if (slow_block_at(s, address + i, false) != owner)
                        return false;
        return true;
}

static uint32_t slow_unit(const struct scene *s)
{
        bool odd = s->unaligned;

        for (uint32_t i = 0; i < s->block_count; i++)
                odd |= s->blocks[i].address % 8 != 0;
        return odd ? 1 : 8;
}

/* What WORD means as a pointer: index and flags; NOBODY. */
static uint32_t slow_target(const struct scene *s, uint64_t word)
{
        uint32_t to = slow_block_at(s, word, true);

        for (uint32_t i = 0; to == NOBODY && i < s->block_count; i++)
                if (s->blocks[i].flags & SEARCH_BLOCK_NO_ELEMENTS &&
                    word == s->blocks[i].address + s->blocks[i].size)
                        return i |
                               (s->blocks[i].flags & SEARCH_BLOCK_PASSAGE ? 0 : SEARCH_LINK_IDIOM);
        if (to == NOBODY || word == s->blocks[to].address ||
            (s->blocks[to].flags & SEARCH_BLOCK_PASSAGE))
                return to;
        return to | SEARCH_LINK_INTERIOR;
}

static void slow_hold(struct slow *w, const struct scene *s, uint32_t root, uint64_t at,
                      uint64_t word)
{
        uint32_t to = slow_target(s, word);

        if (to == NOBODY)
                return;
        if (s->roots[root].flags & SEARCH_ROOT_WHOLE)
                to = SEARCH_TO(to);
        w->holds = heap_grow(w->holds, w->hold_count + 1, sizeof *w->holds);
        w->holds[w->hold_count++] = (struct search_hold){ .at = at, .root = root, .to = to };
}

static void slow_roots(struct slow *w, const struct scene *s)
{
        for (uint32_t i = 0; i < s->root_count; i++) {
                const struct search_root *r = &s->roots[i];

                for (uint64_t at = (r->start + 7) / 8 * 8; r->words && at + 8 <= r->end; at += 8)
                        slow_hold(w, s, i, at, r->words[(at - r->start) / 8]);
                for (uint64_t at = s->unaligned ? r->start : (r->start + 7) / 8 * 8;
                     !r->words && at + 8 <= r->end; at += s->unaligned ? 1 : 8)
                        if (slow_owns(s, at, NOBODY))
                                slow_hold(w, s, i, at, scene_load(s, at));
        }
}

static void slow_link(struct slow *w, uint32_t from, uint32_t to, uint64_t at)
{
        if (SEARCH_TO(to) == from)
                return;
        w->links = heap_grow(w->links, w->link_count + 1, sizeof *w->links);
        w->links[w->link_count++] = (struct search_link){ .to = to, .at = (uint32_t)at };
}

static void slow_blocks(struct slow *w, const struct scene *s)
{
        uint32_t unit = slow_unit(s);

        for (uint32_t i = 0; i < s->block_count; i++) {
                const struct search_block *b = &s->blocks[i];
                uint64_t step = s->unaligned ? 1 : 8, first = scene_load(s, b->address);
                uint32_t arena = NOBODY;

                w->first[i] = w->link_count;
                if (slow_owns(s, b->address, i) && first >= SCENE_CODE &&
                    first < SCENE_CODE + SCENE_CODE_BYTES)
                        w->vtables[i] = first;
                for (uint64_t at = (b->address + step - 1) / step * step;
                     at + 8 <= b->address + b->size; at += step) {
                        uint32_t to = slow_target(s, scene_load(s, at));

                        if (to != NOBODY && slow_owns(s, at, i))
                                slow_link(w, i, to, (at - b->address) / unit);
                }
                for (uint32_t k = 0; k < i; k++)
                        if (s->blocks[k].address + (s->blocks[k].size ? s->blocks[k].size : 1) >
                            b->address)
                                arena = k;
                if (arena != NOBODY)
                        slow_link(w, i, arena, SEARCH_AT_ARENA);
        }
        w->first[s->block_count] = w->link_count;
}

/* FROM is the class of who holds it; 0 nobody.  Returns whether something changed. */
static bool slow_raise(struct slow *w, uint32_t to, uint8_t from)
{
        uint8_t *leak = &w->leak[SEARCH_TO(to)];
        uint8_t now = to & SEARCH_LINK_INTERIOR && from ? PROFILE_LEAK_POSSIBLE : from;

        if (!now || (*leak && *leak <= now))
                return false;
        *leak = now;
        return true;
}

static void slow_mark(struct slow *w, const struct scene *s)
{
        bool changed = true;

        for (uint32_t i = 0; i < s->block_count; i++)
                w->leak[i] = s->blocks[i].flags & SEARCH_BLOCK_IGNORED ? PROFILE_LEAK_REACHABLE
                                                                       : PROFILE_LEAK_UNKNOWN;
        for (uint64_t i = 0; i < w->hold_count; i++)
                slow_raise(w, w->holds[i].to, PROFILE_LEAK_REACHABLE);
        while (changed) {
                changed = false;
                for (uint32_t i = 0; i < s->block_count; i++)
                        for (uint64_t k = w->first[i]; k < w->first[i + 1]; k++)
                                changed |= slow_raise(w, w->links[k].to, w->leak[i]);
        }
}

static bool slow_is_code(uint64_t word)
{
        return word >= SCENE_CODE && word < SCENE_CODE + SCENE_CODE_BYTES;
}

static bool slow_is_table(const struct scene *s, uint64_t word)
{
        unsigned functions = 0;

        if (word % 8 || !slow_is_code(word))
                return false;
        for (unsigned i = 0; i < 20 && functions < 2; i++) {
                uint64_t entry = slow_is_code(word + 8 * i) ? scene_load(s, word + 8 * i) : 1;

                if (entry && !slow_is_code(entry))
                        return false;
                functions += entry != 0;
        }
        return functions == 2;
}

static bool slow_is_idiom(const struct scene *s, const struct search_block *b, uint64_t pointer)
{
        uint64_t first = scene_load(s, b->address), second = scene_load(s, b->address + 8),
                 offset = pointer - b->address;

        if (b->address % 8 || offset % 8 || offset >= b->size)
                return false;
        return (offset == 24 && first <= second && 24 + second + 1 == b->size) ||
               (offset == 8 && first + 8 == b->size) ||
               (offset == 8 && first && (b->size - 8) % first == 0) ||
               (offset + 8 <= b->size && slow_is_table(s, first) &&
                slow_is_table(s, scene_load(s, pointer)));
}

/* A block is marked when all pointers from reachable ones are idioms. */
static void slow_idiom_only(struct slow *w, const struct scene *s)
{
        for (uint32_t t = 0; t < s->block_count; t++) {
                bool start = s->blocks[t].flags & SEARCH_BLOCK_IGNORED;

                for (uint64_t i = 0; i < w->hold_count; i++)
                        start |= w->holds[i].to == t;
                for (uint32_t b = 0; b < s->block_count; b++)
                        for (uint64_t k = w->first[b];
                             w->leak[b] == PROFILE_LEAK_REACHABLE && k < w->first[b + 1]; k++)
                                start |= w->links[k].to == t;
                w->idiom[t] = w->leak[t] == PROFILE_LEAK_REACHABLE && !start;
        }
}

static uint64_t slow_held_word(const struct slow *w, const struct scene *s, uint64_t i)
{
        const struct search_root *r = &s->roots[w->holds[i].root];

        return r->words ? r->words[(w->holds[i].at - r->start) / 8] : scene_load(s, w->holds[i].at);
}

static void slow_idioms(struct slow *w, const struct scene *s)
{
        uint32_t unit = slow_unit(s);

        for (uint64_t i = 0; i < w->hold_count; i++) {
                uint64_t word = slow_held_word(w, s, i);
                uint32_t to = SEARCH_TO(w->holds[i].to);

                if (w->holds[i].to != to && w->leak[to] != PROFILE_LEAK_REACHABLE &&
                    slow_is_idiom(s, &s->blocks[to], word))
                        w->holds[i].to = to | SEARCH_LINK_IDIOM;
        }
        for (uint32_t b = 0; b < s->block_count; b++) {
                for (uint64_t k = w->first[b]; k < w->first[b + 1]; k++) {
                        uint32_t to = SEARCH_TO(w->links[k].to);
                        uint64_t word = scene_load(s, s->blocks[b].address +
                                                              (uint64_t)w->links[k].at * unit);

                        if (w->links[k].to != to && w->leak[to] != PROFILE_LEAK_REACHABLE &&
                            slow_is_idiom(s, &s->blocks[to], word))
                                w->links[k].to = to | SEARCH_LINK_IDIOM;
                }
        }
}

/* ---- headers ---- */

/* PLACE or one that it is wider than; 0 is none. */
static bool slow_is_in(const struct scene *s, uint32_t block, uint32_t place)
{
        uint32_t at = s->places[block];

        while (at && at != place)
                at = s->wider[at];
        return at != 0;
}

/* The least offset at which something that is held holds the block, with what looks like a header
 * in front; 0 none. */
struct slow_headers {
        const struct scene *s;
        const struct slow *w;
        uint64_t least[SCENE_MOST];
};

static uint64_t slow_header(const struct slow_headers *h, uint32_t to, uint64_t word)
{
        const struct search_block *b = &h->s->blocks[SEARCH_TO(to)];
        uint64_t offset = word - b->address, byte = scene_load(h->s, word - 1) & 0xff;

        if (to == SEARCH_TO(to) || h->w->leak[SEARCH_TO(to)] == PROFILE_LEAK_REACHABLE ||
            !h->s->places[SEARCH_TO(to)])
                return 0;
        if (!offset || offset > 128 || offset >= b->size)
                return 0;
        if (offset == 1)
                return byte == b->size - 1 || byte == b->size - 2 || byte == 8 * (b->size - 2);
        return byte < 16 ? offset : 0;
}

static void slow_vote(struct slow_headers *h, uint32_t to, uint64_t word)
{
        uint64_t offset = slow_header(h, to, word), *least = &h->least[SEARCH_TO(to)];

        if (offset && (!*least || offset < *least))
                *least = offset;
}

static uint64_t slow_count(const struct slow_headers *h, uint32_t place, uint64_t offset)
{
        uint64_t count = 0;

        for (uint32_t i = 0; i < h->s->block_count; i++)
                count += h->w->leak[i] && slow_is_in(h->s, i, place) &&
                         (!offset || h->least[i] == offset);
        return count;
}

/* KNOWN: offsets that wider places vouch for count, too. */
static bool slow_place_has(const struct slow_headers *h, uint32_t place, bool known)
{
        uint64_t held = slow_count(h, place, 0), good = 0, offsets = 0;

        for (uint64_t offset = 1; offset <= 128; offset++) {
                uint64_t count = slow_count(h, place, offset);
                bool vouched = false;

                for (uint32_t up = h->s->wider[place]; known && up; up = h->s->wider[up])
                        vouched |= slow_count(h, up, offset) >= 8 && slow_place_has(h, up, false);
                good += count >= 8 || vouched ? count : 0;
                offsets += count >= 8;
        }
        return held >= 8 && offsets <= 5 && 10 * good >= 9 * held;
}

static bool slow_is_header(const struct slow_headers *h, uint32_t to, uint64_t word)
{
        uint64_t offset = slow_header(h, to, word);

        for (uint32_t place = h->s->places[SEARCH_TO(to)]; offset && place;
             place = h->s->wider[place]) {
                if (slow_count(h, place, 0) < 8)
                        continue;
                if (!slow_place_has(h, place, true))
                        return false;
                if (slow_count(h, place, offset) >= 8)
                        return true;
        }
        return false;
}

static void slow_find_headers(struct slow *w, const struct scene *s)
{
        struct slow_headers h = { .s = s, .w = w };
        uint32_t unit = slow_unit(s);

        for (uint64_t i = 0; i < w->hold_count; i++)
                slow_vote(&h, w->holds[i].to, slow_held_word(w, s, i));
        for (uint32_t b = 0; b < s->block_count; b++)
                for (uint64_t k = w->first[b]; w->leak[b] && k < w->first[b + 1]; k++)
                        slow_vote(&h, w->links[k].to,
                                  scene_load(s, s->blocks[b].address +
                                                        (uint64_t)w->links[k].at * unit));
        for (uint64_t i = 0; i < w->hold_count; i++)
                if (slow_is_header(&h, w->holds[i].to, slow_held_word(w, s, i)))
                        w->holds[i].to = SEARCH_TO(w->holds[i].to) | SEARCH_LINK_IDIOM;
        for (uint32_t b = 0; b < s->block_count; b++)
                for (uint64_t k = w->first[b]; k < w->first[b + 1]; k++)
                        if (slow_is_header(&h, w->links[k].to,
                                           scene_load(s, s->blocks[b].address +
                                                                 (uint64_t)w->links[k].at * unit)))
                                w->links[k].to = SEARCH_TO(w->links[k].to) | SEARCH_LINK_IDIOM;
}

/* Passages that nobody holds, and all behind them. */
static void slow_passages(struct slow *w, const struct scene *s, bool *passed)
{
        bool changed = true;

        for (uint32_t i = 0; i < s->block_count; i++)
                passed[i] = !w->leak[i] && s->blocks[i].flags & SEARCH_BLOCK_PASSAGE;
        for (uint32_t i = 0; i < s->block_count; i++)
                if (passed[i])
                        w->leak[i] = PROFILE_LEAK_POSSIBLE;
        while (changed) {
                changed = false;
                for (uint32_t i = 0; i < s->block_count; i++)
                        for (uint64_t k = w->first[i];
                             w->leak[i] == PROFILE_LEAK_POSSIBLE && k < w->first[i + 1]; k++)
                                changed |= slow_raise(w, w->links[k].to, PROFILE_LEAK_POSSIBLE);
        }
}

/* BLOCK, and all lost ones that hang on it, are of the group HEAD; groups of heads that are met
 * are, too. */
static void slow_gather(struct slow *w, const struct scene *s, uint32_t block, uint32_t head)
{
        for (uint64_t k = w->first[block]; k < w->first[block + 1]; k++) {
                uint32_t to = SEARCH_TO(w->links[k].to);

                if (to == head ||
                    (w->leak[to] != PROFILE_LEAK_UNKNOWN && w->leak[to] != PROFILE_LEAK_DEFINITE))
                        continue;
                for (uint32_t i = 0; i < s->block_count; i++)
                        if (w->head[i] == to + 1)
                                w->head[i] = head + 1;
                w->leak[to] = PROFILE_LEAK_INDIRECT;
                w->head[to] = head + 1;
                slow_gather(w, s, to, head);
        }
}

/* Whether there is a way from BLOCK to TO. */
static bool slow_leads(const struct slow *w, uint32_t block, uint32_t to, bool *seen)
{
        if (block == to)
                return true;
        if (seen[block])
                return false;
        seen[block] = true;
        for (uint64_t k = w->first[block]; k < w->first[block + 1]; k++)
                if (slow_leads(w, SEARCH_TO(w->links[k].to), to, seen))
                        return true;
        return false;
}

/* The head of a group gives its place to the block of its ring that has the first place. */
static void slow_turn(struct slow *w, const struct scene *s, uint32_t head)
{
        uint32_t best = head;

        for (uint32_t i = 0; i < s->block_count; i++) {
                bool seen[SCENE_MOST] = { 0 };

                if (w->head[i] == head + 1 && s->places[i] < s->places[best] &&
                    slow_leads(w, i, head, seen))
                        best = i;
        }
        for (uint32_t i = 0; i < s->block_count; i++)
                if (best != head && (w->head[i] == head + 1 || i == head))
                        w->head[i] = best + 1;
        w->leak[head] = PROFILE_LEAK_INDIRECT;
        w->leak[best] = PROFILE_LEAK_DEFINITE;
        w->head[best] = 0;
}

struct slow slow_search(const struct scene *s)
{
        struct slow w = { 0 };
        bool passed[SCENE_MOST], heads[SCENE_MOST];

        slow_roots(&w, s);
        slow_blocks(&w, s);
        slow_mark(&w, s);
        if (!s->no_idioms) {
                slow_idioms(&w, s);
                slow_find_headers(&w, s);
                slow_mark(&w, s);
        }
        slow_idiom_only(&w, s);
        slow_passages(&w, s, passed);
        for (uint32_t i = 0; i < s->block_count; i++) {
                if (w.leak[i] == PROFILE_LEAK_UNKNOWN) {
                        w.leak[i] = PROFILE_LEAK_DEFINITE;
                        slow_gather(&w, s, i, i);
                }
        }
        for (uint32_t i = 0; i < s->block_count; i++)
                heads[i] = w.leak[i] == PROFILE_LEAK_DEFINITE;
        for (uint32_t i = 0; i < s->block_count; i++)
                if (heads[i])
                        slow_turn(&w, s, i);
        for (uint32_t i = 0; i < s->block_count; i++)
                w.leak[i] = passed[i] ? PROFILE_LEAK_UNKNOWN : w.leak[i];
        return w;
}

void slow_free(struct slow *slow)
{
        free(slow->links);
        free(slow->holds);
}
