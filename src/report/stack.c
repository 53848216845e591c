/* SPDX-License-Identifier: MIT */
#include "report/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/plain.h"
#include "words/csv.h"
#include "words/label.h"

enum { STACK_LEVELS = 10 };

static void stack_line(const struct stack_writer *w, uint32_t node, const struct symbol_frame *frame)
{
        const char *end = frame->inlined ? " (inlined)" : "";
        size_t used = strlen(w->indent) + strlen(end), columns = w->sel->columns;

        str_text(w->out, w->indent);
        label_fit(w->sel->profile, node, frame, columns > used ? columns - used : columns, 0, w->out);
        str_text(w->out, end);
        str_char(w->out, '\n');
}

static struct stack_writer stack_writer_of(const struct selection *sel, struct symbols *s, const char *indent,
                                           struct str *out)
{
        return (struct stack_writer){ .sel = sel,
                                      .symbols = s,
                                      .indent = indent,
                                      .out = out,
                                      .line = stack_line,
                                      .cut_off = "(cut off here: code without unwind tables)\n" };
}

void stack_start(struct stack_writer *w, const struct selection *sel, struct symbols *s, const char *indent,
                 struct str *out)
{
        *w = stack_writer_of(sel, s, indent, out);
        w->steps = heap_zero(sel->node_count, sizeof *w->steps);
}

void stack_end(struct stack_writer *w)
{
        free(w->steps);
        free(w->places);
        str_free(&w->lines);
        lookup_free(&w->known);
        *w = (struct stack_writer){ 0 };
}

/* What is to be known of the frames at NODE, an origin; its lines are appended to TO. */
static struct stack_place stack_look(struct stack_writer *w, uint32_t node, struct str *to)
{
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(w->symbols, node, &frames);
        struct stack_place place = { .start = to->length,
                                     .frames = frames,
                                     .count = count };
        struct str *out = w->out;

        w->out = to;
        for (uint32_t i = 0; i < count; i++)
                w->line(w, node, &frames[i]);
        w->out = out;
        place.length = to->length - place.start;
        return place;
}

/* Addresses with a name have frames of their own; of others the resolver knows nothing, and their lines show the address. */
static const char *stack_key(const struct stack_writer *w, uint32_t node)
{
        const struct profile_node *n = &w->sel->profile->nodes[node];
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(w->symbols, node, &frames);

        if (frames[count - 1].function)
                return (const char *)frames;
        return (const char *)(uintptr_t)((n->pc << 1 | 1) ^ (uint64_t)n->module << 48);
}

/* The same, found out once for all nodes with this address; 1 + its index. */
static uint32_t stack_place(struct stack_writer *w, uint32_t origin)
{
        uint32_t *known = lookup_pointer(&w->known, stack_key(w, origin));

        if (!*known) {
                if (w->place_count == w->place_room) {
                        w->place_room = w->place_room ? w->place_room * 2 : 256;
                        w->places = heap_grow(w->places, w->place_room, sizeof *w->places);
                }
                w->places[w->place_count] = stack_look(w, origin, &w->lines);
                *known = ++w->place_count;
        }
        return *known;
}

static struct stack_step stack_step(struct stack_writer *w, uint32_t node)
{
        struct stack_step step;

        if (w->steps && w->steps[node].place)
                return w->steps[node];
        step = (struct stack_step){ stack_place(w, select_origin(w->sel, node)), select_parent(w->sel, node) };
        if (step.outer > 1 && symbols_hides(w->symbols, select_origin(w->sel, step.outer)))
                step.outer = 0;
        if (w->steps)
                w->steps[node] = step;
        return step;
}

/* The lines of the frames at FROM. */
static void stack_inner(struct stack_writer *w, struct wrapper_frame from, const struct stack_place *place)
{
        uint32_t origin = select_origin(w->sel, from.node);

        if (!from.level)
                str_bytes(w->out, w->lines.data + place->start, place->length);
        for (uint32_t i = from.level; from.level && i < place->count; i++)
                w->line(w, origin, &place->frames[i]);
}

