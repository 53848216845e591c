/* SPDX-License-Identifier: MIT */
/*
 * stacks.c -- the stacks of a selection as a tree of frames with names; equal stacks are one.
 *
 * Room:   outside.
 */
#include "export/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "words/label.h"

/* ---- frames ---- */

static struct function_key frame_key(const struct stacks *s, uint32_t node, const struct symbol_frame *names)
{
        struct symbol_frame part = *names;
        const struct profile_node *n = &s->profile->nodes[node];

        if (s->by == STACKS_BY_ADDRESS)
                return (struct function_key){ .name = node <= 1 ? node : n->pc, .line = n->exact, .module = n->module };
        if (s->by < STACKS_BY_LINE)
                part.line = 0;
        if (s->by == STACKS_BY_NAME && part.function)
                return (struct function_key){ .name = (uintptr_t)part.function };
        return function_key_of(s->profile, node, &part);
}

/* Numbers are given in order, so that a new one is the next frame. */
static uint32_t frame_of(struct stacks *s, uint32_t node, const struct symbol_frame *names)
{
        struct function_key key = frame_key(s, node, names);
        uint32_t frame = function_key_number(&s->numbers, &key) - 1;

        if (frame < s->frame_count)
                return frame;
        if (s->frame_count == s->frame_room) {
                s->frame_room = s->frame_room ? s->frame_room * 2 : 256;
                s->frames = heap_grow(s->frames, s->frame_room, sizeof *s->frames);
        }
        s->frames[s->frame_count++] = (struct stacks_frame){ node, names };
        return frame;
}

/* ---- the tree ---- */

static uint32_t node_child(struct stacks *s, uint32_t parent, uint32_t frame)
{
        uint32_t node = branches_child(&s->branches, parent, frame);

        if (node == s->node_count) {
                if (s->node_count == s->node_room) {
                        s->node_room += s->node_room / 2;
                        s->nodes = heap_grow(s->nodes, s->node_room, sizeof *s->nodes);
                }
                s->nodes[s->node_count++] = (struct stacks_node){ parent, frame, 0 };
        }
        return node;
}

/* The frames at NODE of the profile below PARENT, but for LEVEL inlined ones. */
static uint32_t add_frames(struct stacks *s, uint32_t parent, uint32_t node, uint32_t level)
{
        static const struct symbol_frame nameless;
        const struct symbol_frame *names;
        uint32_t count;

        if (node <= 1)
                return node_child(s, parent, frame_of(s, node, &nameless));
        count = symbols_node(s->symbols, node, &names);
        if (s->by == STACKS_BY_ADDRESS)
                return node_child(s, parent, frame_of(s, node, names));
        while (count-- > level)
                parent = node_child(s, parent, frame_of(s, node, &names[count]));
        return parent;
}

/* ---- stacks ---- */

/* By node of the selection's tree. */
struct passage {
        uint32_t end;   /* the node that is the stack up to here */
        bool used;
        bool outermost; /* outside of it is start code only */
};

/* Whether NODE is the last frame outwards that is shown. */
static bool is_outermost(const struct stacks *s, uint32_t node)
{
        uint32_t caller = select_parent(s->sel, node);

        return caller <= 1 || symbols_hides(s->symbols, select_origin(s->sel, caller));
}

/* How many were not yet. */
static uint32_t mark_used(const struct stacks *s, struct passage *passages, uint32_t node)
{
        uint32_t count = 0;

        for (; node > 1 && !passages[node].used; node = select_parent(s->sel, node)) {
                passages[node].used = true;
                passages[node].outermost = is_outermost(s, node);
                count++;
                if (passages[node].outermost)
                        break;
        }
        return count;
}

static uint32_t place_of(const struct stacks *s, const struct passage *passages, uint32_t node)
{
        return passages[node].outermost ? 0 : passages[select_parent(s->sel, node)].end;
}

static uint32_t end_of(struct stacks *s, const struct passage *passages, const struct select_row *row)
{
        if (row->node <= 1)
                return add_frames(s, 0, row->node, 0);
        if (row->level)
                return add_frames(s, place_of(s, passages, row->node), select_origin(s->sel, row->node), row->level);
        return passages[row->node].end;
}

/* There will be USED nodes, but for inlined functions and for frames that become one. */
static void node_start(struct stacks *s, uint32_t used)
{
        s->node_room = used + 256;
        s->nodes = heap_grow(NULL, s->node_room, sizeof *s->nodes);
        s->nodes[0] = (struct stacks_node){ 0 };
        s->node_count = 1;
        branches_start(&s->branches, 1, used);
}

static struct passage *pass(struct stacks *s)
{
        struct passage *passages = heap_zero(s->sel->node_count, sizeof *passages);
        uint32_t used = 0;

