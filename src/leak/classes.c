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

        if (!(c->g->link_flags & SEARCH_LINK_INTERIOR))
                return;
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

        for (uint64_t i = 0; i < g->hold_count; i++)
                visit_reachable(w, g->holds[i].to);
        for (uint64_t i = 0; i < g->block_count && g->block_flags & SEARCH_BLOCK_IGNORED; i++)
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
        struct classes c;

        if (!(g->link_flags & SEARCH_LINK_IDIOM))
                return;
        c = classes_open(in, g);
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

        for (uint64_t i = g->block_count; i-- > 0;) {
                if (i >= AHEAD && head[i - AHEAD])
                        __builtin_prefetch(&head[head[i - AHEAD] - 1]);
                if (head[i] > i && head[head[i] - 1])
                        head[i] = head[head[i] - 1];
        }
        for (uint64_t i = 0; i < g->block_count; i++) {
                if (i + AHEAD < g->block_count && head[i + AHEAD])
                        __builtin_prefetch(&head[head[i + AHEAD] - 1]);
                if (head[i] && head[head[i] - 1])
                        head[i] = head[head[i] - 1];
        }
}

/* Lost blocks are looked at one after another; what they need is anywhere, and is fetched step by
 * step while others before them are looked at. */
#define AHEAD_MOST 64u
#define AHEAD_STEP 12u

struct classes_ahead {
        const struct search_graph *g;
        uint32_t blocks[AHEAD_MOST];
        uint64_t in, out; /* of them */
        uint64_t next;    /* the next block that may be lost */
};

/* The next block that is not known to be anything; block_count: there is none. */
static uint64_t classes_next_lost(const struct search_graph *g, uint64_t block)
{
        while (block < g->block_count && g->leak[block] != PROFILE_LEAK_UNKNOWN)
                block++;
        return block;
}

/* The block that came so many STEPS ago. */
static const uint32_t *ahead_past(const struct classes_ahead *a, unsigned steps)
{
        uint64_t back = (uint64_t)steps * AHEAD_STEP;

        return a->in > back ? &a->blocks[(a->in - 1 - back) % AHEAD_MOST] : NULL;
}

/* What BLOCK points to: its class, or what a look at it takes if it is lost, too. */
static inline void ahead_fetch(const struct search_graph *g, const uint32_t *block, unsigned step)
{
        for (uint64_t i = block ? g->first[*block] : 0; block && i < g->first[*block + 1]; i++) {
                uint32_t to = SEARCH_LINK_TO(g->links[i]);
                bool lost = step > 2 && (g->leak[to] == PROFILE_LEAK_UNKNOWN ||
                                         g->leak[to] == PROFILE_LEAK_DEFINITE);

                if (step == 2)
                        __builtin_prefetch(&g->leak[to]);
                if (lost && step == 3) {
                        __builtin_prefetch(&g->first[to]);
                        __builtin_prefetch(&g->head[to]);
                } else if (lost) {
                        __builtin_prefetch(&g->links[g->first[to]]);
                }
        }
}

/* The next block that was lost when it came into sight; NULL: there is none. */
static const uint32_t *ahead_next(struct classes_ahead *a)
{
        const struct search_graph *g = a->g;

        while (a->in - a->out < AHEAD_MOST && a->next < g->block_count) {
                const uint32_t *block;

                a->next = classes_next_lost(g, a->next);
                if (a->next == g->block_count)
                        break;
                __builtin_prefetch(&g->first[a->next]);
                a->blocks[a->in++ % AHEAD_MOST] = (uint32_t)a->next++;
                if ((block = ahead_past(a, 1)))
                        __builtin_prefetch(&g->links[g->first[*block]]);
                ahead_fetch(g, ahead_past(a, 2), 2);
                ahead_fetch(g, ahead_past(a, 3), 3);
                ahead_fetch(g, ahead_past(a, 4), 4);
        }
        return a->out < a->in ? &a->blocks[a->out++ % AHEAD_MOST] : NULL;
}

static uint64_t classes_count_lost(const struct search_graph *g)
{
        uint64_t lost = 0;

        for (uint64_t i = 0; i < g->block_count; i++)
                lost += g->leak[i] == PROFILE_LEAK_UNKNOWN;
        return lost;
}

static void classes_pass(const struct search_input *in, struct explorer *w)
{
        struct search_graph *g = w->g;

        w->context = in->blocks;
        for (uint64_t i = 0; i < g->block_count; i++)
                if (g->leak[i] == PROFILE_LEAK_UNKNOWN &&
                    in->blocks[i].flags & SEARCH_BLOCK_PASSAGE)
                        visit_passed(w, (uint32_t)i);
        explore_drain(w, visit_passed);
}

static void classes_group(struct explorer *w)
{
        struct search_graph *g = w->g;
        struct classes_ahead ahead = { .g = g };
        const uint32_t *next;
        uint32_t head;

        w->context = &head;
        while ((next = ahead_next(&ahead))) {
                head = *next;
                if (g->leak[head] != PROFILE_LEAK_UNKNOWN)
                        continue;
                g->leak[head] = PROFILE_LEAK_DEFINITE;
                explore_push(w, head);
                explore_drain(w, visit_lost);
        }
        w->context = NULL;
}

#define MANY_LOST 64u /* one block of so many is */

void classes_lost(const struct search_input *in, struct search_graph *g)
{
        uint64_t lost = classes_count_lost(g);
        struct explore *explore;

        /* Of what is touched here and there, pages are small. */
        g->head = lost > g->block_count / MANY_LOST ? heap_dense(g->block_count, sizeof *g->head)
                                                    : heap_zero(g->block_count, sizeof *g->head);
        if (!lost)
                return;
        explore = explore_new(g, 1);
        classes_pass(in, explore_of(explore, 0));
        classes_group(explore_of(explore, 0));
        classes_settle_heads(g);
        for (uint64_t i = 0; i < g->block_count; i++)
                if (g->leak[i] == CLASSES_PASSED)
                        g->leak[i] = PROFILE_LEAK_UNKNOWN;
        explore_free(explore);
}
