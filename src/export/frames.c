/* SPDX-License-Identifier: MIT */
#include "export/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"

static bool frames_same(const struct frames *f, uint32_t number, uint32_t node, bool start)
{
        const struct profile_node *x = &f->profile->nodes[f->met[number].node],
                                  *y = &f->profile->nodes[node];

        return x->pc == y->pc && x->module == y->module && x->exact == y->exact &&
               f->met[number].start == start;
}

void frames_start(struct frames *f, const struct selection *sel, struct symbols *s)
{
        *f = (struct frames){ .profile = sel->profile, .symbols = s, .whose = sel };
        f->place = heap_zero(sel->profile->node_count, sizeof *f->place);
        f->length = heap_zero(sel->profile->node_count, sizeof *f->length);
        f->wrappers = sel->wrappers ? sel->wrappers : &f->usual;
}

void frames_free(struct frames *f)
{
        wrappers_free(&f->usual);
        free(f->place);
        free(f->length);
        free(f->met);
        table_free(&f->numbers);
}

/* The index of NODE's innermost frame.  INNER: other outputs begin with it, or outside of it, also
 * in start code (walk.h). */
static uint32_t frames_place(struct frames *f, uint32_t node, bool inner)
{
        const struct symbol_frame *unused;
        const struct profile_node *p = &f->profile->nodes[node];
        bool start;
        uint32_t number;

        inner = inner && symbols_is_start(f->symbols, node);
        if (f->place[node] && !inner) /* the usual case: most frames are met by many stacks */
                return f->place[node] - 1;
        start = !inner && symbols_is_start(f->symbols, node);
        number = TABLE_NUMBER(&f->numbers, table_hash(p->pc + p->exact, p->module), n,
                              frames_same(f, n, node, start));
        if (number == f->met_count) {
                f->met = heap_next(f->met, f->met_count, sizeof *f->met);
                f->met[f->met_count++] = (struct frames_met){ node, f->next, start };
                f->next += symbols_node(f->symbols, node, &unused);
        }
        if (!f->length[node])
                f->length[node] = (uint8_t)symbols_node(f->symbols, node, &unused);
        if (!inner)
                f->place[node] = f->met[number].place + 1;
        return f->met[number].place;
}

/* The node that other outputs begin with. */
static uint32_t frames_first(struct frames *f, const struct selection *sel, uint32_t node)
{
        return node > 1 ? wrappers_trim(f->wrappers, f->profile, f->symbols,
                                        select_origin(sel, node)).node
                        : 0;
}

void frames_meet(struct frames *f, const struct selection *sel, uint32_t node)
{
        uint32_t first = frames_first(f, sel, node);
        bool inner = true;

        for (; node > 1; node = select_parent(sel, node)) {
                uint32_t origin = select_origin(sel, node);

                frames_place(f, origin, inner);
                inner = inner && origin != first;
        }
}

void frames_stack(struct frames *f, const struct selection *sel, uint32_t node, struct str *out)
{
        uint32_t first = frames_first(f, sel, node);
        const char *comma = "";
        bool inner = true;

        str_char(out, '[');
        for (; node > 1; node = select_parent(sel, node)) {
                uint32_t origin = select_origin(sel, node), place = frames_place(f, origin, inner);

                inner = inner && origin != first;
                for (uint32_t i = 0; i < f->length[origin]; i++, comma = ", ") {
                        str_text(out, comma);
                        json_number(out, place + i);
                }
        }
        str_char(out, ']');
}

static void frame_flag(struct str *out, const char *name, bool set)
{
        str_format(out, ", \"%s\": %s", name, set ? "true" : "false");
}

static void frame_write(const struct frames *f, const struct frames_met *met,
                        const struct symbol_frame *frame, struct str *out)
{
        const struct profile_node *n = &f->profile->nodes[met->node];

        json_text_field(out, "{\"", "function", symbol_name(frame));
        if (frame->start)
                str_format(out, ", \"function_start\": \"0x%" PRIx64 "\"", frame->start);
        json_place(out, frame->file ? frame->file : frame->script, frame->line);
        str_text(out, ", \"module\": ");
        json_text(out, n->module < f->profile->module_count ? f->profile->modules[n->module].path
                                                            : NULL);
        str_format(out, ", \"address\": \"0x%" PRIx64 "\"", n->pc);
        frame_flag(out, "inlined", frame->inlined);
        frame_flag(out, "start", met->start);
        frame_flag(out, "wrapper", wrappers_has(f->wrappers, frame));
        str_char(out, '}');
}

void frames_list(const struct frames *f, bool first, struct str *out)
{
        for (uint32_t i = 0; i < f->met_count; i++) {
                const struct symbol_frame *frames;
                uint32_t count = symbols_node(f->symbols, f->met[i].node, &frames);

                for (uint32_t k = 0; k < count; k++) {
                        str_text(out, first ? "\n  " : ",\n  ");
                        first = false;
                        frame_write(f, &f->met[i], &frames[k], out);
                }
        }
}

bool frames_cut_off(const struct selection *sel, uint32_t node)
{
        uint32_t innermost = node;

        while (node > 1)
                node = select_parent(sel, node);
        return node == 1 && innermost > 1;
}
