/* SPDX-License-Identifier: MIT */
#include "export/stack_costs.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "words/label.h"

static struct stack_costs_sample *sample_at(struct stack_costs *s, uint32_t node)
{
        if (s->sample_of[node])
                return &s->samples[s->sample_of[node] - 1];
        if (s->sample_count == s->sample_room) {
                s->sample_room = s->sample_room ? s->sample_room * 2 : 256;
                s->samples = heap_grow(s->samples, s->sample_room, sizeof *s->samples);
        }
        s->samples[s->sample_count] = (struct stack_costs_sample){ .node = node };
        s->sample_of[node] = ++s->sample_count;
        return &s->samples[s->sample_count - 1];
}

/* The tree, and where the stack of each row ends in it. */
static void make_tree(struct stack_costs *s, enum calltree_by by)
{
        const struct select_part *heap = &s->sel->heap;
        uint32_t *ends = heap_zero(s->sel->node_count, sizeof *ends);

        calltree_start(&s->tree, s->profile, s->symbols, by);
        s->tree.cuts = calltree_has_cuts(s->profile);
        s->ends = heap_zero(heap->count, sizeof *s->ends);
        for (uint32_t i = 0; i < heap->count; i++) {
                struct wrapper_frame from = { heap->rows[i].node, heap->rows[i].level };

                s->ends[i] = calltree_add(&s->tree, s->sel, ends, from);
        }
        free(ends);
        calltree_settle(&s->tree);
        s->frames = s->tree.frames;
        s->nodes = s->tree.nodes.list;
        s->frame_count = s->tree.frame_count;
        s->node_count = s->tree.nodes.count;
}

void stack_costs_make(struct stack_costs *s, const struct export_input *in, enum calltree_by by)
{
        *s = (struct stack_costs){ .profile = in->profile, .symbols = in->symbols, .sel = in->sel };
        cost_start(&s->source, in->sel, in->symbols);
        make_tree(s, by);
        s->sample_of = heap_zero(s->node_count, sizeof *s->sample_of);
        for (uint32_t i = 0; i < in->sel->heap.count; i++) {
                uint32_t node = s->ends[i];
                const struct select_row *row = &in->sel->heap.rows[i];
                struct stack_costs_sample *sample = sample_at(s, node);
                struct costs costs = cost_of_row(&s->source, row);

                cost_add(&sample->costs, &costs);
                sample->frees += row->frees;
                sample->lifetime_ms += row->lifetime_ms;
        }
}

void stack_costs_free(struct stack_costs *s)
{
        cost_end(&s->source);
        calltree_free(&s->tree);
        free(s->sample_of);
        free(s->samples);
        free(s->ends);
        *s = (struct stack_costs){ 0 };
}

const uint32_t *stack_costs_outermost_first(const struct stack_costs *s, uint32_t node,
                                            struct stack_costs_buffer *buffer, uint32_t *count)
{
        uint32_t left = buffer->room; /* it is filled from its end */

        for (uint32_t at = node; at; at = s->nodes[at].parent) {
                if (!left) {
                        uint32_t more = buffer->room + 64;

                        buffer->at = heap_grow(buffer->at, (size_t)buffer->room + more,
                                               sizeof *buffer->at);
                        memmove(buffer->at + more, buffer->at, buffer->room * sizeof *buffer->at);
                        buffer->room += more;
                        left = more;
                }
                buffer->at[--left] = s->nodes[at].frame;
        }
        *count = buffer->room - left;
        return buffer->at + left;
}

struct costs stack_costs_totals(const struct stack_costs *s)
{
        struct costs sum = { 0 };

        for (uint32_t i = 0; i < s->sample_count; i++)
                cost_add(&sum, &s->samples[i].costs);
        return sum;
}

/* ---- names ---- */

void stack_costs_name(const struct stack_costs *s, uint32_t frame, struct str *out)
{
        label_function(s->profile, s->frames[frame].node, s->frames[frame].names, out);
}

/* Control characters, and what else some programs take for the end of a line: U+0080
 * to U+009F, U+2028, U+2029. */
static bool is_control(const char *text, unsigned bytes)
{
        unsigned char first = (unsigned char)text[0];

        if (bytes == 1)
                return first < ' ' || first == 0x7f;
        return (bytes == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0) ||
               strncmp(text, "\xe2\x80\xa8", 3) == 0 || strncmp(text, "\xe2\x80\xa9", 3) == 0;
}

void stack_costs_plain_text(const char *text, const char *forbidden, char replacement,
                            struct str *out)
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

void stack_costs_plain_name(const struct stack_costs *s, uint32_t frame, const char *forbidden,
                            char replacement, struct str *out)
{
        struct str name = { 0 };

        stack_costs_name(s, frame, &name);
        stack_costs_plain_text(str_get(&name), forbidden, replacement, out);
        str_free(&name);
}

const char *stack_costs_module(const struct stack_costs *s, uint32_t frame)
{
        const struct profile_node *n = &s->profile->nodes[s->frames[frame].node];

        return s->frames[frame].node > 1 && n->module < s->profile->module_count
                       ? s->profile->modules[n->module].path
                       : NULL;
}
