/* SPDX-License-Identifier: MIT */
/*
 * maker.c -- who made a block, in one name.
 *
 * Room:   outside.
 */
#include "query/maker.h"

#include <string.h>

#include "query/wrapper.h"
#include "words/label.h"
#include "words/text.h"

static const struct symbol_frame maker_unknown;

/* The innermost of interest, from FROM on. */
static struct maker next_from(const struct profile *p, struct symbols *s, struct maker from, uint32_t level)
{
        const struct symbol_frame *frames;

        for (uint32_t node = from.node; node > 1; node = p->nodes[node].parent, level = 0) {
                uint32_t count;

                if (symbols_is_start(s, node))
                        break;
                count = symbols_node(s, node, &frames);
                for (; level < count && !label_in_libc(p, node); level++)
                        if (!wrapper_or_library(&frames[level]))
                                return (struct maker){ node, &frames[level] };
        }
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
        struct maker inner = innermost(p, s, site), found = next_from(p, s, inner, 0);

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
        struct maker inner = innermost(p, s, site), maker = maker_of(p, s, site), caller;
        const struct symbol_frame *frames;
        size_t start = out->length, used;

        if (inner.node > 1 && inner.node != maker.node && label_in_libc(p, inner.node)) {
                label_short(p, inner.node, inner.frame, out);
                str_text(out, " <- ");
        }
        used = text_columns(out, start);
        maker_write(p, maker, columns > used ? columns - used : columns, out);
        if (maker.node <= 1)
                return;
        symbols_node(s, maker.node, &frames);
        caller = next_from(p, s, maker, (uint32_t)(maker.frame - frames) + 1);
        if (caller.frame)
                add_caller(p, caller, start, columns, out);
}

void maker_write(const struct profile *p, struct maker maker, size_t columns, struct str *out)
{
        label_fit(p, maker.node, maker.frame, columns, 0, out);
}
