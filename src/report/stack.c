/* SPDX-License-Identifier: MIT */
#include "report/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/plain.h"
#include "words/csv.h"
#include "words/label.h"

enum { STACK_LEVELS = 10 };

static void stack_line(const struct stack_writer *w, uint32_t node,
                       const struct symbol_frame *frame)
{
        const char *end = frame->inlined ? " (inlined)" : "";
        size_t used = strlen(w->indent) + strlen(end), columns = w->sel->columns;

        str_text(w->out, w->indent);
        label_fit(w->sel->profile, node, frame, columns > used ? columns - used : columns, 0,
                  w->out);
        str_text(w->out, end);
        str_char(w->out, '\n');
}

static struct stack_writer stack_writer_of(const struct selection *sel, struct symbols *s,
                                           const char *indent, struct str *out)
{
        return (struct stack_writer){ .sel = sel,
                                      .symbols = s,
                                      .indent = indent,
                                      .out = out,
                                      .line = stack_line,
                                      .cut_off = "(cut off here: code without unwind tables)\n" };
}

void stack_start(struct stack_writer *w, const struct selection *sel, struct symbols *s,
                 const char *indent, struct str *out)
{
        *w = stack_writer_of(sel, s, indent, out);
        w->ends = heap_zero(sel->node_count, sizeof *w->ends);
        w->cuts = calltree_has_cuts(sel->profile);
        calltree_start(&w->calls, sel->profile, s, CALLTREE_BY_PLACE);
}

void stack_end(struct stack_writer *w)
{
        calltree_free(&w->calls);
        free(w->ends);
        free(w->foreseen);
        free(w->texts);
        str_free(&w->lines);
        *w = (struct stack_writer){ 0 };
}

static const struct stack_text *stack_text(struct stack_writer *w, uint32_t number)
{
        const struct calltree_frame *frame = &w->calls.frames[number];
        struct str *out = w->out;
        struct stack_text *text;

        if (number >= w->text_room) {
                uint32_t room = 2 * number + 64;

                w->texts = heap_grow(w->texts, room, sizeof *w->texts);
                memset(w->texts + w->text_room, 0, (room - w->text_room) * sizeof *w->texts);
                w->text_room = room;
        }
        text = &w->texts[number];
        if (text->length)
                return text;
        text->start = w->lines.length;
        w->out = &w->lines;
        w->line(w, frame->node, frame->names);
        w->out = out;
        text->length = w->lines.length - text->start;
        return text;
}

void stack_add(struct stack_writer *w, struct wrapper_frame from)
{
        uint32_t at;

        if (from.node <= 1) {
                w->line(w, from.node, &(struct symbol_frame){ 0 });
                return;
        }
        for (at = calltree_add(&w->calls, w->sel, w->ends, from); at;
             at = w->calls.nodes.list[at].parent) {
                const struct stack_text *text = stack_text(w, w->calls.nodes.list[at].frame);

                str_bytes(w->out, w->lines.data + text->start, text->length);
        }
        if (w->cuts && calltree_is_cut(&w->calls, w->sel, from.node)) {
                str_text(w->out, w->indent);
                str_text(w->out, w->cut_off);
        }
}

void stack_foresee(struct stack_writer *w, struct wrapper_frame from)
{
        if (!w->foreseen)
                w->foreseen = heap_zero(w->sel->node_count / 64 + 1, sizeof *w->foreseen);
        if (!from.level && from.node > 1)
                w->foreseen[from.node / 64] |= 1ull << from.node % 64;
}

void stack_prepare(struct stack_writer *w)
{
        for (uint32_t i = 0; w->foreseen && i <= w->sel->node_count / 64; i++)
                for (uint64_t left = w->foreseen[i]; left; left &= left - 1) {
                        struct wrapper_frame from = { i * 64 + (uint32_t)__builtin_ctzll(left), 0 };

                        calltree_add(&w->calls, w->sel, w->ends, from);
                }
        free(w->foreseen);
        w->foreseen = NULL;
        w->prepared = true;
}

/* What is nearest of a frame on the way out, level by level, so that the waits for memory overlap;
 * some levels further out stacks share their nodes. */
static void expect_prepared(struct stack_writer *w)
{
        const struct branches_node *list = w->calls.nodes.list;
        uint32_t *at = w->expected;

        for (unsigned level = 0; level < STACK_LEVELS; level++)
                for (unsigned i = 0; i < STACK_AHEAD; i++) {
                        at[i] = level ? list[at[i]].parent : w->ends[at[i]];
                        __builtin_prefetch(&list[at[i]]);
                }
}

static void expect_new(struct stack_writer *w)
{
        const struct profile_node *nodes = w->sel->profile->nodes;
        uint32_t *at = w->expected;

        for (unsigned level = 0; level < STACK_LEVELS; level++)
                for (unsigned i = 0; i < STACK_AHEAD; i++) {
                        if (level)
                                at[i] = select_parent(w->sel, at[i]);
                        __builtin_prefetch(&w->ends[at[i]]);
                        __builtin_prefetch(&nodes[select_origin(w->sel, at[i])]);
                }
}

void stack_expect(struct stack_writer *w, uint32_t node)
{
        __builtin_prefetch(&w->ends[node]);
        w->expected[w->expected_count++] = node;
        if (w->expected_count < STACK_AHEAD)
                return;
        w->expected_count = 0;
        if (w->prepared)
                expect_prepared(w);
        else
                expect_new(w);
}

void stack_add_site(struct stack_writer *w, uint32_t node)
{
        stack_add(w, select_trim(w->sel, w->symbols, node));
}

void stack_write(const struct selection *sel, struct symbols *s, struct wrapper_frame from,
                 const char *indent, struct str *out)
{
        struct stack_writer w = stack_writer_of(sel, s, indent, out);

        w.cuts = true;
        calltree_start_small(&w.calls, sel->profile, s, CALLTREE_BY_PLACE);
        stack_add(&w, from);
        stack_end(&w);
}

void stack_write_site(const struct selection *sel, struct symbols *s, uint32_t node,
                      const char *indent, struct str *out)
{
        stack_write(sel, s, select_trim(sel, s, node), indent, out);
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

void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s,
               struct str *out)
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
