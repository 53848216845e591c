/* SPDX-License-Identifier: MIT */
/*
 * calls.c -- call stacks as one tree of frames with names.
 *
 * Room:   outside.
 */
#include "page/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "words/label.h"

/* ---- frames ---- */

static void add_function(struct calls *k, uint32_t node, const struct symbol_frame *frame)
{
        const struct profile_node *n = &k->p->nodes[node];
        struct str name = { 0 }, brief = { 0 };

        label_function(k->p, node, frame, &name);
        label_short(k->p, node, frame, &brief);
        GRID_ROW(&k->functions, lexicon_of(k->lexicon, str_get(&name)), lexicon_of(k->lexicon, str_get(&brief)), lexicon_of(k->lexicon, frame->file),
                  node > 1 && n->module < k->p->module_count ? n->module : GRID_NONE);
        str_free(&name);
        str_free(&brief);
}

/* Names are the resolver's, one pointer each; code without a name is told apart by its address. */
static uint32_t function_of(struct calls *k, uint32_t node, const struct symbol_frame *frame)
{
        const struct profile_node *n = &k->p->nodes[node];
        uint64_t name = node <= 1 ? node + 2 : frame->function ? (uintptr_t)frame->function : n->pc << 1 | 1;
        uint32_t *number = pairs_of(&k->function_index, name, (uintptr_t)frame->file ^ (uint64_t)n->module << 48);

        if (!*number) {
                *number = (uint32_t)k->functions.count + 1;
                add_function(k, node, frame);
        }
        return *number - 1;
}

static uint32_t frame_of(struct calls *k, uint32_t node, const struct symbol_frame *frame)
{
        uint32_t function = function_of(k, node, frame);
        uint32_t *number = pairs_of(&k->frame_index, function, (uint64_t)frame->line << 1 | frame->inlined);

        if (!*number) {
                *number = (uint32_t)k->frames.count + 1;
                GRID_ROW(&k->frames, function, frame->line, frame->inlined, wrappers_has(k->wrappers, frame),
                         wrappers_library(k->wrappers, frame));
        }
        return *number - 1;
}

static uint32_t add_frame(struct calls *k, uint32_t parent, uint32_t node, const struct symbol_frame *frame)
{
        uint32_t of = frame_of(k, node, frame), at = branches_child(&k->branches, parent, of);

        if (at == k->nodes.count)
                GRID_ROW(&k->nodes, parent, of);
        return at;
}

/* ---- stacks ---- */

void calls_start(struct calls *k, const struct profile *p, struct symbols *s, struct lexicon *lexicon, struct wrappers *w)
{
        *k = (struct calls){ .p = p, .s = s, .wrappers = w, .lexicon = lexicon };
        grid_start(&k->functions, "name short file module");
        grid_start(&k->frames, "function line inlined wrapper library");
        grid_start(&k->nodes, "parent frame");
        GRID_ROW(&k->nodes, 0, GRID_NONE);
        branches_start(&k->branches, 1, 0);
        k->node_of = heap_zero(p->node_count, sizeof *k->node_of);
}

void calls_free(struct calls *k)
{
        grid_free(&k->functions);
        grid_free(&k->frames);
        grid_free(&k->nodes);
        pairs_free(&k->function_index);
        pairs_free(&k->frame_index);
        branches_free(&k->branches);
        free(k->node_of);
        free(k->chain);
        *k = (struct calls){ 0 };
}

static bool is_outside(struct calls *k, uint32_t node, uint32_t innermost)
{
        return node != innermost && symbols_hides(k->s, node);
}

uint32_t calls_node(struct calls *k, uint32_t node)
{
        const struct symbol_frame *frames;
        uint32_t at = node, count = 0, inner = 0;

        if (node <= 1)
                return add_frame(k, 0, node, &(struct symbol_frame){ 0 });
        for (; at > 1 && !is_outside(k, at, node) && !k->node_of[at]; at = k->p->nodes[at].parent) {
                if (count == k->chain_room) {
                        k->chain_room = count ? count * 2 : 256;
                        k->chain = heap_grow(k->chain, k->chain_room, sizeof *k->chain);
                }
                k->chain[count++] = at;
        }
        if (at > 1 && !is_outside(k, at, node))
                inner = k->node_of[at] - 1;
        while (count--) {
                uint32_t at_node = k->chain[count];

                for (uint32_t i = symbols_node(k->s, at_node, &frames); i-- > 0;)
                        inner = add_frame(k, inner, at_node, &frames[i]);
                k->node_of[at_node] = inner + 1;
        }
        return inner;
}

uint32_t calls_frame(struct calls *k, uint32_t node, uint32_t level)
{
        uint32_t at = calls_node(k, node);

        while (level-- && at)
                at = (uint32_t)grid_cell(&k->nodes, at, 0);
        return at;
}
