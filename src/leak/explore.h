/* SPDX-License-Identifier: MIT */
/*
 * explore.h -- a walk over the graph of pointers by several threads.
 *
 * Room:   leak/ only, used by classes.c.
 * Keeps:  each thread has a stack of blocks, and shares it with those that have none.  Between the
 *         stack and the look is a short queue, and behind that one of the pointers that were
 *         found: what they will need is fetched into the cache meanwhile.
 */
#ifndef SEEP_LEAK_EXPLORE_H
#define SEEP_LEAK_EXPLORE_H

#include <stdbool.h>

#include "leak/search.h"

#define EXPLORE_QUEUE 32u    /* blocks being fetched; half the way is for first[], half for
                              * links[] */
#define EXPLORE_POINTERS 32u /* whose leak[] is being fetched */
#define EXPLORE_SHARE 1024u  /* pushes between two looks whether others have nothing to do */

struct explore;

struct explorer {
        struct search_graph *g;
        const void *context; /* the caller's */
        struct explore *explore;
        uint32_t *stack;
        uint64_t stacked, room;
};

struct explore {
        uint32_t threads;
        struct explore_pool *pool; /* explore.c's own */
        struct explorer explorers[];
};

struct explore *explore_new(struct search_graph *g, uint32_t threads);
void explore_free(struct explore *w);

static inline struct explorer *explore_of(struct explore *w, uint32_t slot)
{
        return &w->explorers[slot];
}

/* Room for more; and some of it for those who wait. */
void explore_grow(struct explorer *w);
void explore_share(struct explorer *w);

static inline void explore_push(struct explorer *w, uint32_t block)
{
        if (w->stacked == w->room)
                explore_grow(w);
        w->stack[w->stacked++] = block;
        if (w->stacked % EXPLORE_SHARE == 0)
                explore_share(w);
}

/* DRAIN, which is explore_drain() of something, by all threads until no block is left. */
void explore_run(struct explore *w, void (*drain)(struct explorer *w));

typedef void explore_visit(struct explorer *w, uint32_t to);

/* VISIT is called for all pointers in blocks on the stack, and in those that it pushes. */
static inline __attribute__((always_inline)) void explore_drain(struct explorer *w,
                                                                explore_visit *visit)
{
        const struct search_graph *g = w->g;
        uint32_t queue[EXPLORE_QUEUE], found[EXPLORE_POINTERS];
        uint64_t in = 0, middle = 0, out = 0, met = 0, done = 0;

        for (;;) {
                if (w->stacked) {
                        queue[in % EXPLORE_QUEUE] = w->stack[--w->stacked];
                        __builtin_prefetch(&g->first[queue[in++ % EXPLORE_QUEUE]]);
                }
                if (middle < in && (in - middle > EXPLORE_QUEUE / 2 || !w->stacked))
                        __builtin_prefetch(&g->links[g->first[queue[middle++ % EXPLORE_QUEUE]]]);
                if (in - out == EXPLORE_QUEUE || (!w->stacked && out < middle)) {
                        uint32_t block = queue[out++ % EXPLORE_QUEUE];

                        for (uint64_t i = g->first[block]; i < g->first[block + 1]; i++) {
                                if (met - done == EXPLORE_POINTERS)
                                        visit(w, found[done++ % EXPLORE_POINTERS]);
                                found[met++ % EXPLORE_POINTERS] = g->links[i].to;
                                __builtin_prefetch(&g->leak[SEARCH_LINK_TO(g->links[i])]);
                        }
                }
                if (w->stacked || out < in)
                        continue;
                if (met == done)
                        return;
                while (done < met)
                        visit(w, found[done++ % EXPLORE_POINTERS]);
        }
}

#endif
