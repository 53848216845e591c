/* SPDX-License-Identifier: MIT */
/*
 * idioms.c -- interior pointers that are as good as pointers to the start.
 *
 * Keeps:  memory is read for few pointers only (their targets would be possibly lost), in large
 *         pieces: what is near the start of blocks by fronts.c, what may be a base class in
 *         batches.
 */
#include "leak/idioms.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/code.h"
#include "leak/fronts.h"
#include "leak/gather.h"
#include "leak/headers.h"

#define IDIOMS_BATCH 65536u
#define IDIOMS_AHEAD 16u   /* links whose targets are fetched into the cache meanwhile */
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

struct idioms {
        const struct search_input *in;
        struct search_graph *g;
        struct fronts *fronts;
        struct headers *headers;
        struct suspect *objects; /* that point into what begins with a table of functions */
        uint32_t object_count;
        bool nested; /* some begin where others do */
        uint64_t found;
        uint64_t met; /* suspects, in the last round */
        struct {
                uint64_t address;
                bool is_table;
        } known[VTABLES_KNOWN];
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

static bool idioms_is_table(struct idioms *x, uint64_t word)
{
        uint32_t width = search_width(x->in->memory.narrow);
        uint32_t slot = (uint32_t)(word / width % VTABLES_KNOWN);

        if (word % width || word < LOWEST_TABLE || !code_has(x->in, word))
                return false;
        if (x->known[slot].address != word) {
                x->known[slot].address = word;
                x->known[slot].is_table = idioms_read_table(x, word);
        }
        return x->known[slot].is_table;
}

static void idioms_accept(struct idioms *x, uint32_t *to)
{
        *to = (*to & ~SEARCH_LINK_INTERIOR) | SEARCH_LINK_IDIOM;
        x->found++;
}

/* ---- base classes ---- */

/* A pointer to the second or a later base class of an object: there is a table of functions, as at
 * its start.  The graph has only what pointers point to, so they are read again. */
static void idioms_judge_objects(struct idioms *x)
{
        uint64_t *addresses = heap_zero(x->object_count, sizeof *addresses);
        uint64_t *words = heap_zero(x->object_count, sizeof *words);
        uint32_t width = search_width(x->in->memory.narrow);

        for (uint32_t i = 0; i < x->object_count; i++)
                addresses[i] = x->objects[i].source;
        gather_words(&x->in->memory, addresses, words, x->object_count);
        for (uint32_t i = 0; i < x->object_count; i++)
                addresses[i] = x->objects[i].source ? words[i] : x->objects[i].value;
        gather_words(&x->in->memory, addresses, words, x->object_count);
        for (uint32_t i = 0; i < x->object_count; i++) {
                const struct search_block *b = &x->in->blocks[SEARCH_TO(*x->objects[i].to)];
                uint64_t offset = addresses[i] - b->address;

                if (b->size >= width && offset <= b->size - width && offset % width == 0 &&
                    idioms_is_table(x, words[i]))
                        idioms_accept(x, x->objects[i].to);
        }
        x->object_count = 0;
        free(addresses);
        free(words);
}

/* Its first word, if that may be a table: the pass has it, but for an arena that another block
 * begins at the start of. */
static uint64_t idioms_table_of(const struct idioms *x, uint32_t block)
{
        const struct search_block *b = &x->in->blocks[block];
        uint64_t word = x->g->vtables[block];

        if (!word && x->nested && block + 1 < x->g->block_count && b[1].address == b->address)
                gather_words(&x->in->memory, &b->address, &word, 1);
        return word && b->address % search_width(x->in->memory.narrow) == 0 ? word : 0;
}

static bool idioms_are_nested(const struct search_input *in)
{
        for (uint64_t i = 1; i < in->block_count; i++)
                if (in->blocks[i].address == in->blocks[i - 1].address)
                        return true;
        return false;
}

/* ---- rounds over all suspects ---- */

static void idioms_ask(struct idioms *x, struct suspect suspect)
{
        uint32_t block = SEARCH_TO(*suspect.to);
        uint64_t table = x->in->code_count ? idioms_table_of(x, block) : 0;

        if (suspect.offset)
                fronts_ask(x->fronts, block, suspect.offset);
        if (!table || !idioms_is_table(x, table))
                return;
        x->objects[x->object_count++] = suspect;
        if (x->object_count == IDIOMS_BATCH)
                idioms_judge_objects(x);
}

static void idioms_judge(struct idioms *x, struct suspect suspect)
{
        uint32_t block = SEARCH_TO(*suspect.to);
        bool header = suspect.offset && fronts_is_header(x->fronts, block, suspect.offset);

        headers_add(x->headers, &(struct headers_pointer){
                .block = block, .offset = header ? (uint8_t)suspect.offset : 0,
                .held = suspect.held });
        if (suspect.offset && fronts_is_known(x->fronts, block, suspect.offset))
                idioms_accept(x, suspect.to);
}

/* Judged in the same order. */
static void idioms_behind_header(struct idioms *x, struct suspect suspect)
{
        bool has = headers_has(x->headers, x->met++, SEARCH_TO(*suspect.to));

        if (has && (*suspect.to & SEARCH_LINK_INTERIOR))
                idioms_accept(x, suspect.to);
}

typedef void meet(struct idioms *x, struct suspect suspect);

static bool idioms_matter(const struct search_graph *g, uint32_t to)
{
        return to & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM) &&
               g->leak[SEARCH_TO(to)] != PROFILE_LEAK_REACHABLE;
}

