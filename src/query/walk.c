/* SPDX-License-Identifier: MIT */
#include "query/walk.h"

struct walk walk_from(const struct profile *p, struct symbols *s, struct wrapper_frame from)
{
        return (struct walk){ .node = from.node, .level = from.level, .profile = p, .symbols = s,
                              .hides = symbols_hides };
}

struct walk walk_own(const struct profile *p, struct symbols *s, uint32_t node)
{
        struct walk w = walk_from(p, s, (struct wrapper_frame){ node, 0 });

        w.hides = symbols_is_start;
        return w;
}

bool walk_next(struct walk *w)
{
        if (w->count && ++w->level >= w->count) {
                w->node = w->profile->nodes[w->node].parent;
                w->level = w->count = 0;
                if (w->node > 1 && w->hides(w->symbols, w->node))
                        w->node = 0;
        }
        if (w->node <= 1)
                return false;
        if (!w->count)
                w->count = symbols_node(w->symbols, w->node, &w->frames);
        w->frame = &w->frames[w->level];
        return true;
}
