/* SPDX-License-Identifier: MIT */
/*
 * cycles.c -- lost blocks that hold each other: cycles of pointers, as with reference counts.
 *
 * From each block that is definitely lost the shortest way back to itself is looked for, through
 * lost blocks.  Circles through the same call stacks at the same offsets are one, counted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/order.h"
#include "page/page_parts.h"

enum {
        CYCLE_STEPS = 12,    /* a longer circle is no picture */
        CYCLE_REACH = 2000,  /* blocks that are looked at for one */
        CYCLE_STARTS = 5000, /* lost blocks that are tried */
        CYCLE_KINDS = 8      /* different ones that are told of */
};

struct cycle_step {
        uint32_t block;
        uint64_t at; /* offset of the pointer to the next one */
};

struct cycle {
        struct cycle_step steps[CYCLE_STEPS];
        uint32_t count;
        uint64_t times, bytes, blocks; /* of all that are alike */
};

/* A search: blocks in the order in which they were reached. */
struct cycle_search {
        const struct profile *p;
        uint8_t *met;    /* by block */
        uint32_t *queue; /* blocks ... */
        uint32_t *from;  /* ... the place in the queue of who led there ... */
        uint64_t *by;    /* ... and the pointer */
        uint32_t count;
};

static bool is_lost(const struct profile *p, uint32_t block)
{
        return block < p->verdict_count && (p->verdicts[block].leak == PROFILE_LEAK_DEFINITE ||
                                            p->verdicts[block].leak == PROFILE_LEAK_INDIRECT);
}

/* From the last block, at place LAST of the queue, back to the first; POINTER closes the circle. */
static bool take_way(const struct cycle_search *s, uint32_t last, uint64_t pointer, struct cycle *c)
{
        struct cycle_step back[CYCLE_STEPS];
        uint64_t leads = pointer;
        uint32_t count = 0;

        for (uint32_t i = last;; i = s->from[i]) {
                if (count == CYCLE_STEPS)
                        return false;
                back[count++] = (struct cycle_step){ s->queue[i], s->p->pointers[leads].at };
                if (!i)
                        break;
                leads = s->by[i];
        }
        *c = (struct cycle){ .count = count, .times = 1, .blocks = count };
        for (uint32_t i = 0; i < count; i++) {
                c->steps[i] = back[count - 1 - i];
                c->bytes += s->p->blocks[back[i].block].size;
        }
        return true;
}

/* The shortest circle through START; false: there is none. */
static bool find_circle(struct cycle_search *s, uint32_t start, struct cycle *c)
{
        const struct profile *p = s->p;
        bool found = false;

        s->count = 1;
        s->queue[0] = start;
        s->met[start] = 1;
        for (uint32_t i = 0; i < s->count && !found; i++) {
                uint64_t k = FIND_FIRST(p->pointer_count, n, p->pointers[n].from < s->queue[i]);

                for (; k < p->pointer_count && p->pointers[k].from == s->queue[i] && !found; k++) {
                        uint32_t to = p->pointers[k].to;

                        if (to == start)
                                found = take_way(s, i, k, c);
                        if (s->count == CYCLE_REACH || !is_lost(p, to) || s->met[to])
                                continue;
                        s->met[to] = 1;
                        s->queue[s->count] = to;
                        s->from[s->count] = i;
                        s->by[s->count++] = k;
                }
        }
        for (uint32_t i = 0; i < s->count; i++)
                s->met[s->queue[i]] = 0;
        return found;
}

static bool are_alike(const struct profile *p, const struct cycle *a, const struct cycle *b)
{
        if (a->count != b->count)
                return false;
        for (uint32_t i = 0; i < a->count; i++)
                if (a->steps[i].at != b->steps[i].at ||
                    p->blocks[a->steps[i].block].site != p->blocks[b->steps[i].block].site)
                        return false;
        return true;
}

static void count_circle(struct page *g, const struct cycle *c)
{
        for (uint32_t i = 0; i < g->cycle_count; i++)
                if (are_alike(g->p, &g->cycles[i], c)) {
                        g->cycles[i].times++;
                        g->cycles[i].bytes += c->bytes;
                        g->cycles[i].blocks += c->blocks;
                        return;
                }
        g->cycles = heap_grow(g->cycles, g->cycle_count + 1, sizeof *g->cycles);
        g->cycles[g->cycle_count++] = *c;
}

static int by_bytes(const void *a, const void *b)
{
        const struct cycle *x = a, *y = b;

        return ORDER(y->bytes, x->bytes) ?: ORDER(x->steps[0].block, y->steps[0].block);
}

void page_find_cycles(struct page *g)
{
        const struct profile *p = g->p;
        struct cycle_search s = { .p = p };
        uint32_t tried = 0;
        struct cycle c;

        if (!g->graph || !p->blocks || !p->verdicts)
                return;
        s.met = heap_zero(p->block_count + 1, 1);
        s.queue = heap_zero(CYCLE_REACH, sizeof *s.queue);
        s.from = heap_zero(CYCLE_REACH, sizeof *s.from);
        s.by = heap_zero(CYCLE_REACH, sizeof *s.by);
        for (uint32_t i = 0; i < p->verdict_count && tried < CYCLE_STARTS; i++)
                if (p->verdicts[i].leak == PROFILE_LEAK_DEFINITE) {
                        tried++;
                        if (find_circle(&s, i, &c))
                                count_circle(g, &c);
                }
        if (g->cycle_count)
                qsort(g->cycles, g->cycle_count, sizeof *g->cycles, by_bytes);
        free(s.met);
        free(s.queue);
        free(s.from);
        free(s.by);
}

void page_write_cycles(struct page *g)
{
        page_name(g, "cycles");
        str_char(g->out, '[');
        for (uint32_t i = 0; i < g->cycle_count && i < CYCLE_KINDS; i++) {
                const struct cycle *c = &g->cycles[i];

                str_format(g->out,
                           "%s{\"times\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"blocks\":%" PRIu64
                           ",\"steps\":[",
                           i ? "," : "", c->times, c->bytes, c->blocks);
                for (uint32_t k = 0; k < c->count; k++) {
                        const struct profile_block *b = &g->p->blocks[c->steps[k].block];

                        str_format(g->out,
                                   "%s{\"site\":%" PRId64 ",\"bytes\":%" PRIu64 ",\"at\":%" PRIu64
                                   ",\"block\":\"0x%" PRIx64 "\"}",
                                   k ? "," : "", page_row(g, b->site), b->size, c->steps[k].at,
                                   b->address);
                }
                str_text(g->out, "]}");
        }
        str_char(g->out, ']');
}

void page_free_cycles(struct page *g)
{
        free(g->cycles);
}
