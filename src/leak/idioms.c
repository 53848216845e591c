/* SPDX-License-Identifier: MIT */
/*
 * idioms.c -- interior pointers that are as good as pointers to the start.
 *
 * Keeps:  memory is read for few pointers only (their targets would be possibly lost), in large
 *         pieces: what is near the start of blocks by fronts.c, what may be a base class in
 *         batches.  Three rounds over these pointers, by several threads: ask, judge, and accept
 *         those behind headers.  A part of the graph has as many of them in each round, so the
 *         first tells the number of each, and what is found does not depend on the threads.
 */
#include "leak/idioms.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/parallel.h"
#include "leak/code.h"
#include "leak/fronts.h"
#include "leak/gather.h"
#include "leak/headers.h"
#include "leak/instances.h"

#define IDIOMS_BATCH 65536u
#define IDIOMS_AHEAD 16u   /* links whose targets are fetched into the cache meanwhile */
#define IDIOMS_PART (1u << 17) /* blocks that a thread looks at in a row */
#define VTABLE_WORDS 20u   /* of a table are looked at ... */
#define VTABLE_ENTRIES 2u  /* ... for so many functions */
#define VTABLES_KNOWN 1024u
#define LOWEST_TABLE 4096u /* small numbers are no addresses */

/* A pointer that may be one. */
struct suspect {
        uint32_t *to;    /* the link's or the hold's */
        uint32_t offset; /* in the block; 0: far from its start */
        bool held;       /* it is in a root, or in a block that is held */
        uint64_t source; /* where it is; 0: in a register */
        uint64_t value;  /* there, what it is */
};

struct idioms;

/* What a thread has for itself. */
struct idioms_own {
        struct idioms *x;
        struct suspect *objects; /* that point into what begins with a table of functions, or has
                                  * an object of GLib's */
        uint32_t object_count;
        uint64_t found;
        uint64_t met; /* the number of the next suspect of the part, of all there are */
        struct {
                uint64_t address;
                bool is_table;
        } known[VTABLES_KNOWN];
};

typedef void meet(struct idioms_own *o, struct suspect suspect);
typedef void fetch(const struct idioms *x, uint32_t block);

struct idioms {
        const struct search_input *in;
        struct search_graph *g;
        struct fronts *fronts;
        struct headers *headers;
        struct idioms_own *own[PARALLEL_MOST];
        uint64_t *met;   /* by part: suspects in it; after the first round: in all before */
        uint32_t parts;  /* the first is the holds, the others are of blocks */
        bool counted;
        meet *meet; /* in this round */
        fetch *fetch;
};

/* A table of functions has nothing but them and zeros. */
static bool idioms_read_table(const struct idioms *x, uint64_t table)
{
        const struct search_memory *m = &x->in->memory;
        uint32_t functions = 0, count = 0, width = search_width(m->narrow);
        uint8_t words[8 * VTABLE_WORDS];

        while (count < VTABLE_WORDS && code_has(x->in, table + width * (count + 1) - 1))
                count++;
        gather_bytes(m, table, words, count * width);
        for (uint32_t i = 0; i < count && functions < VTABLE_ENTRIES; i++) {
                uint64_t word = search_word(words + width * i, m->narrow, m->turned);

                if (word && !code_has(x->in, word))
                        return false;
                functions += word != 0;
        }
        return functions == VTABLE_ENTRIES;
}

static bool idioms_is_table(struct idioms_own *o, uint64_t word)
{
        uint32_t width = search_width(o->x->in->memory.narrow);
        uint32_t slot = (uint32_t)(word / width % VTABLES_KNOWN);

        if (word % width || word < LOWEST_TABLE || !code_has(o->x->in, word))
                return false;
        if (o->known[slot].address != word) {
                o->known[slot].address = word;
                o->known[slot].is_table = idioms_read_table(o->x, word);
        }
        return o->known[slot].is_table;
}

static void idioms_accept(struct idioms_own *o, uint32_t *to)
{
        *to = (*to & ~SEARCH_LINK_INTERIOR) | SEARCH_LINK_IDIOM;
        o->found++;
}

/* ---- base classes ---- */

/* A pointer to the second or a later base class of an object: there is a table of functions, as at
 * its start.  Or to an object of GLib behind its private data.  The graph has only what pointers
 * point to, so they are read again. */
