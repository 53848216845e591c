/* SPDX-License-Identifier: MIT */
/*
 * why_path.c -- the description of a path: the member that holds each pointer, and the type of each
 * block.
 *
 * Keeps:  types are followed from the variable on, as far as its description tells; a table of
 *         virtual functions tells better.
 */
#include "query/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "types/variable.h"

enum {
        WHY_RUN = 6,     /* as many steps of one kind are shown; of more, some at both ends */
        WHY_RUN_END = 2,
        WHY_STEPS = 40,  /* as many steps are shown of any kind */
        WHY_END = 15,
        WHY_OBJECTS = 1 << 20 /* steps whose blocks are looked up beforehand */
};

/* ---- types ---- */

/* What is known about the memory that the next pointer is in. */
struct why_place {
        struct variable_type type; /* of it, or of its elements */
        uint64_t count;            /* elements; 0: it is one */
};

static struct variable_type type_of_object(const struct why *w, uint32_t block, struct str *name)
{
        uint64_t vtable = dense_vtable(graph_dense(w->graph), block);
        struct variable_type type = { 0 };
        const char *class = vtable ? variable_class(w->s, vtable, &type) : NULL;

        if (class)
                str_text(name, class);
        return class ? type : (struct variable_type){ 0 };
}

/* COUNT of them: "node" becomes "node[3]", and "int[4]", as C has it, "int[3][4]". */
static void add_count(uint64_t count, struct str *type)
{
        size_t at = type->length;
        char *inner;

        while (at && type->data[at - 1] == ']') {
                size_t open = at - 1;

                while (open && type->data[open] != '[')
                        open--;
                at = open;
        }
        inner = heap_text(type->data + at);
        type->data[at] = 0;
        type->length = at;
        str_format(type, "[%" PRIu64 "]%s", count, inner);
        free(inner);
}

/* The block that a pointer of type MEMBER leads to.  Pointers into the middle, and types that
 * do not fit, tell nothing. */
static struct why_place place_of_block(const struct why *w, struct why_step *step,
                                       struct variable_type member)
{
        struct why_place place = { type_of_object(w, step->block, &step->type), 0 };
        uint64_t size = dense_size(graph_dense(w->graph), step->block), one;

        if (step->type.length || step->flags & (PROFILE_POINTER_INTERIOR | PROFILE_POINTER_IDIOM))
                return place;
        place.type = variable_target(w->s, member);
        one = variable_type_size(w->s, place.type);
        if (!one || one > size) {
                place.type.n = 0;
                return place;
        }
        place.count = size >= 2 * one && size % one == 0 ? size / one : 0;
        if (variable_type_name(w->s, place.type, &step->type) && place.count)
                add_count(place.count, &step->type);
        return place;
}

/* Append the way to offset AT; returns the type of the pointer there. */
static struct variable_type member_at(const struct why *w, struct why_place place, uint64_t at,
                                      struct str *way)
{
        struct variable_type member = { 0 };
        uint64_t one = variable_type_size(w->s, place.type);

        if (!place.type.n)
                return member;
        if (place.count && one) {
                str_format(way, "[%" PRIu64 "]", at / one);
                at %= one;
        }
        variable_path(w->s, place.type, &at, &member, way);
        return at ? (struct variable_type){ 0 } : member;
}

/* ---- what is left out ---- */

/* Step I of PATH and the one before it. */
static bool steps_alike(const struct why *w, const struct graph_path *path, uint32_t i)
{
        struct dense *d = graph_dense(w->graph);
        uint32_t x = path->blocks[i - 1], y = path->blocks[i];

        return i > 1 && path->at[i - 1] == path->at[i] && path->flags[i - 1] == path->flags[i] &&
               dense_site(d, x) == dense_site(d, y) && dense_size(d, x) == dense_size(d, y);
}

enum { HIDDEN_ALIKE = 1, HIDDEN_MIDDLE };

/* HIDDEN_ALIKE in the middle of a long run of steps of one kind; returns how many are left. */
static uint32_t hide_runs(const struct why *w, const struct graph_path *path, uint8_t *hidden)
{
        uint32_t count = path->count, shown = count;

        for (uint32_t first = 0, end; first < count; first = end) {
                for (end = first + 1; end < count && steps_alike(w, path, end); end++)
                        continue;
                for (uint32_t i = first + WHY_RUN_END;
                     end - first > WHY_RUN && i < end - WHY_RUN_END; i++, shown--)
                        hidden[i] = HIDDEN_ALIKE;
        }
        return shown;
}