        for (uint32_t i = 0; i < s->sel->heap.count; i++)
                used += mark_used(s, passages, s->sel->heap.rows[i].node);
        node_start(s, used);
        for (uint32_t node = 2; node < s->sel->node_count; node++)
                if (passages[node].used)
                        passages[node].end = add_frames(s, place_of(s, passages, node), select_origin(s->sel, node), 0);
        return passages;
}

static struct stacks_sample *sample_at(struct stacks *s, uint32_t node)
{
        if (s->nodes[node].sample)
                return &s->samples[s->nodes[node].sample - 1];
        if (s->sample_count == s->sample_room) {
                s->sample_room = s->sample_room ? s->sample_room * 2 : 256;
                s->samples = heap_grow(s->samples, s->sample_room, sizeof *s->samples);
        }
        s->samples[s->sample_count] = (struct stacks_sample){ .node = node };
        s->nodes[node].sample = ++s->sample_count;
        return &s->samples[s->sample_count - 1];
}

static void add_row(struct stacks *s, uint32_t node, const struct select_row *row)
{
        struct stacks_sample *sample = sample_at(s, node);
        struct costs costs = cost_of_row(&s->source, row);

        cost_add(&sample->costs, &costs);
        sample->frees += row->frees;
        sample->lifetime_ms += row->lifetime_ms;
}

void stacks_make(struct stacks *s, const struct export_input *in, enum stacks_by by)
{
        const struct select_part *heap = &in->sel->heap;
        struct passage *passages;

        *s = (struct stacks){ .profile = in->profile, .symbols = in->symbols, .sel = in->sel, .by = by };
        cost_start(&s->source, in->sel, in->symbols);
        passages = pass(s);
        s->ends = heap_zero(heap->count, sizeof *s->ends);
        for (uint32_t i = 0; i < heap->count; i++) {
                s->ends[i] = end_of(s, passages, &heap->rows[i]);
                add_row(s, s->ends[i], &heap->rows[i]);
        }
        free(passages);
        branches_free(&s->branches);
        function_free(&s->numbers);
}

void stacks_free(struct stacks *s)
{
        cost_end(&s->source);
        free(s->frames);
        free(s->nodes);
        free(s->samples);
        free(s->ends);
        *s = (struct stacks){ 0 };
}

const uint32_t *stacks_outermost_first(const struct stacks *s, uint32_t node, struct stacks_buffer *buffer, uint32_t *count)
{
        uint32_t depth = 0;

        for (uint32_t at = node; at; at = s->nodes[at].parent)
                depth++;
        if (depth > buffer->room) {
                buffer->room = depth * 2;
                buffer->at = heap_grow(buffer->at, buffer->room, sizeof *buffer->at);
        }
        *count = depth;
        for (uint32_t at = node; at; at = s->nodes[at].parent)
                buffer->at[--depth] = s->nodes[at].frame;
        return buffer->at;
}

struct costs stacks_totals(const struct stacks *s)
{
        struct costs sum = { 0 };

        for (uint32_t i = 0; i < s->sample_count; i++)
                cost_add(&sum, &s->samples[i].costs);
        return sum;
}

/* ---- names ---- */

void stacks_name(const struct stacks *s, uint32_t frame, struct str *out)
{
        label_function(s->profile, s->frames[frame].node, s->frames[frame].names, out);
}

/* Control characters, and what else some programs take for the end of a line: U+0080 to U+009F, U+2028, U+2029. */
static bool is_control(const char *text, unsigned bytes)
{
        unsigned char first = (unsigned char)text[0];

        if (bytes == 1)
                return first < ' ' || first == 0x7f;
        return (bytes == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0) || strncmp(text, "\xe2\x80\xa8", 3) == 0 ||
               strncmp(text, "\xe2\x80\xa9", 3) == 0;
}

void stacks_plain_text(const char *text, const char *forbidden, char replacement, struct str *out)
{
        unsigned bytes;

        for (; utf8_care(out, &text, forbidden, &bytes); text += bytes ? bytes : 1)
                if (!bytes)
                        str_text(out, UTF8_WRONG);
                else if (is_control(text, bytes))
                        str_char(out, ' ');
                else if (bytes > 1)
                        str_bytes(out, text, bytes);
                else
                        str_char(out, replacement);
}

void stacks_plain_name(const struct stacks *s, uint32_t frame, const char *forbidden, char replacement, struct str *out)
{
        struct str name = { 0 };

        stacks_name(s, frame, &name);
        stacks_plain_text(str_get(&name), forbidden, replacement, out);
        str_free(&name);
}

const char *stacks_module(const struct stacks *s, uint32_t frame)
{
        const struct profile_node *n = &s->profile->nodes[s->frames[frame].node];

        return s->frames[frame].node > 1 && n->module < s->profile->module_count ? s->profile->modules[n->module].path : NULL;
}
