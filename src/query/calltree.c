/* SPDX-License-Identifier: MIT */
#include "query/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "ledger/ledger.h"

void calltree_start(struct calltree *t, const struct profile *p, struct symbols *s,
                    enum calltree_by by)
{
        *t = (struct calltree){ .profile = p, .symbols = s, .by = by, .hidden = symbols_hidden(s) };
        branches_start(&t->nodes, 1, p->node_count); /* as many, but for inlined functions */
}

void calltree_start_small(struct calltree *t, const struct profile *p, struct symbols *s,
                          enum calltree_by by)
{
        *t = (struct calltree){ .profile = p, .symbols = s, .by = by, .hidden = symbols_hidden(s) };
        branches_start(&t->nodes, 1, 64);
}

bool calltree_has_cuts(const struct profile *p)
{
        for (uint32_t i = 2; i < p->node_count; i++)
                if (p->nodes[i].parent == LEDGER_NODE_CUT)
                        return true;
        return false;
}

void calltree_settle(struct calltree *t)
{
        branches_settle(&t->nodes);
        function_free(&t->numbers);
        lookup_free(&t->places);
        free(t->number_of);
        free(t->chain);
        free(t->path);
        lookup_free(&t->functions);
        t->path = NULL;
        t->number_of = t->chain = NULL;
}

void calltree_free(struct calltree *t)
{
        calltree_settle(t);
        branches_free(&t->nodes);
        free(t->frames);
        *t = (struct calltree){ 0 };
}

/* ---- frames ---- */

static struct function_key key_of(const struct calltree *t, struct wrapper_frame at,
                                  const struct symbol_frame *names)
{
        const struct profile_node *n = &t->profile->nodes[at.node];
        struct symbol_frame part = *names;

        if (t->by == CALLTREE_BY_PLACE && at.node > 1)
                return (struct function_key){ .name = n->pc, .file = at.level, .line = n->exact,
                                              .module = n->module };
        if (t->by < CALLTREE_BY_LINE)
                part.line = 0;
        if (t->by == CALLTREE_BY_NAME && part.function)
                return (struct function_key){ .name = (uintptr_t)part.function };
        return function_key_of(t->profile, at.node, &part);
}

static uint32_t function_of(struct calltree *t, struct wrapper_frame at,
                            const struct symbol_frame *names)
{
        const char *name = names[at.level].function;

        return name ? lookup_number(&t->functions, (uintptr_t)name,
                                    t->profile->nodes[at.node].module) + 1
                    : 0;
}

/* Numbers are given in order, so that a new one is the next frame.  AT is one of the COUNT frames
 * of its node, which begin with NAMES. */
static uint32_t number_of(struct calltree *t, struct wrapper_frame at,
                          const struct symbol_frame *names, uint32_t count)
{
        struct function_key key = key_of(t, at, &names[at.level]);
        uint32_t frame = function_key_number(&t->numbers, &key) - 1;

        if (frame < t->frame_count)
                return frame;
        if (t->frame_count == t->frame_room) {
                t->frame_room = t->frame_room ? t->frame_room * 2 : 256;
                t->frames = heap_grow(t->frames, t->frame_room, sizeof *t->frames);
        }
        t->frames[t->frame_count++] = (struct calltree_frame){ at.node, function_of(t, at, names),
                                                               (uint16_t)at.level,
                                                               (uint16_t)(count - at.level),
                                                               &names[at.level] };
        return frame;
}

static uint32_t number_at(struct calltree *t, struct wrapper_frame at)
{
        const struct symbol_frame *names;
        uint32_t count = symbols_node(t->symbols, at.node, &names);

        return number_of(t, at, names, count);
}

/* ---- addresses: most nodes have one that was met before ---- */

/* Where what is known of the frames at NODE begins in number_of. */
static uint32_t place_of(struct calltree *t, uint32_t node)
{
        uint32_t *known = &symbols_place(&t->places, t->profile, node)->value, count;
        const struct symbol_frame *names;

        if (*known)
                return *known - 1;
        count = symbols_node(t->symbols, node, &names);
        if (t->number_count + 1 + count > t->number_room) {
                uint32_t room = 2 * (t->number_count + count) + 256;

                t->number_of = heap_grow(t->number_of, room, sizeof *t->number_of);
                memset(t->number_of + t->number_room, 0,
                       (room - t->number_room) * sizeof *t->number_of);
                t->number_room = room;
        }
        *known = t->number_count + 1;
        t->number_of[t->number_count] = count;
        t->number_count += 1 + count;
        return *known - 1;
}

/* ---- stacks ---- */

/* The next node outwards that is shown; 0 and 1: there is none. */
static uint32_t caller_of(const struct calltree *t, const struct selection *sel, uint32_t node)
{
        uint32_t caller = select_parent(sel, node);

        return caller > 1 && t->hidden && t->hidden[select_origin(sel, caller)] ? 0 : caller;
}

bool calltree_is_cut(const struct calltree *t, const struct selection *sel, uint32_t node)
{
        while (node > LEDGER_NODE_CUT && !(t->hidden && t->hidden[select_origin(sel, node)]))
                node = select_parent(sel, node);
        return node == LEDGER_NODE_CUT;
}