static void idioms_judge_objects(struct idioms_own *o)
{
        const struct search_input *in = o->x->in;
        uint64_t *addresses = heap_zero(o->object_count, sizeof *addresses);
        uint64_t *words = heap_zero(o->object_count, sizeof *words);
        uint32_t width = search_width(in->memory.narrow);

        for (uint32_t i = 0; i < o->object_count; i++)
                addresses[i] = o->objects[i].source;
        gather_words(&in->memory, addresses, words, o->object_count);
        for (uint32_t i = 0; i < o->object_count; i++)
                addresses[i] = o->objects[i].source ? words[i] : o->objects[i].value;
        gather_words(&in->memory, addresses, words, o->object_count);
        for (uint32_t i = 0; i < o->object_count; i++) {
                const struct search_block *b = &in->blocks[SEARCH_TO(*o->objects[i].to)];
                uint64_t offset = addresses[i] - b->address;

                if (b->size >= width && offset <= b->size - width && offset % width == 0 &&
                    (idioms_is_table(o, words[i]) ||
                     (in->instances &&
                      instances_begin_at(o->x->g, SEARCH_TO(*o->objects[i].to), offset))))
                        idioms_accept(o, o->objects[i].to);
        }
        o->object_count = 0;
        free(addresses);
        free(words);
}

/* Its first word, if that may be a table: the pass has it, but for an arena that another block
 * begins at the start of. */
static uint64_t idioms_table_of(const struct idioms *x, uint32_t block)
{
        const struct search_block *b = &x->in->blocks[block];
        uint64_t word = x->g->vtables[block];

        if (!word && x->g->nested && block + 1 < x->g->block_count && b[1].address == b->address)
                gather_words(&x->in->memory, &b->address, &word, 1);
        return word && b->address % search_width(x->in->memory.narrow) == 0 ? word : 0;
}

/* ---- what a round makes of a suspect, and what it looks at then ---- */

static void idioms_ask(struct idioms_own *o, struct suspect suspect)
{
        struct idioms *x = o->x;
        uint32_t block = SEARCH_TO(*suspect.to);
        uint64_t table = x->in->code_count ? idioms_table_of(x, block) : 0;

        o->met++;
        if (suspect.offset)
                fronts_ask(x->fronts, block, suspect.offset);
        if (!(table && idioms_is_table(o, table)) &&
            !(x->in->instances && instances_begin_in(x->g, block)))
                return;
        if (!o->objects)
                o->objects = heap_zero(IDIOMS_BATCH, sizeof *o->objects);
        o->objects[o->object_count++] = suspect;
        if (o->object_count == IDIOMS_BATCH)
                idioms_judge_objects(o);
}

static void fetch_asked(const struct idioms *x, uint32_t block)
{
        __builtin_prefetch(&x->fronts->at[block]);
        if (x->in->code_count)
                __builtin_prefetch(&x->g->vtables[block]);
}

static void idioms_judge(struct idioms_own *o, struct suspect suspect)
{
        struct idioms *x = o->x;
        uint32_t block = SEARCH_TO(*suspect.to);
        bool header = suspect.offset && fronts_is_header(x->fronts, block, suspect.offset);

        headers_add(x->headers, o->met++, &(struct headers_pointer){
                .block = block, .offset = header ? (uint8_t)suspect.offset : 0,
                .held = suspect.held });
        if (suspect.offset && fronts_is_known(x->fronts, block, suspect.offset))
                idioms_accept(o, suspect.to);
}

static void fetch_judged(const struct idioms *x, uint32_t block)
{
        __builtin_prefetch(&x->fronts->at[block]);
        __builtin_prefetch(&x->fronts->known[block]);
        headers_fetch(x->headers, block);
}

static void idioms_behind_header(struct idioms_own *o, struct suspect suspect)
{
        bool has = headers_has(o->x->headers, o->met++, SEARCH_TO(*suspect.to));

        if (has && (*suspect.to & SEARCH_LINK_INTERIOR))
                idioms_accept(o, suspect.to);
}

static void fetch_headed(const struct idioms *x, uint32_t block)
{
        if (x->in->places)
                __builtin_prefetch(&x->in->places[block]);
}

/* ---- rounds over all suspects ---- */

static bool idioms_matter(const struct search_graph *g, uint32_t to)
{
        return to & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM) &&
               g->leak[SEARCH_TO(to)] != PROFILE_LEAK_REACHABLE;
}

