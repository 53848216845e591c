/* SPDX-License-Identifier: MIT */
/* explore.c -- a walk over the graph of pointers: its threads, and what they give each other. */
#include "leak/explore.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/parallel.h"

/* Blocks that are anybody's. */
struct explore_pool {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        uint32_t *blocks;
        uint64_t count, room;
        uint32_t at_work, waiting; /* of those at work */
        void (*drain)(struct explorer *w);
};

struct explore *explore_new(struct search_graph *g, uint32_t threads)
{
        struct explore *w;

        threads = threads < 1 ? 1 : threads < PARALLEL_MOST ? threads : PARALLEL_MOST;
        w = heap_zero(1, sizeof *w + threads * sizeof *w->explorers);
        w->threads = threads;
        w->pool = heap_zero(1, sizeof *w->pool);
        pthread_mutex_init(&w->pool->lock, NULL);
        pthread_cond_init(&w->pool->changed, NULL);
        for (uint32_t i = 0; i < threads; i++)
                w->explorers[i] = (struct explorer){ .g = g, .explore = w };
        return w;
}

void explore_free(struct explore *w)
{
        for (uint32_t i = 0; i < w->threads; i++)
                free(w->explorers[i].stack);
        pthread_mutex_destroy(&w->pool->lock);
        pthread_cond_destroy(&w->pool->changed);
        free(w->pool->blocks);
        free(w->pool);
        free(w);
}

void explore_grow(struct explorer *w)
{
        w->room = w->room ? 2 * w->room : 4096;
        w->stack = heap_grow(w->stack, w->room, sizeof *w->stack);
}

static void pool_put(struct explore_pool *p, const uint32_t *blocks, uint64_t count)
{
        while (p->room - p->count < count) {
                p->room = p->room ? 2 * p->room : 2 * EXPLORE_SHARE;
                p->blocks = heap_grow(p->blocks, p->room, sizeof *p->blocks);
        }
        memcpy(p->blocks + p->count, blocks, count * sizeof *blocks);
        p->count += count;
}

/* The older half: what lies at the bottom of a stack leads to most. */
void explore_share(struct explorer *w)
{
        struct explore_pool *p = w->explore->pool;
        uint64_t half = w->stacked / 2;

        if (!__atomic_load_n(&p->waiting, __ATOMIC_RELAXED))
                return;
        pthread_mutex_lock(&p->lock);
        if (p->waiting && !p->count) {
                pool_put(p, w->stack, half);
                memmove(w->stack, w->stack + half, (w->stacked - half) * sizeof *w->stack);
                w->stacked -= half;
                pthread_cond_broadcast(&p->changed);
        }
        pthread_mutex_unlock(&p->lock);
}

/* What others left, an equal share for each.  false: nobody will have anything any more. */
static bool pool_take(struct explore_pool *p, struct explorer *w)
{
        uint64_t some = 0;

        pthread_mutex_lock(&p->lock);
        __atomic_add_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
        while (!p->count && p->waiting < p->at_work)
                pthread_cond_wait(&p->changed, &p->lock);
        if (p->count) {
                some = (p->count + p->waiting - 1) / p->waiting;
                while (w->room < some)
                        explore_grow(w);
                p->count -= some;
                memcpy(w->stack, p->blocks + p->count, some * sizeof *w->stack);
                w->stacked = some;
                __atomic_sub_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
        } else {
                pthread_cond_broadcast(&p->changed);
        }
        pthread_mutex_unlock(&p->lock);
        return some != 0;
}

static void explore_work(void *context, uint32_t slot, uint32_t part)
{
        struct explore *w = context;
        struct explorer *mine = explore_of(w, part);

        (void)slot; /* a thread may come to be two of them, one after the other */
        pthread_mutex_lock(&w->pool->lock);
        w->pool->at_work++;
        pthread_mutex_unlock(&w->pool->lock);
        do
                w->pool->drain(mine);
        while (pool_take(w->pool, mine));
}

void explore_run(struct explore *w, void (*drain)(struct explorer *w))
{
        w->pool->drain = drain;
        w->pool->at_work = w->pool->waiting = 0;
        parallel_run(w->threads, w->threads, explore_work, w);
}
