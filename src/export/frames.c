/* SPDX-License-Identifier: MIT */
#include "export/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"

static bool frames_same(const struct frames *f, uint32_t a, uint32_t b)
{
        const struct profile_node *x = &f->profile->nodes[a], *y = &f->profile->nodes[b];

        return x->pc == y->pc && x->module == y->module && x->exact == y->exact &&
               symbols_is_start(f->symbols, a) == symbols_is_start(f->symbols, b);
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
        free(f->nodes);
        table_free(&f->numbers);
}

static uint32_t frames_place(struct frames *f, uint32_t node)
{
        const struct symbol_frame *unused;
        const struct profile_node *p = &f->profile->nodes[node];
        uint32_t number, same;

        if (f->place[node]) /* the usual case: most frames are met by many stacks */
                return f->place[node] - 1;
        number = TABLE_NUMBER(&f->numbers, table_hash(p->pc + p->exact, p->module), n,
                              frames_same(f, f->nodes[n], node));
        if (number == f->node_count) {
                f->nodes = heap_next(f->nodes, f->node_count, sizeof *f->nodes);
                f->nodes[f->node_count++] = node;
                f->place[node] = f->next + 1;
                /* At most DEBUG_FRAMES. */
                f->length[node] = (uint8_t)symbols_node(f->symbols, node, &unused);
                f->next += f->length[node];
        } else {
                same = f->nodes[number];
                f->place[node] = f->place[same];
                f->length[node] = f->length[same];
        }
        return f->place[node] - 1;
}

void frames_meet(struct frames *f, const struct selection *sel, uint32_t node)
{
        for (; node > 1; node = select_parent(sel, node))
                frames_place(f, select_origin(sel, node));
}

void frames_stack(struct frames *f, const struct selection *sel, uint32_t node, struct str *out)
{
        bool first = true;

        str_char(out, '[');
        for (; node > 1; node = select_parent(sel, node)) {
                uint32_t origin = select_origin(sel, node), place = frames_place(f, origin);

                for (uint32_t i = 0; i < f->length[origin]; i++) {
                        if (!first)
                                str_bytes(out, ", ", 2);
                        first = false;
                        json_number(out, place + i);
                }
        }
        str_char(out, ']');
}

static void frame_flag(struct str *out, const char *name, bool set)
{
        str_format(out, ", \"%s\": %s", name, set ? "true" : "false");
}

static void frame_write(const struct frames *f, uint32_t node, const struct symbol_frame *frame,
                        struct str *out)
{
        const struct profile_node *n = &f->profile->nodes[node];

        json_text_field(out, "{\"", "function", symbol_name(frame));
        if (frame->start)
                str_format(out, ", \"function_start\": \"0x%" PRIx64 "\"", frame->start);
        json_place(out, frame->file ? frame->file : frame->script, frame->line);
        str_text(out, ", \"module\": ");
        json_text(out, n->module < f->profile->module_count ? f->profile->modules[n->module].path
                                                            : NULL);
        str_format(out, ", \"address\": \"0x%" PRIx64 "\"", n->pc);
        frame_flag(out, "inlined", frame->inlined);
        frame_flag(out, "start", symbols_is_start(f->symbols, node));
        frame_flag(out, "wrapper", wrappers_has(f->wrappers, frame));
        str_char(out, '}');
}

void frames_list(const struct frames *f, bool first, struct str *out)
{
        for (uint32_t i = 0; i < f->node_count; i++) {
                const struct symbol_frame *frames;
                uint32_t count = symbols_node(f->symbols, f->nodes[i], &frames);

                for (uint32_t k = 0; k < count; k++) {
                        str_text(out, first ? "\n  " : ",\n  ");
                        first = false;
                        frame_write(f, f->nodes[i], &frames[k], out);
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
