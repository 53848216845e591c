/* SPDX-License-Identifier: MIT */
#include "query/maker.h"

#include <string.h>

#include "query/walk.h"
#include "words/label.h"
#include "words/text.h"

static const struct symbol_frame maker_unknown;

/* The next of interest. */
static struct maker next_of(const struct profile *p, struct walk *w)
{
        while (walk_next(w))
                if (!label_in_libc(p, w->node) && !wrapper_or_library(w->frame))
                        return (struct maker){ w->node, w->frame };
        return (struct maker){ 0, NULL };
}

static struct maker innermost(const struct profile *p, struct symbols *s, uint32_t site)
{
        struct maker maker = { site < p->site_count ? p->sites[site].node : 0, &maker_unknown };

        if (maker.node > 1)
                symbols_node(s, maker.node, &maker.frame);
        return maker;
}

struct maker maker_of(const struct profile *p, struct symbols *s, uint32_t site)
{
        struct maker inner = innermost(p, s, site), found;
        struct walk w = walk_own(p, s, inner.node);

        found = next_of(p, &w);
        return found.frame ? found : inner;
}

/* Append " <- main [list.c:90]" where that leaves OUT at most COLUMNS columns long from byte START on, or " <- main", or nothing. */
static void add_caller(const struct profile *p, struct maker caller, size_t start, size_t columns, struct str *out)
{
        struct str text = { 0 };
        size_t used = text_columns(out, start) + strlen(" <- ");

        maker_write(p, caller, 0, &text);
        if (columns && used + text_columns(&text, 0) > columns) {
                str_clear(&text);
                label_short(p, caller.node, caller.frame, &text);
        }
        if (!columns || used + text_columns(&text, 0) <= columns)
                str_format(out, " <- %s", str_get(&text));
        str_free(&text);
}

void maker_calls(const struct profile *p, struct symbols *s, uint32_t site, size_t columns, struct str *out)
{
        struct maker inner = innermost(p, s, site), maker, caller;
        struct walk w = walk_own(p, s, inner.node);
        size_t start = out->length, used;

        maker = next_of(p, &w);
        if (!maker.frame)
                maker = inner;
        if (inner.node > 1 && inner.node != maker.node && label_in_libc(p, inner.node)) {
                label_short(p, inner.node, inner.frame, out);
                str_text(out, " <- ");
        }
        used = text_columns(out, start);
        maker_write(p, maker, columns > used ? columns - used : columns, out);
        caller = next_of(p, &w);
        if (caller.frame)
                add_caller(p, caller, start, columns, out);
}

void maker_write(const struct profile *p, struct maker maker, size_t columns, struct str *out)
{
        label_fit(p, maker.node, maker.frame, columns, 0, out);
}
