/* SPDX-License-Identifier: MIT */
/*
 * maker.c -- who made a block, in one name.
 *
 * Room:   outside.
 */
#include "report/maker.h"

#include "report/label.h"
#include "report/wrapper.h"

static const struct symbol_frame maker_unknown;

struct maker maker_of(const struct profile *p, struct symbols *s, uint32_t site)
{
        uint32_t innermost = site < p->site_count ? p->sites[site].node : 0;
        struct maker maker = { innermost, &maker_unknown };
        const struct symbol_frame *frames;

        if (innermost <= 1)
                return maker;
        symbols_node(s, innermost, &maker.frame);
        for (uint32_t node = innermost; node > 1; node = p->nodes[node].parent) {
                uint32_t count = symbols_node(s, node, &frames);

                if (label_is_start(&frames[count - 1]))
                        break;
                for (uint32_t i = 0; i < count && !label_in_libc(p, node); i++)
                        if (!wrapper_or_library(&frames[i]))
                                return (struct maker){ node, &frames[i] };
        }
        return maker;
}

void maker_write(const struct profile *p, struct maker maker, size_t columns, struct str *out)
{
        label_fit(p, maker.node, maker.frame, columns, 0, out);
}
