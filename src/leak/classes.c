/* SPDX-License-Identifier: MIT */
/*
 * classes.c -- from pointers to verdicts.
 *
 * Keeps:  no recursion: blocks to look at are on a stack.  Between the stack and the look is a
 *         short queue; a block that enters it is fetched into the cache meanwhile.
 * Cost:   150 to 350 ns a block of ten million at random, with one to two and a half pointers
 *         each (bench/leak_search).
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
 *   1. From the roots by start pointers: reachable.  Blocks met by interior
 *      pointers only are put off.
 *   2. From those put off, by any pointer: possibly lost.
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

#define AHEAD 16u
#define QUEUE 32u /* blocks being fetched; half the way is for first[], half for links[] */

struct classes {
        const struct search_input *in;
        struct search_graph *g;
        uint32_t *stack, *later; /* room for all blocks; LATER: those held by interior pointers */
        uint64_t stacked, put_off;
        uint32_t head; /* of the lost group that is being collected */
};

/* A passage that no root holds.  What it points to may be in use. */
#define CLASSES_PASSED PROFILE_LEAK_COUNT

typedef void visit(struct classes *c, struct search_link link);

static inline void classes_push(struct classes *c, uint32_t block)
{
        c->stack[c->stacked++] = block;
}

/* Visit the links of all blocks on the stack and of those that VISIT pushes. */
static inline __attribute__((always_inline)) void classes_drain(struct classes *c,
                                                                visit *link_visit)
{
        const struct search_graph *g = c->g;
        uint32_t queue[QUEUE];
        uint64_t in = 0, middle = 0, out = 0;

        while (c->stacked || out < in) {
                if (c->stacked) {
                        queue[in % QUEUE] = c->stack[--c->stacked];
                        __builtin_prefetch(&g->first[queue[in++ % QUEUE]]);
                }
                if (middle < in && (in - middle > QUEUE / 2 || !c->stacked)) {
                        __builtin_prefetch(&g->links[g->first[queue[middle++ % QUEUE]]]);
                }
                if (in - out == QUEUE || (!c->stacked && out < middle)) {
                        uint32_t block = queue[out++ % QUEUE];

                        for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++)
                                link_visit(c, g->links[i]);
                }
        }
}

/* From a reachable block or a root. */
static inline void classes_visit_reachable(struct classes *c, struct search_link link)
{
        uint32_t to = SEARCH_LINK_TO(link);
        uint8_t *leak = &c->g->leak[to];

        if (link.to & SEARCH_LINK_INTERIOR) {
                if (*leak == PROFILE_LEAK_UNKNOWN) {
                        *leak = PROFILE_LEAK_POSSIBLE;
                        c->later[c->put_off++] = to;
                }
                return;
        }
        if (*leak != PROFILE_LEAK_REACHABLE) {
                *leak = PROFILE_LEAK_REACHABLE;
                c->g->idiom[to] = (link.to & SEARCH_LINK_IDIOM) != 0;
                classes_push(c, to);
        } else if (!(link.to & SEARCH_LINK_IDIOM) && c->g->idiom[to])
                c->g->idiom[to] = 0;
}

/* From one that is possibly lost, with whatever pointer. */
static inline void classes_visit_possible(struct classes *c, struct search_link link)
{
        uint32_t to = SEARCH_LINK_TO(link);

        if (c->g->leak[to] == PROFILE_LEAK_UNKNOWN) {
                c->g->leak[to] = PROFILE_LEAK_POSSIBLE;
                classes_push(c, to);
        }
}

/* From a passage that no root holds, and from what it leads to. */
static inline void classes_visit_passed(struct classes *c, struct search_link link)
{
        uint32_t to = SEARCH_LINK_TO(link);

        if (c->g->leak[to] == PROFILE_LEAK_UNKNOWN) {
                c->g->leak[to] = c->in->blocks[to].flags & SEARCH_BLOCK_PASSAGE
                                         ? CLASSES_PASSED
                                         : PROFILE_LEAK_POSSIBLE;
                classes_push(c, to);
        }
}

/* From a lost block.  Who was thought to be a head, but is held by a later block, hangs on
 * that, with all of its own. */
static inline void classes_visit_lost(struct classes *c, struct search_link link)
{
        uint32_t to = SEARCH_LINK_TO(link);
        uint8_t *leak = &c->g->leak[to];

        if (to == c->head || (*leak != PROFILE_LEAK_UNKNOWN && *leak != PROFILE_LEAK_DEFINITE))
                return;
        *leak = PROFILE_LEAK_INDIRECT;
        c->g->head[to] = c->head + 1;
        classes_push(c, to);
}

static void classes_open(struct classes *c, const struct search_input *in, struct search_graph *g)
{
        *c = (struct classes){ .in = in, .g = g };
        c->stack = heap_grow(NULL, g->block_count, sizeof *c->stack);
        c->later = heap_grow(NULL, g->block_count, sizeof *c->later);
}

static void classes_close(struct classes *c)
{
        free(c->stack);
        free(c->later);
}

void classes_mark(const struct search_input *in, struct search_graph *g)
{
        struct classes c;

        classes_open(&c, in, g);
        memset(g->leak, PROFILE_LEAK_UNKNOWN, g->block_count);
        memset(g->idiom, 0, g->block_count);
        for (uint64_t i = 0; i < g->hold_count; i++)
                classes_visit_reachable(&c, (struct search_link){ .to = g->holds[i].to });
        for (uint64_t i = 0; i < g->block_count; i++)
                if (in->blocks[i].flags & SEARCH_BLOCK_IGNORED)
                        classes_visit_reachable(&c, (struct search_link){ .to = (uint32_t)i });
        classes_drain(&c, classes_visit_reachable);
        for (uint64_t i = 0; i < c.put_off; i++)
                if (g->leak[c.later[i]] == PROFILE_LEAK_POSSIBLE) /* else it turned out reachable */
                        classes_push(&c, c.later[i]);
        classes_drain(&c, classes_visit_possible);
        classes_close(&c);
}

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
        struct classes c;

        classes_open(&c, in, g);
        for (uint64_t i = 0; i < c.g->block_count; i++)
                if (c.in->blocks[i].flags & SEARCH_BLOCK_PASSAGE)
                        classes_visit_passed(&c, (struct search_link){ .to = (uint32_t)i });
        classes_drain(&c, classes_visit_passed);
        for (uint64_t i = 0; i < g->block_count; i++) {
                classes_prefetch(g, i + AHEAD);
                if (g->leak[i] != PROFILE_LEAK_UNKNOWN)
                        continue;
                g->leak[i] = PROFILE_LEAK_DEFINITE;
                c.head = (uint32_t)i;
                classes_push(&c, c.head);
                classes_drain(&c, classes_visit_lost);
        }
        classes_settle_heads(g);
        for (uint64_t i = 0; i < g->block_count; i++)
                if (g->leak[i] == CLASSES_PASSED)
                        g->leak[i] = PROFILE_LEAK_UNKNOWN;
        classes_close(&c);
}
