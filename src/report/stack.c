/* SPDX-License-Identifier: MIT */
/*
 * stack.c -- whole call stacks, one line per frame.
 *
 * Room:   outside.
 */
#include "report/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "report/label.h"

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
        w->places = heap_zero(sel->node_count, sizeof *w->places);
}

void stack_end(struct stack_writer *w)
{
        free(w->places);
        *w = (struct stack_writer){ 0 };
}

/* Append what was written for NODE before. */
static bool stack_copy(struct stack_writer *w, uint32_t node)
{
        struct stack_place place = w->places ? w->places[node] : (struct stack_place){ 0, 0 };
        size_t length = place.end - place.start;

        if (!place.end)
                return false;
        str_room(w->out, length + 1); /* may move the text that is copied */
        str_bytes(w->out, w->out->data + place.start, length);
        return true;
}

/* All lines from NODE on are there now, up to the end of OUT. */
static void stack_remember(struct stack_writer *w, uint32_t node, uint32_t last, const size_t *starts, uint32_t count)
{
        for (uint32_t i = 0; i < count && node != last; i++, node = select_parent(w->sel, node))
                if (starts[i] != SIZE_MAX)
                        w->places[node] = (struct stack_place){ starts[i], w->out->length };
}

void stack_add(struct stack_writer *w, struct wrapper_frame from)
{
        enum { REMEMBERED = 256 };
        size_t starts[REMEMBERED]; /* of the first frames; deeper ones of a recursion are written again */
        const struct symbol_frame *frames;
        uint32_t node = from.node, callee = 0, count = 0;

        if (node <= 1)
                w->line(w, node, &(struct symbol_frame){ 0 });
        for (; node > 1; node = select_parent(w->sel, node)) {
                uint32_t origin = select_origin(w->sel, node), inlined;
                bool inner = node == from.node, start;

                if (!inner && (label_is_thread_start(w->sel->profile, w->symbols, origin, callee) || stack_copy(w, node)))
                        break;
                callee = origin;
                inlined = symbols_node(w->symbols, origin, &frames);
                start = label_is_start(&frames[inlined - 1]);
                if (!inner && start)
                        break;
                if (count < REMEMBERED)
                        starts[count++] = inner && (start || from.level) ? SIZE_MAX : w->out->length;
                for (uint32_t i = inner ? from.level : 0; i < inlined; i++)
                        w->line(w, origin, &frames[i]);
        }
        if (node == 1 && from.node > 1) { /* the root of stacks that were cut off */
                str_text(w->out, w->indent);
                str_text(w->out, w->cut_off);
        }
        if (w->places)
                stack_remember(w, from.node, node, starts, count);
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
}

void stack_write_site(const struct selection *sel, struct symbols *s, uint32_t node, const char *indent,
                      struct str *out)
{
        struct stack_writer w = stack_writer_of(sel, s, indent, out);

        stack_add_site(&w, node);
}
