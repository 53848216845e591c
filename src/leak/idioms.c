/* SPDX-License-Identifier: MIT */
/*
 * idioms.c -- interior pointers that are as good as pointers to the start.
 *
 * Room:   leak/ only.
 * Keeps:  memory is read for few pointers only (their targets would be possibly lost), and for many of these at once.
 */
#include "leak/idioms.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/code.h"
#include "leak/headers.h"

#define IDIOMS_BATCH 1024u
#define VTABLE_WORDS 20u   /* of a table are looked at ... */
#define VTABLE_ENTRIES 2u  /* ... for so many functions */
#define VTABLES_KNOWN 1024u
#define LOWEST_TABLE 4096u /* small numbers are no addresses */

/* A pointer that may be one. */
struct suspect {
        uint32_t *to;    /* the link's or the hold's */
        uint64_t source; /* where it is; 0: in a register */
        uint64_t value;  /* what it is */
        bool held;       /* it is in a root, or in a block that is held */
};

/* What the rules look at. */
struct evidence {
        uint64_t size, offset; /* of the block; of the pointer in it */
        uint64_t first, second, inner; /* words of the block; INNER is where the pointer points to */
};

struct idioms {
        const struct search_input *in;
        struct search_graph *g;
        struct headers *headers;
        struct suspect suspects[IDIOMS_BATCH];
        uint32_t count;
        uint64_t found;
        uint64_t met; /* suspects, in the second round */
        struct {
                uint64_t address;
                bool is_table;
        } known[VTABLES_KNOWN];
};

static void idioms_words(const struct idioms *x, const uint64_t *addresses, uint64_t *words, size_t count)
{
        x->in->memory.words(x->in->memory.context, addresses, words, count);
}

/* A table of functions has nothing but them and zeros. */
static bool idioms_read_table(const struct idioms *x, uint64_t table)
{
        uint64_t addresses[VTABLE_WORDS], words[VTABLE_WORDS];
        uint32_t functions = 0, count = 0;

        while (count < VTABLE_WORDS && code_has(x->in, table + 8 * count + 7)) {
                addresses[count] = table + 8 * count;
                count++;
        }
        idioms_words(x, addresses, words, count);
        for (uint32_t i = 0; i < count && functions < VTABLE_ENTRIES; i++) {
                if (words[i] && !code_has(x->in, words[i]))
                        return false;
                functions += words[i] != 0;
        }
        return functions == VTABLE_ENTRIES;
}

static bool idioms_is_table(struct idioms *x, uint64_t word)
{
        uint32_t slot = (uint32_t)(word / 8 % VTABLES_KNOWN);

        if (word % 8 || word < LOWEST_TABLE || !code_has(x->in, word))
                return false;
        if (x->known[slot].address != word) {
                x->known[slot].address = word;
                x->known[slot].is_table = idioms_read_table(x, word);
        }
        return x->known[slot].is_table;
}

/* std::string as it was before C++11: length, capacity, count of owners, text. */
static bool idiom_string(struct idioms *x, const struct evidence *e)
{
        (void)x;
        return e->offset == 24 && e->first <= e->second && e->second == e->size - 25;
}

/* Allocators that keep the size before what they give away; SQLite's does. */
static bool idiom_length(struct idioms *x, const struct evidence *e)
{
        (void)x;
        return e->offset == 8 && e->first == e->size - 8;
}

/* new[] of objects with destructors: their number is before them. */
static bool idiom_array(struct idioms *x, const struct evidence *e)
{
        (void)x;
        return e->offset == 8 && e->first && (e->size - 8) % e->first == 0;
}

/* A pointer to the second or a later base class of an object. */
static bool idiom_base_class(struct idioms *x, const struct evidence *e)
{
        return idioms_is_table(x, e->inner) && idioms_is_table(x, e->first);
}

static bool (*const idiom_rules[])(struct idioms *, const struct evidence *) = { idiom_string, idiom_length, idiom_array, idiom_base_class };

static void idioms_accept(struct idioms *x, uint32_t *to)
{
        *to = (*to & ~SEARCH_LINK_INTERIOR) | SEARCH_LINK_IDIOM;
        x->found++;
}

/* Words of blocks are looked at where words are. */
static void idioms_judge(struct idioms *x, const struct suspect *suspect, const struct evidence *e)
{
        if (x->in->blocks[SEARCH_TO(*suspect->to)].address % 8 || e->offset % 8)
                return;
        for (size_t i = 0; i < sizeof idiom_rules / sizeof *idiom_rules; i++) {
                if (idiom_rules[i](x, e)) {
                        idioms_accept(x, suspect->to);
                        return;
                }
        }
}

