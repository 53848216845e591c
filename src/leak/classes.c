/* SPDX-License-Identifier: MIT */
/*
 * classes.c -- from pointers to verdicts.
 *
 * Keeps:  no recursion: blocks to look at are on a stack (leak/explore.h), of which each thread has
 *         one.  A byte of leak[] only ever changes in one way during a walk, so threads need not
 *         agree about who changes it.
 * Cost:   a quarter of a second of one processor for 16 million blocks that a table holds
 *         (bench/leaks), shared by the threads.
 *
 * Roots are R, blocks are letters; "-->" points to the start of a block, "~~>" to its inside:
 *
 *     R --> a --> b          a, b reachable
 *     R ~~> c --> d          c, d possibly lost: the array may have been moved on, or an accident
 *     R --> e ~~> f --> b    f possibly lost, b stays reachable: the best way counts
 *         g --> h --> i      g definitely lost, h and i indirectly: freeing g would free them
 *     j <--> k               a ring that nobody holds: the first one by address is its head
 *
 * Four walks over the same graph:
 *   1. From the roots by start pointers: reachable.
 *   2. From what roots and reachable blocks hold by interior pointers, by any pointer: possibly
 *      lost.
 *   3. From passages (memory that may or may not have been a block at the moment of the
 *      copy) that no root holds: what they point to may be in use, so it is possibly
 *      lost, and never definitely.
 *   4. Each block that is left begins a group as its head.  What it leads to is indirect.  A head
 *      that a later block leads to was none: its group joins the later one (classes_settle_heads),
 *      so the order of addresses does not matter but for rings.
 */
#include "leak/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/parallel.h"
#include "leak/explore.h"

#define AHEAD 16u
#define PART (1u << 17)       /* blocks that a thread looks at in a row */
#define PARALLEL (1u << 17)   /* with fewer blocks a thread is not worth it */

/* A passage that no root holds.  What it points to may be in use. */
#define CLASSES_PASSED PROFILE_LEAK_COUNT

struct classes {
        const struct search_input *in;
        struct search_graph *g;
        struct explore *explore;
        uint32_t parts; /* PART blocks each */
        uint8_t any;    /* idioms */
};

static struct classes classes_open(const struct search_input *in, struct search_graph *g)
{
        uint32_t threads = g->block_count < PARALLEL ? 1 : in->threads;

        return (struct classes){ .in = in, .g = g, .explore = explore_new(g, threads),
                                 .parts = (uint32_t)((g->block_count + PART - 1) / PART) };
}

static uint8_t leak_of(const struct search_graph *g, uint32_t block)
{
        return __atomic_load_n(&g->leak[block], __ATOMIC_RELAXED);
}

static void set_leak(struct search_graph *g, uint32_t block, uint8_t leak)
{
        __atomic_store_n(&g->leak[block], leak, __ATOMIC_RELAXED);
}

/* ---- what a walk makes of a pointer ---- */

/* From a reachable block or a root. */
static inline void visit_reachable(struct explorer *w, uint32_t to)
{
        if (to & SEARCH_LINK_INTERIOR ||
            leak_of(w->g, SEARCH_TO(to)) == PROFILE_LEAK_REACHABLE)
                return;
        set_leak(w->g, SEARCH_TO(to), PROFILE_LEAK_REACHABLE);
        explore_push(w, SEARCH_TO(to));
}

/* From one that is possibly lost, with whatever pointer. */
static inline void visit_possible(struct explorer *w, uint32_t to)
{
        if (leak_of(w->g, SEARCH_TO(to)) != PROFILE_LEAK_UNKNOWN)
                return;
        set_leak(w->g, SEARCH_TO(to), PROFILE_LEAK_POSSIBLE);
        explore_push(w, SEARCH_TO(to));
}

/* From a passage that no root holds, and from what it leads to. */
static inline void visit_passed(struct explorer *w, uint32_t to)
{
        const struct search_block *blocks = w->context;

        if (leak_of(w->g, SEARCH_TO(to)) != PROFILE_LEAK_UNKNOWN)
                return;
        set_leak(w->g, SEARCH_TO(to), blocks[SEARCH_TO(to)].flags & SEARCH_BLOCK_PASSAGE
                                              ? CLASSES_PASSED
                                              : PROFILE_LEAK_POSSIBLE);
        explore_push(w, SEARCH_TO(to));
}