static void chain_add(struct calltree *t, uint32_t count, uint32_t node)
{
        if (count == t->chain_room) {
                t->chain_room = count ? count * 2 : 256;
                t->chain = heap_grow(t->chain, t->chain_room, sizeof *t->chain);
        }
        t->chain[count] = node;
}

/* NODE is called by the last one of the path. */
static void path_add(struct calltree *t, uint32_t node)
{
        uint32_t function = t->frames[t->nodes.list[node].frame].function;

        if (t->path_count == t->path_room) {
                t->path_room = t->path_room ? t->path_room * 2 : 256;
                t->path = heap_grow(t->path, t->path_room, sizeof *t->path);
        }
        if (function)
                t->functions.list[function - 1].value = t->path_count;
        t->path[t->path_count++] = node;
}

/* Where on the path FUNCTION is; path_count: nowhere. */
static uint32_t path_find(const struct calltree *t, uint32_t function)
{
        uint32_t at = function ? t->functions.list[function - 1].value : t->path_count;

        return at < t->path_count &&
                               t->frames[t->nodes.list[t->path[at]].frame].function == function
                       ? at
                       : t->path_count;
}

/* The path becomes that to NODE, of which mostly a part is there.  USED entries of the chain stay
 * as they are. */
static void path_to(struct calltree *t, uint32_t node, uint32_t used)
{
        uint32_t count = used, at = 0;

        for (; node; node = t->nodes.list[node].parent) {
                at = path_find(t, t->frames[t->nodes.list[node].frame].function);
                if (at < t->path_count && t->path[at] == node)
                        break;
                chain_add(t, count++, node);
        }
        t->path_count = node ? at + 1 : 0;
        while (count-- > used)
                path_add(t, t->chain[count]);
}

/* Which frames of a stack are shown; fold NULL: all. */
struct shows {
        struct fold *fold;
        bool whole;
};

/* The frames at FROM, of the profile, and those that they are inlined into, called by PARENT. */
static uint32_t add_frames(struct calltree *t, struct shows shows, uint32_t parent,
                           struct wrapper_frame from)
{
        struct fold *fold = shows.fold;
        bool once = fold && !fold->recursion;
        uint32_t place = place_of(t, from.node);

        for (uint32_t i = t->number_of[place]; i-- > from.level;) {
                uint32_t *number = &t->number_of[place + 1 + i], again;

                if (fold &&
                    !fold_shows(fold, (struct wrapper_frame){ from.node, i }, shows.whole))
                        continue;
                if (!*number)
                        *number = number_at(t, (struct wrapper_frame){ from.node, i }) + 1;
                again = once ? path_find(t, t->frames[*number - 1].function) : t->path_count;
                if (again < t->path_count) { /* it is where it was entered first */
                        parent = t->nodes.list[t->path[again]].parent;
                        t->path_count = again;
                }
                parent = branches_child(&t->nodes, parent, *number - 1);
                if (once)
                        path_add(t, parent);
        }
        return parent;
}

/* Whether NODE, of SEL's tree, leads to the program's own code and is not shown for that: it is
 * where no such code follows, and then it has another end. */
static bool is_left_out(const struct selection *sel, uint32_t node, struct shows shows)
{
        return !shows.whole &&
               fold_is_outside(shows.fold, (struct wrapper_frame){ select_origin(sel, node), 0 });
}

uint32_t calltree_add(struct calltree *t, const struct selection *sel, uint32_t *ends,
                      struct wrapper_frame from)
{
        static const struct symbol_frame nameless;
        uint32_t count = 0, at = from.node, inner;
        struct shows shows = { sel->fold, true };

        if (at <= 1)
                return branches_child(&t->nodes, 0, number_of(t, from, &nameless, 1));
        if (!from.level && ends && ends[at])
                return ends[at];
        if (sel->fold)
                shows.whole = fold_is_outside(sel->fold,
                                              (struct wrapper_frame){ select_origin(sel, at),
                                                                      from.level });
        if (from.level) /* a part of what is at this address */
                at = caller_of(t, sel, at);
        for (; at > 1 && !is_left_out(sel, at, shows) && !(ends && ends[at]);
             at = caller_of(t, sel, at))
                chain_add(t, count++, at);
        inner = at > 1 && !is_left_out(sel, at, shows) ? ends[at] : 0;
        if (!inner && t->cuts && calltree_is_cut(t, sel, from.node))
                inner = branches_child(&t->nodes, 0,
                                       number_of(t, (struct wrapper_frame){ LEDGER_NODE_CUT, 0 },
                                                 &nameless, 1));
        if (sel->fold && !sel->fold->recursion && (count || from.level))
                path_to(t, inner, count);
        while (count--) {
                struct wrapper_frame all = { select_origin(sel, t->chain[count]), 0 };

                inner = add_frames(t, shows, inner, all);
                if (ends)
                        ends[t->chain[count]] = inner;
        }
        from.node = select_origin(sel, from.node);
        return from.level ? add_frames(t, shows, inner, from) : inner;
}

uint32_t calltree_caller(const struct calltree *t, uint32_t node)
{
        for (uint32_t left = t->frames[t->nodes.list[node].frame].rest; left; left--)
                node = t->nodes.list[node].parent;
        return node;
}