static void idioms_in_holds(struct idioms_own *o)
{
        struct idioms *x = o->x;

        for (uint64_t i = 0; i < x->g->hold_count; i++) {
                struct search_hold *h = &x->g->holds[i];
                const struct search_root *root = &x->in->roots[h->root];
                struct suspect s = { .to = &h->to, .offset = x->g->hold_offsets[i], .held = true };

                if (root->words)
                        s.value = search_word((const uint8_t *)root->words + (h->at - root->start),
                                              x->in->memory.narrow, false);
                else
                        s.source = h->at;
                if (idioms_matter(x->g, h->to))
                        x->meet(o, s);
        }
}

/* What will be looked at is anywhere. */
static inline void idioms_fetch(const struct idioms *x, uint32_t to)
{
        if (!(to & SEARCH_LINK_INTERIOR))
                return;
        __builtin_prefetch(&x->g->leak[SEARCH_TO(to)]);
        x->fetch(x, SEARCH_TO(to));
}

static void idioms_in_blocks(struct idioms_own *o, uint64_t block, uint64_t end)
{
        const struct idioms *x = o->x;
        struct search_graph *g = x->g;
        uint64_t last = g->first[end];

        for (; block < end; block++)
                for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++) {
                        struct search_link *l = &g->links[i];

                        if (i + IDIOMS_AHEAD < last)
                                idioms_fetch(x, l[IDIOMS_AHEAD].to);
                        if (l->at < SEARCH_AT_ARENA && idioms_matter(g, l->to))
                                x->meet(o, (struct suspect){
                                        .to = &l->to, .offset = g->link_offsets[i],
                                        .held = g->leak[block] != PROFILE_LEAK_UNKNOWN,
                                        .source = x->in->blocks[block].address +
                                                  (uint64_t)l->at * g->unit });
                }
}

static void idioms_part(void *context, uint32_t slot, uint32_t part)
{
        struct idioms *x = context;
        uint64_t first = (uint64_t)(part - !!part) * IDIOMS_PART, left = x->g->block_count - first;
        struct idioms_own *o = x->own[slot];

        if (!o) {
                o = x->own[slot] = heap_zero(1, sizeof *o);
                o->x = x;
        }
        o->met = x->counted ? x->met[part] : 0;
        if (part)
                idioms_in_blocks(o, first, first + (left < IDIOMS_PART ? left : IDIOMS_PART));
        else
                idioms_in_holds(o);
        if (!x->counted)
                x->met[part] = o->met;
}

static void idioms_round(struct idioms *x, meet *round_meet, fetch *round_fetch)
{
        uint32_t threads = x->g->block_count < IDIOMS_PART ? 1 : x->in->threads;

        x->meet = round_meet;
        x->fetch = round_fetch;
        parallel_run(threads, x->parts, idioms_part, x);
}

/* From how many there are in each part to the number of its first.  Returns how many in all. */
static uint64_t idioms_number(struct idioms *x)
{
        uint64_t all = 0;

        for (uint32_t i = 0; i < x->parts; i++) {
                uint64_t here = x->met[i];

                x->met[i] = all;
                all += here;
        }
        x->counted = true;
        return all;
}

static void idioms_run(struct idioms *x)
{
        uint64_t suspects;

        idioms_round(x, idioms_ask, fetch_asked);
        for (uint32_t i = 0; i < PARALLEL_MOST; i++)
                if (x->own[i] && x->own[i]->object_count)
                        idioms_judge_objects(x->own[i]);
        suspects = idioms_number(x);
        if (!suspects)
                return;
        fronts_read(x->fronts);
        x->headers = headers_new(x->in, x->g, suspects);
        idioms_round(x, idioms_judge, fetch_judged);
        fronts_free(x->fronts);
        x->fronts = NULL;
        if (headers_decide(x->headers))
                idioms_round(x, idioms_behind_header, fetch_headed);
        headers_free(x->headers);
}

uint64_t idioms_find(const struct search_input *in, struct search_graph *g)
{
        struct idioms x = { .in = in, .g = g,
                            .parts = 1 + (uint32_t)((g->block_count + IDIOMS_PART - 1) /
                                                    IDIOMS_PART) };
        uint64_t found = 0;

        if (!(g->link_flags & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM)))
                return 0;
        x.fronts = fronts_new(in);
        x.met = heap_zero(x.parts, sizeof *x.met);
        idioms_run(&x);
        for (uint32_t i = 0; i < PARALLEL_MOST; i++) {
                found += x.own[i] ? x.own[i]->found : 0;
                if (x.own[i])
                        free(x.own[i]->objects);
                free(x.own[i]);
        }
        if (found)
                g->link_flags |= SEARCH_LINK_IDIOM;
        if (x.fronts)
                fronts_free(x.fronts);
        free(x.met);
        return found;
}
