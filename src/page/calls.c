/* SPDX-License-Identifier: MIT */
#include "page/calls.h"

#include <stdlib.h>

#include "base/heap.h"
#include "words/label.h"

static void add_function(struct calls *k, const struct calltree_frame *f)
{
        const struct profile_node *n = &k->tree.profile->nodes[f->node];
        struct str name = { 0 }, stack_line = { 0 };

        label_function(k->tree.profile, f->node, f->names, &name);
        label_called(k->tree.profile, f->node, f->names, &stack_line);
        GRID_ROW(&k->functions, lexicon_of(k->lexicon, str_get(&name)),
                 lexicon_of(k->lexicon, str_get(&stack_line)),
                 lexicon_of(k->lexicon, f->names->file),
                 f->node > 1 && n->module < k->tree.profile->module_count ? n->module : GRID_NONE);
        str_free(&name);
        str_free(&stack_line);
}

/* Lines apart. */
static uint32_t function_of(struct calls *k, const struct calltree_frame *f)
{
        const struct symbol_frame whole = { .function = f->names->function,
                                            .file = f->names->file };
        uint32_t number = function_number(&k->numbers, k->tree.profile, f->node, &whole) - 1;

        if (number == k->functions.count)
                add_function(k, f);
        return number;
}

/* The rows of what the tree has got. */
static void add_rows(struct calls *k)
{
        const struct branches *nodes = &k->tree.nodes;

        for (uint32_t i = (uint32_t)k->frames.count; i < k->tree.frame_count; i++) {
                const struct calltree_frame *f = &k->tree.frames[i];
                uint32_t function = function_of(k, f);
                enum fold_kind kind = fold_kind(k->fold, f->node, f->names);

                /* "<mine::Tree as core::ops::Drop>::drop" has the name of the library only. */
                GRID_ROW(&k->frames, function, f->names->line, f->names->inlined,
                         wrappers_has(k->wrappers, f->names),
                         kind != FOLD_OWN && wrappers_library(k->wrappers, f->names), kind);
        }
        for (uint32_t i = (uint32_t)k->nodes.count; i < nodes->count; i++)
                GRID_ROW(&k->nodes, nodes->list[i].parent, nodes->list[i].frame);
}

void calls_start(struct calls *k, const struct profile *p, struct symbols *s,
                 struct lexicon *lexicon, struct wrappers *w)
{
        *k = (struct calls){ .wrappers = w, .lexicon = lexicon, .fold = fold_new(p, s, w) };
        grid_start(&k->functions, "name short file module");
        grid_start(&k->frames, "function line inlined wrapper library kind");
        grid_start(&k->nodes, "parent frame");
        GRID_ROW(&k->nodes, 0, GRID_NONE);
        calltree_start(&k->tree, p, s, CALLTREE_BY_LINE);
        k->node_of = heap_zero(p->node_count, sizeof *k->node_of);
}

void calls_free(struct calls *k)
{
        grid_free(&k->functions);
        grid_free(&k->frames);
        grid_free(&k->nodes);
        function_free(&k->numbers);
        calltree_free(&k->tree);
        fold_free(k->fold);
        free(k->node_of);
        *k = (struct calls){ 0 };
}

uint32_t calls_frame(struct calls *k, uint32_t node, uint32_t level)
{
        const struct selection whole = { .profile = k->tree.profile };
        uint32_t at = calltree_add(&k->tree, &whole, k->node_of,
                                   (struct wrapper_frame){ node, level });

        add_rows(k);
        return at;
}