/* From a lost block.  Who was thought to be a head, but is held by a later block, hangs on
 * that, with all of its own. */
static inline void visit_lost(struct explorer *w, uint32_t to)
{
        uint8_t *leak = &w->g->leak[SEARCH_TO(to)];
        uint32_t head = *(const uint32_t *)w->context;

        to = SEARCH_TO(to);
        if (to == head || (*leak != PROFILE_LEAK_UNKNOWN && *leak != PROFILE_LEAK_DEFINITE))
                return;
        *leak = PROFILE_LEAK_INDIRECT;
        w->g->head[to] = head + 1;
        explore_push(w, to);
}

static void drain_reachable(struct explorer *w)
{
        explore_drain(w, visit_reachable);
}

static void drain_possible(struct explorer *w)
{
        explore_drain(w, visit_possible);
}

/* ---- all links of reachable blocks, in their order ---- */

typedef void look(struct classes *c, struct explorer *w, uint32_t to);

/* FLAG: those without it are passed over, but for 0. */
static inline __attribute__((always_inline)) void
classes_look(struct classes *c, uint32_t slot, uint32_t part, uint32_t flag, look *link_look)
{
        const struct search_graph *g = c->g;
        uint64_t end = (uint64_t)(part + 1) * PART, last;

        end = end < g->block_count ? end : g->block_count;
        last = g->first[end];
        for (uint64_t block = (uint64_t)part * PART; block < end; block++) {
                if (leak_of(g, (uint32_t)block) != PROFILE_LEAK_REACHABLE)
                        continue;
                for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++) {
                        if (i + AHEAD < last && (!flag || g->links[i + AHEAD].to & flag))
                                __builtin_prefetch(&g->leak[SEARCH_TO(g->links[i + AHEAD].to)]);
                        if (!flag || g->links[i].to & flag)
                                link_look(c, explore_of(c->explore, slot), g->links[i].to);
                }
        }
}

static inline void look_interior(struct classes *c, struct explorer *w, uint32_t to)
{
        (void)c;
        visit_possible(w, to);
}

static void part_interior(void *context, uint32_t slot, uint32_t part)
{
        classes_look(context, slot, part, SEARCH_LINK_INTERIOR, look_interior);
}

static inline void look_idiom(struct classes *c, struct explorer *w, uint32_t to)
{
        (void)c;
        visit_reachable(w, to);
}

static void part_idiom(void *context, uint32_t slot, uint32_t part)
{
        classes_look(context, slot, part, SEARCH_LINK_IDIOM, look_idiom);
}

/* ---- the walks from roots ---- */

static void mark_possible(struct classes *c)
{
        struct explorer *w = explore_of(c->explore, 0);

        for (uint64_t i = 0; i < c->g->hold_count; i++)
                if (c->g->holds[i].to & SEARCH_LINK_INTERIOR)
                        visit_possible(w, c->g->holds[i].to);
        parallel_run(c->explore->threads, c->parts, part_interior, c);
        explore_run(c->explore, drain_possible);
}

void classes_mark(const struct search_input *in, struct search_graph *g)
{
        struct classes c = classes_open(in, g);
        struct explorer *w = explore_of(c.explore, 0);

        memset(g->leak, PROFILE_LEAK_UNKNOWN, g->block_count);
        for (uint64_t i = 0; i < g->hold_count; i++)
                visit_reachable(w, g->holds[i].to);
        for (uint64_t i = 0; i < g->block_count; i++)
                if (in->blocks[i].flags & SEARCH_BLOCK_IGNORED)
                        visit_reachable(w, (uint32_t)i);
        explore_run(c.explore, drain_reachable);
        mark_possible(&c);
        explore_free(c.explore);
}

/* What was reachable stays so. */
void classes_mark_more(const struct search_input *in, struct search_graph *g)
{
        struct classes c = classes_open(in, g);

        for (uint64_t i = 0; i < g->block_count; i++)
                g->leak[i] = g->leak[i] == PROFILE_LEAK_POSSIBLE ? PROFILE_LEAK_UNKNOWN
                                                                 : g->leak[i];
        for (uint64_t i = 0; i < g->hold_count; i++)
                visit_reachable(explore_of(c.explore, 0), g->holds[i].to);
        parallel_run(c.explore->threads, c.parts, part_idiom, &c);
        explore_run(c.explore, drain_reachable);
        mark_possible(&c);
        explore_free(c.explore);
}