/* Read the pointers themselves again: the graph has only what they point to. */
static void idioms_read_values(struct idioms *x)
{
        uint64_t addresses[IDIOMS_BATCH], words[IDIOMS_BATCH];
        uint32_t count = 0;

        for (uint32_t i = 0; i < x->count; i++)
                if (x->suspects[i].source)
                        addresses[count++] = x->suspects[i].source;
        idioms_words(x, addresses, words, count);
        for (uint32_t i = 0, next = 0; i < x->count; i++)
                if (x->suspects[i].source)
                        x->suspects[i].value = words[next++];
}

#define EVIDENCE_WORDS 4u

static void idioms_judge_all(struct idioms *x)
{
        uint64_t addresses[EVIDENCE_WORDS * IDIOMS_BATCH], words[EVIDENCE_WORDS * IDIOMS_BATCH];

        idioms_read_values(x);
        for (uint32_t i = 0; i < x->count; i++) {
                uint64_t start = x->in->blocks[SEARCH_TO(*x->suspects[i].to)].address, value = x->suspects[i].value;
                uint64_t *at = &addresses[EVIDENCE_WORDS * i];

                at[0] = start;
                at[1] = start + 8;
                at[2] = value;
                at[3] = (value - 1) & ~UINT64_C(7);
        }
        idioms_words(x, addresses, words, EVIDENCE_WORDS * (size_t)x->count);
        for (uint32_t i = 0; i < x->count; i++) {
                const struct suspect *s = &x->suspects[i];
                const struct search_block *b = &x->in->blocks[SEARCH_TO(*s->to)];
                const uint64_t *w = &words[EVIDENCE_WORDS * i];
                uint64_t offset = s->value - b->address;
                struct evidence e = { .size = b->size, .offset = offset, .first = w[0], .second = w[1] };

                if (offset < b->size) { /* else it changed while we read */
                        e.inner = b->size - offset >= 8 ? w[2] : 0;
                        idioms_judge(x, s, &e);
                }
                headers_add(x->headers, &(struct headers_pointer){ .block = SEARCH_TO(*s->to), .held = s->held,
                                                                   .before = (uint8_t)(w[3] >> (s->value - 1) % 8 * 8),
                                                                   .offset = offset < b->size ? offset : 0 });
        }
        x->count = 0;
}

static void idioms_suspect(struct idioms *x, struct suspect suspect)
{
        x->suspects[x->count++] = suspect;
        if (x->count == IDIOMS_BATCH)
                idioms_judge_all(x);
}

static bool idioms_matter(const struct search_graph *g, uint32_t to)
{
        return to & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM) && g->leak[SEARCH_TO(to)] != PROFILE_LEAK_REACHABLE;
}

typedef void meet(struct idioms *x, struct suspect suspect);

static void idioms_in_holds(struct idioms *x, meet *suspect_meet)
{
        for (uint64_t i = 0; i < x->g->hold_count; i++) {
                struct search_hold *h = &x->g->holds[i];
                const struct search_root *root = &x->in->roots[h->root];

                if (!idioms_matter(x->g, h->to))
                        continue;
                if (root->words)
                        suspect_meet(x, (struct suspect){ .to = &h->to, .held = true, .value = root->words[(h->at - root->start) / 8] });
                else
                        suspect_meet(x, (struct suspect){ .to = &h->to, .held = true, .source = h->at });
        }
}

static void idioms_in_blocks(struct idioms *x, meet *suspect_meet)
{
        struct search_graph *g = x->g;

        for (uint64_t block = 0; block < g->block_count; block++) {
                for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++) {
                        struct search_link *l = &g->links[i];

                        if (l->at < SEARCH_AT_ARENA && idioms_matter(g, l->to))
                                suspect_meet(x, (struct suspect){ .to = &l->to, .held = g->leak[block] != PROFILE_LEAK_UNKNOWN,
                                                                  .source = x->in->blocks[block].address + (uint64_t)l->at * g->unit });
                }
        }
}

/* The same suspects in the same order as in the first round. */
static void idioms_behind_header(struct idioms *x, struct suspect suspect)
{
        if (headers_has(x->headers, x->met++, SEARCH_TO(*suspect.to)) && (*suspect.to & SEARCH_LINK_INTERIOR))
                idioms_accept(x, suspect.to);
}

uint64_t idioms_find(const struct search_input *in, struct search_graph *g)
{
        struct idioms *x = heap_zero(1, sizeof *x);
        uint64_t found;

        x->in = in;
        x->g = g;
        x->headers = headers_new(in, g);
        idioms_in_holds(x, idioms_suspect);
        idioms_in_blocks(x, idioms_suspect);
        idioms_judge_all(x);
        if (headers_decide(x->headers)) {
                idioms_in_holds(x, idioms_behind_header);
                idioms_in_blocks(x, idioms_behind_header);
        }
        headers_free(x->headers);
        found = x->found;
        free(x);
        return found;
}
