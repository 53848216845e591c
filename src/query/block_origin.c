/* SPDX-License-Identifier: MIT */
#include "query/block_origin.h"

#include <string.h>

#include "query/walk.h"
#include "words/label.h"
#include "words/text.h"

static const struct symbol_frame block_origin_unknown;

/* The next of interest.  KNOWN: what is remembered of functions; NULL nothing. */
static struct block_origin next_of(const struct profile *p, struct walk *w, struct wrappers *known)
{
        while (walk_next(w))
                if (!label_in_libc(p, w->node) &&
                    !(known ? wrappers_or_library(known, w->frame) : wrapper_or_library(w->frame)))
                        return (struct block_origin){ w->node, w->frame };
        return (struct block_origin){ 0, NULL };
}

static struct block_origin innermost(const struct profile *p, struct symbols *s, uint32_t site)
{
        struct block_origin block_origin = { site < p->site_count ? p->sites[site].node : 0,
                                             &block_origin_unknown };

        if (block_origin.node > 1)
                symbols_node(s, block_origin.node, &block_origin.frame);
        return block_origin;
}

struct block_origin block_origin_again(const struct profile *p, struct symbols *s, uint32_t site,
                                       struct wrappers *known)
{
        struct block_origin inner = innermost(p, s, site), found;
        struct walk w = walk_own(p, s, inner.node);

        found = next_of(p, &w, known);
        return found.frame ? found : inner;
}

struct block_origin block_origin_of(const struct profile *p, struct symbols *s, uint32_t site)
{
        return block_origin_again(p, s, site, NULL);
}

/* Append " <- main [list.c:90]" where that leaves OUT at most COLUMNS columns long from byte START
 * on, or " <- main", or nothing. */
static void add_caller(const struct profile *p, struct block_origin caller, size_t start,
                       size_t columns, struct str *out)
{
        struct str text = { 0 };
        size_t used = text_columns(out, start) + strlen(" <- ");

        block_origin_write(p, caller, 0, &text);
        if (columns && used + text_columns(&text, 0) > columns) {
                str_clear(&text);
                label_short(p, caller.node, caller.frame, &text);
        }
        if (!columns || used + text_columns(&text, 0) <= columns)
                str_format(out, " <- %s", str_get(&text));
        str_free(&text);
}

void block_origin_calls(const struct profile *p, struct symbols *s, uint32_t site, size_t columns,
                        struct str *out)
{
        struct block_origin inner = innermost(p, s, site), block_origin, caller;
        struct walk w = walk_own(p, s, inner.node);
        size_t start = out->length, used;

        block_origin = next_of(p, &w, NULL);
        if (!block_origin.frame)
                block_origin = inner;
        if (inner.node > 1 && inner.node != block_origin.node && label_in_libc(p, inner.node)) {
                label_short(p, inner.node, inner.frame, out);
                str_text(out, " <- ");
        }
        used = text_columns(out, start);
        block_origin_write(p, block_origin, columns > used ? columns - used : columns, out);
        caller = next_of(p, &w, NULL);
        if (caller.frame)
                add_caller(p, caller, start, columns, out);
}

void block_origin_write(const struct profile *p, struct block_origin block_origin, size_t columns,
                        struct str *out)
{
        label_fit(p, block_origin.node, block_origin.frame, columns, 0, out);
}
