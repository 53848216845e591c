/* SPDX-License-Identifier: MIT */
#include "query/leaks_list.h"

#include <stdlib.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "profile/packed.h"

/* ---- what hangs on what ---- */

/* The block that the one of VERDICT hangs on; block_count: on none that is known. */
static uint64_t head_of(struct leaks_list *g, const struct profile_verdict *verdict)
{
        if (verdict->leak != PROFILE_LEAK_INDIRECT || !verdict->head ||
            verdict->head > g->p->block_count ||
            dense_leak(&g->dense, verdict->head - 1) != PROFILE_LEAK_DEFINITE)
                return g->p->block_count;
        return verdict->head - 1;
}

static void weigh(struct leaks_list *g, const struct leaks *l)
{
        struct packed_walk w;

        g->weights = heap_zero(g->p->block_count, sizeof *g->weights);
        g->hanging = heap_zero(g->p->block_count, sizeof *g->hanging);
        packed_open(&w, g->p);
        while (packed_next(&w)) {
                uint64_t head = l->silent[w.index] ? g->p->block_count : head_of(g, w.verdict);

                g->weights[w.index] += w.block->size;
                if (head == g->p->block_count)
                        continue;
                g->weights[head] += w.block->size;
                g->hanging[head]++;
        }
        packed_close(&w);
}

/* ---- order ---- */

static void take_class(struct leaks_list *g, const struct leaks *l, uint32_t leak)
{
        for (uint64_t i = 0; i < g->p->block_count; i++)
                if (!l->silent[i] && dense_leak(&g->dense, (uint32_t)i) == leak)
                        g->blocks[g->count++] = (uint32_t)i;
}

static uint64_t *births_of(const struct profile *p)
{
        uint64_t *births = heap_zero(p->block_count, sizeof *births);
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w))
                births[w.index] = w.block->birth_ms;
        packed_close(&w);
        return births;
}

/* The heaviest first: weights are turned round for that, and back. */
static void turn_weights(struct leaks_list *g)
{
        for (uint64_t i = 0; i < g->p->block_count; i++)
                g->weights[i] = ~g->weights[i];
}

static void put_in_order(struct leaks_list *g, const struct leaks *l, const struct leaks_options *o)
{
        uint64_t *births = o->oldest_first ? births_of(g->p) : NULL;

        g->blocks = heap_grow(NULL, g->p->block_count, sizeof *g->blocks);
        turn_weights(g);
        for (uint32_t leak = PROFILE_LEAK_COUNT; leak-- > 0;) {
                uint64_t first = g->count;

                if (!(o->show >> leak & 1))
                        continue;
                take_class(g, l, leak);
                arrange_by(g->blocks + first, (uint32_t)(g->count - first), g->weights);
                if (births)
                        arrange_by(g->blocks + first, (uint32_t)(g->count - first), births);
        }
        turn_weights(g);
        free(births);
}

void leaks_list_make(struct leaks_list *g, const struct leaks *l, const struct leaks_options *o,
                     uint64_t shown)
{
        *g = (struct leaks_list){ .p = l->sel->profile };
        dense_open(&g->dense, g->p);
        dense_open(&g->heads, g->p);
        weigh(g, l);
        put_in_order(g, l, o);
        dense_rest(&g->dense);
        g->limit = shown && shown < g->count ? shown : g->count;
}

void leaks_list_free(struct leaks_list *g)
{
        free(g->blocks);
        free(g->weights);
        free(g->hanging);
        dense_close(&g->dense);
        dense_close(&g->heads);
        *g = (struct leaks_list){ 0 };
}

/* ---- one after another ---- */

static void expect(struct leaks_list *g, uint64_t first)
{
        uint64_t left = g->limit > first ? g->limit - first : 1, heads = 0,
                 count = left < LEAKS_AT_ONCE ? left : LEAKS_AT_ONCE;
        uint32_t *numbers = heap_grow(NULL, count, sizeof *numbers);

        for (uint64_t i = 0; i < count; i++)
                numbers[i] = g->blocks[first + i];
        dense_expect(&g->dense, numbers, count);
        for (uint64_t i = 0; i < count; i++) {
                uint32_t head = dense_verdict(&g->dense, g->blocks[first + i]).head;

                if (head && head <= g->p->block_count)
                        numbers[heads++] = head - 1;
        }
        dense_expect(&g->heads, numbers, heads);
        free(numbers);
        g->first = first;
        g->end = first + count;
}

struct leaks_listed leaks_list_at(struct leaks_list *g, uint64_t at)
{
        struct leaks_listed found = { .index = g->blocks[at] };

        if (at < g->first || at >= g->end)
                expect(g, at);
        found.block = dense_block(&g->dense, found.index);
        found.verdict = dense_verdict(&g->dense, found.index);
        found.hanging.blocks = g->hanging[found.index];
        found.hanging.bytes = g->weights[found.index] - found.block.size;
        return found;
}

uint64_t leaks_list_head(struct leaks_list *g, const struct leaks_listed *block)
{
        uint32_t head = block->verdict.leak == PROFILE_LEAK_INDIRECT ? block->verdict.head : 0;

        return head && head <= g->p->block_count ? dense_block(&g->heads, head - 1).address : 0;
}