static void idioms_in_holds(struct idioms *x, meet *suspect_meet)
{
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
                        suspect_meet(x, s);
        }
}

/* What will be looked at is anywhere. */
static inline void idioms_fetch(const struct idioms *x, uint32_t to)
{
        uint32_t block = SEARCH_TO(to);

        if (!(to & SEARCH_LINK_INTERIOR))
                return;
        __builtin_prefetch(&x->g->leak[block]);
        if (x->fronts)
                __builtin_prefetch(&x->fronts->at[block]);
        if (x->in->code_count)
                __builtin_prefetch(&x->g->vtables[block]);
        headers_fetch(x->headers, block);
}

static void idioms_in_blocks(struct idioms *x, meet *suspect_meet)
{
        struct search_graph *g = x->g;

        for (uint64_t block = 0; block < g->block_count; block++) {
                for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++) {
                        struct search_link *l = &g->links[i];

                        if (i + IDIOMS_AHEAD < g->link_count)
                                idioms_fetch(x, l[IDIOMS_AHEAD].to);
                        if (l->at < SEARCH_AT_ARENA && idioms_matter(g, l->to))
                                suspect_meet(x, (struct suspect){
                                        .to = &l->to, .offset = g->link_offsets[i],
                                        .held = g->leak[block] != PROFILE_LEAK_UNKNOWN,
                                        .source = x->in->blocks[block].address +
                                                  (uint64_t)l->at * g->unit });
                }
        }
}

static void idioms_round(struct idioms *x, meet *suspect_meet)
{
        idioms_in_holds(x, suspect_meet);
        idioms_in_blocks(x, suspect_meet);
}

uint64_t idioms_find(const struct search_input *in, struct search_graph *g)
{
        struct idioms *x = heap_zero(1, sizeof *x);
        uint64_t found;

        *x = (struct idioms){ .in = in, .g = g, .nested = idioms_are_nested(in),
                              .fronts = fronts_new(in), .headers = headers_new(in, g),
                              .objects = heap_zero(IDIOMS_BATCH, sizeof *x->objects) };
        idioms_round(x, idioms_ask);
        idioms_judge_objects(x);
        fronts_read(x->fronts);
        idioms_round(x, idioms_judge);
        fronts_free(x->fronts);
        x->fronts = NULL;
        if (headers_decide(x->headers))
                idioms_round(x, idioms_behind_header);
        headers_free(x->headers);
        found = x->found;
        free(x->objects);
        free(x);
        return found;
}