static void hide_middle(uint32_t count, uint32_t shown, uint8_t *hidden)
{
        uint32_t seen = 0;

        for (uint32_t i = 0; shown > WHY_STEPS && i < count; i++) {
                seen += !hidden[i];
                if (!hidden[i] && seen > WHY_END && seen <= shown - WHY_END)
                        hidden[i] = HIDDEN_MIDDLE;
        }
}

/* ---- naming ---- */

/* Where a pointer at AT of FROM led: to TO, which has so many bytes.  Lists have nodes of one
 * type. */
struct passed {
        struct variable_type from, to;
        uint64_t at, bytes;
};

struct naming {
        struct why *w;
        const struct graph_path *path;
        const uint8_t *hidden;
        struct why_place place; /* of the block before, at first of the variable */
        uint64_t bytes;         /* of its type, or of one element; only where steps are left out */
        struct passed passed;   /* of the last step that was left out; bytes 0: nothing is known */
        uint64_t left_out;
        bool varied; /* what is left out is not all alike */
};

static struct why_step step_begin(const struct naming *n, uint32_t i)
{
        struct why_step step = { .block = n->path->blocks[i], .left_out = n->left_out,
                                 .alike = !n->varied, .flags = n->path->flags[i] };

        if (i) {
                step.from_block = true;
                step.at = n->path->at[i];
        } else if (n->path->hold != GRAPH_NONE) {
                step.at = n->w->root_name.offset;
        } else {
                step.start = true;
        }
        return step;
}

/* A path may be a list of a million blocks: what is not shown needs no names, and types are
 * the same again and again. */
static void pass_step(struct naming *n, struct why_step *step)
{
        struct dense *d = graph_dense(n->w->graph);
        uint64_t one = n->place.count && !n->bytes ? variable_type_size(n->w->s, n->place.type)
                                                   : n->bytes;
        uint64_t at = n->place.count && one ? step->at % one : step->at,
                 size = dense_size(d, step->block);
        bool plain = !step->flags && !(dense_class(d, step->block) & DENSE_VTABLE);
        struct passed *known = &n->passed, now = { .from = n->place.type, .at = at };

        if (plain && known->bytes && known->from.n == now.from.n && known->at == at &&
            known->bytes <= size) {
                n->place = (struct why_place){ known->to, 0 };
                if (size >= 2 * known->bytes && size % known->bytes == 0)
                        n->place.count = size / known->bytes;
        } else {
                n->place = place_of_block(n->w, step,
                                          member_at(n->w, n->place, step->at, &step->member));
                now.to = n->place.type;
                now.bytes = plain ? variable_type_size(n->w->s, now.to) : 0;
                *known = now;
        }
        n->bytes = known->bytes;
        n->varied = true;
        str_free(&step->member);
        str_free(&step->type);
}

/* Names cost time, and in a run they are known after the second step.  true: STEP is to be
 * shown. */
static bool name_step(struct naming *n, uint32_t i, struct why_step *step)
{
        n->left_out += n->hidden[i] != 0;
        if (n->hidden[i] == HIDDEN_ALIKE)
                return false;
        *step = step_begin(n, i);
        if (step->flags & PROFILE_POINTER_ARENA)
                n->place = (struct why_place){ 0 };
        if (n->hidden[i]) {
                pass_step(n, step);
                return false;
        }
        n->place = place_of_block(n->w, step, member_at(n->w, n->place, step->at, &step->member));
        n->bytes = n->left_out = n->varied = 0;
        return true;
}

/* The objects among the steps that are named. */
static void expect_objects(struct why *w, const struct graph_path *path, const uint8_t *hidden)
{
        struct dense *d = graph_dense(w->graph);
        uint32_t *numbers = NULL, count = 0;

        for (uint32_t i = 0; i < path->count && count < WHY_OBJECTS; i++)
                if (hidden[i] != HIDDEN_ALIKE) {
                        numbers = heap_next(numbers, count, sizeof *numbers);
                        numbers[count++] = path->blocks[i];
                }
        if (count > WHY_STEPS)
                dense_expect(d, numbers, count);
        free(numbers);
}

void why_name_path(struct why *w, struct graph_path *path)
{
        uint8_t *hidden = heap_zero(path->count, sizeof *hidden);
        struct naming n = { .w = w, .path = path, .hidden = hidden };
        uint32_t count = path->count, shown;

        graph_name(w->graph, path);
        shown = hide_runs(w, path, hidden);
        hide_middle(count, shown, hidden);
        expect_objects(w, path, hidden);
        w->length = count;
        w->steps = heap_zero(shown, sizeof *w->steps);
        if (w->root_name.root)
                n.place.type = w->root_name.variable.type;
        for (uint32_t i = 0; i < count; i++)
                w->step_count += name_step(&n, i, &w->steps[w->step_count]);
        free(hidden);
}
