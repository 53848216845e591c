/* SPDX-License-Identifier: MIT */
/* callers.c -- the callers of a function, and what is allocated through it. */
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "query/expression.h"
#include "query/select.h"
#include "base/lookup.h"
#include "words/label.h"
#include "words/text.h"

enum { CALLERS_UNSEEN, CALLERS_OTHER, CALLERS_FOUND };

struct callers {
        struct selection *sel;
        struct symbols *symbols;
        const char *function;
        struct expressions expressions; /* empty: names are compared */
        struct lookup known;
        uint8_t *needed;             /* by node */
        struct wrapper_frame *found; /* by node: the outermost frame of that name
                                      * from here on; node 0: none */
        uint32_t count;              /* nodes with one of their own */
};

/* "f" and "f(int)" are both called f. */
static bool callers_named(const char *name, const char *function)
{
        size_t length = strlen(function);

        return strncmp(name, function, length) == 0 &&
               (!name[length] || (name[length] == '(' && label_length(name) == length));
}

static bool callers_match(struct callers *c, uint32_t origin, const struct symbol_frame *frame)
{
        struct str label = { 0 };
        uint32_t *known;
        bool found;

        if (!frame->function) {
                label_function(c->sel->profile, origin, frame, &label);
                found = c->expressions.count ? expressions_match(&c->expressions, str_get(&label))
                                             : strcmp(str_get(&label), c->function) == 0;
                str_free(&label);
                return found;
        }
        known = lookup_pointer(&c->known, frame->function);
        if (!*known) {
                found = c->expressions.count ? expressions_match(&c->expressions, frame->function)
                                             : callers_named(frame->function, c->function);
                *known = found ? CALLERS_FOUND : CALLERS_OTHER;
        }
        return *known == CALLERS_FOUND;
}

/* A parent's number is smaller than its child's: what is further out is known already. */
static void callers_search(struct callers *c)
{
        const struct symbol_frame *frames;

        for (uint32_t i = 2; i < c->sel->node_count; i++) {
                uint32_t origin = select_origin(c->sel, i), above = select_parent(c->sel, i), level;

                progress_tell(c->sel->progress, i, c->sel->node_count);
                if (!c->needed[i])
                        continue;
                c->found[i] = c->found[above];
                level = symbols_node(c->symbols, origin, &frames);
                while (level-- && !c->found[i].node)
                        if (callers_match(c, origin, &frames[level])) {
                                c->found[i] = (struct wrapper_frame){ i, level };
                                c->count++;
                        }
        }
}

/* First as a name; when no function has it, as an expression. */
static bool callers_find(struct callers *c, struct err *e)
{
        c->needed = needed_nodes(c->sel);
        c->found = heap_zero(c->sel->node_count, sizeof *c->found);
        callers_search(c);
        if (c->count)
                return true;
        lookup_free(&c->known);
        if (!expressions_add(&c->expressions, c->function, e))
                return err_context(e, "no function is named '%s', and it is", c->function);
        callers_search(c);
        return c->count ||
               err_set(e, ERR_EXIT_USAGE, "no function in these stacks is named '%s' or matches it",
                       c->function);
}

static void callers_keep(const struct callers *c, struct select_part *part)
{
        struct select_part kept = { .rows = part->rows };

        for (uint32_t i = 0; i < part->count; i++) {
                struct select_row row = part->rows[i];
                struct wrapper_frame at = row.node > 1 ? c->found[row.node]
                                                       : (struct wrapper_frame){ 0 };

                if (!at.node || (at.node == row.node && at.level < row.level))
                        continue;
                row.node = at.node;
                row.level = at.level;
                kept.rows[kept.count++] = row;
                kept.total_bytes += row.bytes;
                kept.total_count += row.count;
        }
        *part = kept;
}

static void callers_heading(const struct callers *c, int64_t before, struct str *out)
{
        const struct select_part *heap = &c->sel->heap;
        int64_t through = select_weight(c->sel, heap->total_bytes, heap->total_count);
        const char *unit = select_counts(c->sel->cost) ? "x" : "B";

        str_format(out, "through %s: ", c->function);
        text_number(out, through);
        str_format(out, "%s of ", unit);
        text_number(out, before);
        str_format(out, "%s (", unit);
        text_share(out, (double)through, (double)before);
        str_text(out, ")\n");
}

bool callers_write(struct selection *sel, struct symbols *s, const char *function,
                   const struct tree_options *options, struct str *out, struct err *e)
{
        int64_t before = select_weight(sel, sel->heap.total_bytes, sel->heap.total_count);
        struct callers c = { .sel = sel, .symbols = s, .function = function };
        struct tree_options inverted = *options;
        bool good = callers_find(&c, e);

        inverted.inverted = true;
        if (good) {
                callers_keep(&c, &sel->heap);
                callers_keep(&c, &sel->mapped);
                callers_heading(&c, before, out);
                tree_write(sel, s, &inverted, out);
        }
        expressions_free(&c.expressions);
        lookup_free(&c.known);
        free(c.needed);
        free(c.found);
        return good;
}