void stack_add(struct stack_writer *w, struct wrapper_frame from)
{
        uint32_t node = from.node;

        if (node <= 1)
                w->line(w, node, &(struct symbol_frame){ 0 });
        while (node > 1) {
                struct stack_step step = stack_step(w, node);
                const struct stack_place *place = &w->places[step.place - 1];

                if (node == from.node)
                        stack_inner(w, from, place);
                else
                        str_bytes(w->out, w->lines.data + place->start, place->length);
                node = step.outer;
        }
        if (node == 1 && from.node > 1) { /* the root of stacks that were cut off */
                str_text(w->out, w->indent);
                str_text(w->out, w->cut_off);
        }
}

/* Level by level, so that the waits for memory overlap; some levels further out stacks share their nodes. */
void stack_expect(struct stack_writer *w, uint32_t node)
{
        const struct profile_node *nodes = w->sel->profile->nodes;
        uint32_t *at = w->expected;

        at[w->expected_count++] = node;
        if (w->expected_count < STACK_AHEAD)
                return;
        w->expected_count = 0;
        for (unsigned level = 0; level < STACK_LEVELS; level++)
                for (unsigned i = 0; i < STACK_AHEAD; i++) {
                        if (level)
                                at[i] = select_parent(w->sel, at[i]);
                        __builtin_prefetch(&w->steps[at[i]]);
                        __builtin_prefetch(&nodes[select_origin(w->sel, at[i])]);
                }
}

void stack_add_site(struct stack_writer *w, uint32_t node)
{
        stack_add(w, wrappers_trim(w->sel->wrappers, w->sel->profile, w->symbols, node));
}

void stack_write(const struct selection *sel, struct symbols *s, struct wrapper_frame from, const char *indent,
                 struct str *out)
{
        struct stack_writer w = stack_writer_of(sel, s, indent, out);

        stack_add(&w, from);
        stack_end(&w);
}

void stack_write_site(const struct selection *sel, struct symbols *s, uint32_t node, const char *indent,
                      struct str *out)
{
        struct stack_writer w = stack_writer_of(sel, s, indent, out);

        stack_add_site(&w, node);
        stack_end(&w);
}

/* ---- call stacks and moments as fields of a table ---- */

/* An apostrophe in front of what begins at byte START. */
static void csv_shield(struct str *out, size_t start)
{
        str_char(out, 0);
        memmove(out->data + start + 1, out->data + start, out->length - start - 1);
        out->data[start] = '\'';
}

/* Quotes are doubled as they come. */
static void csv_line(const struct stack_writer *w, uint32_t node, const struct symbol_frame *frame)
{
        size_t start = w->out->length;
        char *quote;

        label_frame(w->sel->profile, node, frame, w->out);
        plain_output(w->out, start, false);
        if (csv_computes(str_get(w->out) + start)) /* any frame may be the first of a cell */
                csv_shield(w->out, start);
        str_text(w->out, frame->inlined ? " (inlined);" : ";");
        quote = memchr(w->out->data + start, '"', w->out->length - start);
        if (quote) {
                struct str rest = { 0 };

                str_text(&rest, quote);
                w->out->length = (size_t)(quote - w->out->data);
                for (const char *c = str_get(&rest); *c; c++)
                        str_text(w->out, *c == '"' ? "\"\"" : (char[]){ *c, 0 });
                str_free(&rest);
        }
}

void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s, struct str *out)
{
        stack_start(w, sel, s, "", out);
        w->line = csv_line;
        w->cut_off = "(cut off here: code without unwind tables);";
}

void csv_stack(struct stack_writer *w, struct wrapper_frame from)
{
        str_char(w->out, '"');
        stack_add(w, from);
        w->out->data[w->out->length - 1] = '"'; /* where the last separator was */
        str_char(w->out, ',');
}

void csv_moment(struct str *out, const struct selection *sel)
{
        struct str word = { 0 };

        if (sel->moment == SELECT_OF_RANGE) {
                moment_word(sel->profile, &sel->from, &word);
                str_text(&word, "..");
                moment_word(sel->profile, &sel->to, &word);
        } else {
                moment_word(sel->profile, &sel->at, &word);
        }
        csv_text(out, str_get(&word));
        str_free(&word);
}
