/* SPDX-License-Identifier: MIT */
#include "export/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"

static uint32_t *frames_slot(const struct frames *f, uint32_t node)
{
        const struct profile_node *n = &f->profile->nodes[node];
        uint64_t hash = (n->pc + n->exact) * 0x9e3779b97f4a7c15ull ^ n->module * 0xc2b2ae3d27d4eb4full;
        size_t i = (hash ^ hash >> 32) & (f->room - 1);

        for (; f->table[i]; i = (i + 1) & (f->room - 1)) {
                const struct profile_node *other = &f->profile->nodes[f->table[i]];

                if (other->pc == n->pc && other->module == n->module && other->exact == n->exact &&
                    symbols_is_start(f->symbols, f->table[i]) == symbols_is_start(f->symbols, node))
                        break;
        }
        return &f->table[i];
}

static void frames_widen(struct frames *f)
{
        f->room = f->room ? f->room * 2 : 1024;
        free(f->table);
        f->table = heap_zero(f->room, sizeof *f->table);
        f->nodes = heap_grow(f->nodes, f->room / 2, sizeof *f->nodes);
        for (uint32_t i = 0; i < f->node_count; i++)
                *frames_slot(f, f->nodes[i]) = f->nodes[i];
}

void frames_start(struct frames *f, const struct selection *sel, struct symbols *s)
{
        *f = (struct frames){ .profile = sel->profile, .symbols = s, .whose = sel };
        f->place = heap_zero(sel->profile->node_count, sizeof *f->place);
        f->length = heap_zero(sel->profile->node_count, sizeof *f->length);
        f->wrappers = sel->wrappers ? sel->wrappers : &f->usual;
        frames_widen(f);
}

void frames_free(struct frames *f)
{
        wrappers_free(&f->usual);
        free(f->place);
        free(f->length);
        free(f->nodes);
        free(f->table);
}

static uint32_t frames_place(struct frames *f, uint32_t node)
{
        const struct symbol_frame *unused;
        uint32_t *slot;

        if (f->place[node]) /* the usual case: most frames are met by many stacks */
                return f->place[node] - 1;
        if (f->node_count == f->room / 2)
                frames_widen(f);
        slot = frames_slot(f, node);
        if (!*slot) {
                *slot = node;
                f->nodes[f->node_count++] = node;
                f->place[node] = f->next + 1;
                f->length[node] = (uint8_t)symbols_node(f->symbols, node, &unused); /* at most DEBUG_FRAMES */
                f->next += f->length[node];
        } else {
                f->place[node] = f->place[*slot];
                f->length[node] = f->length[*slot];
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

static void frame_write(const struct frames *f, uint32_t node, const struct symbol_frame *frame, struct str *out)
{
        const struct profile_node *n = &f->profile->nodes[node];

        str_text(out, "{\"function\": ");
        json_text(out, frame->function);
        json_place(out, frame->file, frame->line);
        str_text(out, ", \"module\": ");
        json_text(out, n->module < f->profile->module_count ? f->profile->modules[n->module].path : NULL);
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
