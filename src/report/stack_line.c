/* SPDX-License-Identifier: MIT */
#include "report/stack_line.h"

#include <inttypes.h>
#include <string.h>

#include "query/fold.h"
#include "query/walk.h"
#include "words/label.h"
#include "words/shorten.h"

enum { STACK_LINE_NAME = 16 }; /* columns of a shortened name at least */

/* Columns that are left of the line that begins at START. */
static size_t stack_line_left(const struct stack_line *b, size_t start, size_t reserved)
{
        size_t used = b->out->length - start + reserved,
               all = b->columns ? b->columns : STACK_LINE_COLUMNS;

        return used < all ? all - used : 0;
}

/* Append " <- NAME PLACE" as far as it fits. */
static void stack_line_caller(struct stack_line *b, struct str *name, const struct str *place,
                              size_t start)
{
        const size_t arrow = strlen(" <- "), left = stack_line_left(b, start, b->reserved);

        if (arrow + name->length + place->length <= left) {
                str_format(b->out, " <- %s%s", str_get(name), str_get(place));
        } else if (left >= arrow &&
                   (arrow + name->length <= left || left >= arrow + STACK_LINE_NAME)) {
                shorten_name(name, left - arrow);
                str_format(b->out, " <- %s", str_get(name));
        }
}

/* Append to the line that begins at START "function file:line", or " <- " with that of a
 * CALLER.  BARE: no place. */
static void stack_line_frame(struct stack_line *b, uint32_t node, const struct symbol_frame *frame,
                             size_t start, bool caller, bool bare)
{
        struct str name = { 0 }, place = { 0 };
        size_t left = stack_line_left(b, start, b->kept);

        label_called(b->profile, node, frame, &name);
        if (frame->file && frame->line && !bare)
                str_format(&place, " %s:%" PRIu32, label_base(frame->file), frame->line);
        label_object(b->profile, node, false, &place);
        if (caller) {
                stack_line_caller(b, &name, &place, start);
        } else {
                if (symbol_name(frame))
                        shorten_name(&name, left > place.length + STACK_LINE_NAME
                                                    ? left - place.length
                                                    : STACK_LINE_NAME);
                str_format(b->out, "%s%s", str_get(&name), str_get(&place));
        }
        str_free(&name);
        str_free(&place);
}

/* What is known of a function by its name alone; found out once where there is a memory for it. */
static enum fold_kind stack_line_kind(const struct stack_line *b, const struct walk *w)
{
        const char *function = w->frame->function;
        uint32_t *known = b->known && function ? lookup_pointer(b->known, function) : NULL;

        if (known && *known)
                return (enum fold_kind)*known;
        if (!known)
                return fold_kind_of(b->profile, w->node, w->frame);
        *known = fold_kind_of(b->profile, w->node, w->frame);
        return (enum fold_kind)*known;
}

static bool stack_line_is_main(const struct walk *w)
{
        return w->frame->function && strcmp(w->frame->function, "main") == 0;
}

/* The first frames of the program's own, and what of another library the first of them called. */
static uint32_t stack_line_own(const struct stack_line *b, uint32_t node,
                               struct stack_line_place places[STACK_LINE_PLACES])
{
        struct walk w = walk_own(b->profile, b->symbols, node);
        struct wrapper_frame called = { 0 };
        uint32_t shown = 0;
        bool at_end = false;

        while (shown < STACK_LINE_PLACES && !at_end && walk_next(&w)) {
                enum fold_kind kind = stack_line_kind(b, &w);

                if (kind == FOLD_LIBRARY && !shown)
                        called = (struct wrapper_frame){ w.node, w.level };
                if (kind != FOLD_OWN)
                        continue;
                if (called.node && !shown)
                        places[shown++] = (struct stack_line_place){ called.node, called.level,
                                                                     true };
                places[shown++] = (struct stack_line_place){ w.node, w.level, false };
                at_end = stack_line_is_main(&w);
        }
        return shown;
}

static uint32_t stack_line_innermost(const struct stack_line *b, uint32_t node,
                                     struct stack_line_place places[STACK_LINE_PLACES])
{
        struct walk w = walk_own(b->profile, b->symbols, node);
        uint32_t shown = 0;

        while (shown < STACK_LINE_PLACES && walk_next(&w))
                places[shown++] = (struct stack_line_place){ w.node, w.level, false };
        return shown;
}

/* The innermost frames with a name that are no machinery, by whose they are, or (BY_NAME) by their
 * names alone: an interpreter is machinery to functions of scripts only. */
static uint32_t stack_line_named(const struct stack_line *b, uint32_t node, bool by_name,
                                 struct stack_line_place places[STACK_LINE_PLACES])
{
        struct walk w = walk_own(b->profile, b->symbols, node);
        uint32_t shown = 0;

        while (shown < STACK_LINE_PLACES && walk_next(&w))
                if (symbol_name(w.frame) &&
                    !(by_name ? wrapper_or_library(w.frame)
                              : stack_line_kind(b, &w) == FOLD_LANGUAGE))
                        places[shown++] = (struct stack_line_place){ w.node, w.level, false };
        return shown;
}

static uint32_t stack_line_outermost(const struct stack_line *b, uint32_t node,
                                     struct stack_line_place places[STACK_LINE_PLACES])
{
        struct walk w = walk_own(b->profile, b->symbols, node);
        uint32_t shown = 0;

        while (walk_next(&w)) {
                places[0] = (struct stack_line_place){ w.node, w.level, false };
                shown = 1;
        }
        return shown;
}

uint32_t stack_line_places(const struct stack_line *b, uint32_t node,
                           struct stack_line_place places[STACK_LINE_PLACES])
{
        uint32_t shown = b->whole ? stack_line_innermost(b, node, places)
                                  : stack_line_own(b, node, places);

        if (!shown)
                shown = stack_line_named(b, node, false, places);
        if (!shown)
                shown = stack_line_named(b, node, true, places);
        return shown ? shown : stack_line_outermost(b, node, places);
}

void stack_line_stack(struct stack_line *b, uint32_t node, size_t start)
{
        struct stack_line_place places[STACK_LINE_PLACES];
        uint32_t count = stack_line_places(b, node, places);
        const struct symbol_frame *frames;

        for (uint32_t i = 0; i < count; i++) {
                symbols_node(b->symbols, places[i].node, &frames);
                stack_line_frame(b, places[i].node, &frames[places[i].level], start, i > 0,
                                 places[i].bare);
                /* The place of its caller is the only one: more than what else wants room. */
                if (places[i].bare)
                        b->reserved = b->kept;
        }
        if (!count) {
                while (node > 1)
                        node = b->profile->nodes[node].parent;
                label_function(b->profile, node, &(struct symbol_frame){ 0 }, b->out);
        }
}