/* ---- who is reachable only thanks to an idiom ---- */

static inline void look_thanks(struct classes *c, struct explorer *w, uint32_t to)
{
        (void)w;
        __atomic_store_n(&c->g->idiom[SEARCH_TO(to)], 1, __ATOMIC_RELAXED);
        __atomic_store_n(&c->any, 1, __ATOMIC_RELAXED);
}

static void part_thanks(void *context, uint32_t slot, uint32_t part)
{
        classes_look(context, slot, part, SEARCH_LINK_IDIOM, look_thanks);
}

static inline void look_anyway(struct classes *c, struct explorer *w, uint32_t to)
{
        uint8_t *idiom = &c->g->idiom[SEARCH_TO(to)];

        (void)w;
        if (!(to & (SEARCH_LINK_INTERIOR | SEARCH_LINK_IDIOM)) &&
            __atomic_load_n(idiom, __ATOMIC_RELAXED))
                __atomic_store_n(idiom, 0, __ATOMIC_RELAXED);
}

static void part_anyway(void *context, uint32_t slot, uint32_t part)
{
        classes_look(context, slot, part, 0, look_anyway);
}

void classes_note_idioms(const struct search_input *in, struct search_graph *g)
{
        struct classes c = classes_open(in, g);

        for (uint64_t i = 0; i < g->hold_count; i++)
                if (g->holds[i].to & SEARCH_LINK_IDIOM)
                        look_thanks(&c, NULL, g->holds[i].to);
        parallel_run(c.explore->threads, c.parts, part_thanks, &c);
        if (c.any) {
                for (uint64_t i = 0; i < g->hold_count; i++)
                        look_anyway(&c, NULL, g->holds[i].to);
                for (uint64_t i = 0; i < g->block_count; i++)
                        if (in->blocks[i].flags & SEARCH_BLOCK_IGNORED)
                                g->idiom[i] = 0;
                parallel_run(c.explore->threads, c.parts, part_anyway, &c);
        }
        explore_free(c.explore);
}

/* ---- what is left ---- */

/* Heads that were merged into a later group are no heads, and neither are those that they hang on
 * in turn.  A merged head hangs on a block behind it, so one way down settles them, and one way
 * up all that hang on them. */
static void classes_settle_heads(struct search_graph *g)
{
        uint32_t *head = g->head;

        for (uint64_t i = g->block_count; i-- > 0;)
                if (head[i] > i && head[head[i] - 1])
                        head[i] = head[head[i] - 1];
        for (uint64_t i = 0; i < g->block_count; i++)
                if (head[i] && head[head[i] - 1])
                        head[i] = head[head[i] - 1];
}

/* Blocks are looked at one after another; what the next ones point to is anywhere. */
static void classes_prefetch(const struct search_graph *g, uint64_t block)
{
        if (block >= g->block_count || g->leak[block] != PROFILE_LEAK_UNKNOWN)
                return;
        for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++) {
                uint32_t to = SEARCH_LINK_TO(g->links[i]);

                __builtin_prefetch(&g->leak[to]);
                __builtin_prefetch(&g->first[to]);
                __builtin_prefetch(&g->head[to]);
        }
}

void classes_lost(const struct search_input *in, struct search_graph *g)
{
        struct explore *explore = explore_new(g, 1);
        struct explorer *w = explore_of(explore, 0);
        uint32_t head;

        w->context = in->blocks;
        for (uint64_t i = 0; i < g->block_count; i++)
                if (in->blocks[i].flags & SEARCH_BLOCK_PASSAGE)
                        visit_passed(w, (uint32_t)i);
        explore_drain(w, visit_passed);
        w->context = &head;
        for (uint64_t i = 0; i < g->block_count; i++) {
                classes_prefetch(g, i + AHEAD);
                if (g->leak[i] != PROFILE_LEAK_UNKNOWN)
                        continue;
                g->leak[i] = PROFILE_LEAK_DEFINITE;
                head = (uint32_t)i;
                explore_push(w, head);
                explore_drain(w, visit_lost);
        }
        classes_settle_heads(g);
        for (uint64_t i = 0; i < g->block_count; i++)
                if (g->leak[i] == CLASSES_PASSED)
                        g->leak[i] = PROFILE_LEAK_UNKNOWN;
        explore_free(explore);
}
