/* SPDX-License-Identifier: MIT */
/*
 * graph_retained.c -- what would be freed with a variable or a block: dominators.
 *
 * Keeps:  a vertex is an owner, SEEP_IGNORE, or a block; 0 is above all of them.  X dominates Y
 *         when all ways from 0 to Y go through X; the immediate dominators are a tree, and the sums
 *         over its branches are what we want.  They are found with SEMI-NCA (Georgiadis,
 *         Linear-Time Algorithms for Dominators and Related Problems, 2005), on numbers in the
 *         order of a depth-first walk.  Ranks are walked one after another.  A pointer into an
 *         earlier rank does not count, and one out of it cannot be.
 *
 *     cache --> a --> b --> d
 *               a --> c --> d
 *     log   --> e --> f
 *     cache ------> f
 *
 * d can be reached through b and through c, so neither of them alone keeps it: its immediate
 * dominator is a.  The tree: cache { a { b, c, d } }, log { e }; f is below 0, because both
 * variables hold it.  "cache retains a, b, c, d": what would be freed if cache were cleared.
 *
 * SEMI-NCA in short: number all vertices in the order of a depth-first walk.  The semidominator of
 * a vertex is the smallest number from which it can be reached by a way whose inner vertices have
 * larger numbers than itself.  Going through the vertices from the largest number down, with path
 * compression, all are found.  The immediate dominator is then the nearest ancestor in the growing
 * tree whose number is not above the semidominator.
 */
#include "leak/graph.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/graph_edges.h"

struct walk {
        struct graph *g;
        const struct graph_owners *owners;
        struct graph_groups holds; /* by owner */
        struct graph_groups in;    /* by number: those that point to it */
        uint32_t *number;  /* by block; 0 not met */
        uint32_t *vertex;  /* by number: a block, or the number of blocks and an owner */
        uint32_t *parent;  /* by number: in the walk; later the immediate dominator */
        uint32_t *spare;   /* by number: the next pointer to follow; later the semidominator */
        uint32_t *owner_number; /* by owner; the last one is SEEP_IGNORE */
        uint32_t count;    /* numbers given */
        uint32_t last[GRAPH_LOST + 1]; /* of each rank */
};

/* ---- the walk ---- */

static uint32_t give_number(struct walk *w, uint32_t vertex, uint32_t parent)
{
        w->vertex[++w->count] = vertex;
        w->parent[w->count] = parent;
        return w->count;
}

static uint32_t enter_block(struct walk *w, uint32_t block, uint32_t parent)
{
        w->number[block] = give_number(w, block, parent);
        w->spare[w->number[block]] = w->g->out.first[block];
        return w->number[block];
}

/* From BLOCK on, which nobody met yet.  The way back is in the parents. */
static void walk_block(struct walk *w, uint32_t block, uint32_t parent)
{
        const struct graph_groups *out = &w->g->out;
        uint32_t at = enter_block(w, block, parent);

        while (at != parent) {
                if (w->spare[at] == out->first[w->vertex[at] + 1]) {
                        at = w->parent[at];
                        continue;
                }
                block = GRAPH_BLOCK(out->members[w->spare[at]++]);
                if (!w->number[block])
                        at = enter_block(w, block, at);
        }
}

static void walk_owner(struct walk *w, uint32_t owner)
{
        const struct profile_hold *holds = w->g->p->holds;

        w->owner_number[owner] = give_number(w, w->g->blocks + owner, 0);
        for (uint32_t i = w->holds.first[owner]; i < w->holds.first[owner + 1]; i++)
                if (!w->number[holds[w->holds.members[i]].to])
                        walk_block(w, holds[w->holds.members[i]].to, w->owner_number[owner]);
}

static enum graph_rank rank_of_owner(const struct walk *w, uint32_t owner)
{
        const struct profile *p = w->g->p;
        uint32_t first = w->holds.first[owner];

        if (first == w->holds.first[owner + 1])
                return GRAPH_VAGUE; /* holds nothing */
        return graph_rank(p->roots[p->holds[w->holds.members[first]].from].kind);
}

static void walk_ignored(struct walk *w)
{
        uint32_t ignore = w->owner_number[w->owners->count] = give_number(
                w, w->g->blocks + w->owners->count, 0);

        for (uint32_t i = 0; i < w->g->blocks; i++)
                if (graph_ignored(w->g, i) && !w->number[i])
                        walk_block(w, i, ignore);
}

/* Heads first: what hangs on them is theirs. */
static void walk_lost(struct walk *w)
{
        for (uint32_t i = 0; i < w->g->blocks; i++)
                if (!w->number[i] && dense_leak(&w->g->dense, i) == PROFILE_LEAK_DEFINITE)
                        walk_block(w, i, 0);
        for (uint32_t i = 0; i < w->g->blocks; i++)
                if (!w->number[i])
                        walk_block(w, i, 0);
}

static void walk_all(struct walk *w)
{
        uint32_t blocks = w->g->blocks, owners = w->owners->count;
        size_t most = (size_t)blocks + owners + 2;

        graph_need_out(w->g);
        w->holds = graph_group(owners, w->owners->of_hold, w->g->hold_count);
        w->number = heap_zero(blocks, sizeof *w->number);
        w->owner_number = heap_zero((size_t)owners + 1, sizeof *w->owner_number);
        w->vertex = heap_zero(most, sizeof *w->vertex);
        w->parent = heap_zero(most, sizeof *w->parent);
        w->spare = heap_zero(most, sizeof *w->spare);
        for (int rank = GRAPH_FIRM; rank < GRAPH_LOST; rank++) {
                if (rank == GRAPH_FIRM)
                        walk_ignored(w);
                for (uint32_t i = 0; i < owners; i++)
                        if (rank_of_owner(w, i) == (enum graph_rank)rank)
                                walk_owner(w, i);
                w->last[rank] = w->count;
        }
        walk_lost(w);
        w->last[GRAPH_LOST] = w->count;
}

static void walk_free(struct walk *w)
{
        graph_groups_free(&w->holds);
        free(w->vertex);
        free(w->parent);
        free(w->owner_number);
}

/* ---- dominators ---- */

struct semi_place {
        uint32_t above; /* an ancestor, nearer to 0 the more often it was asked for */
        uint32_t least; /* the least semidominator on the way there */
};

struct semi {
        struct semi_place *at; /* by number */
        uint32_t *stack;
        uint64_t room;
};

static void semi_push(struct semi *s, uint64_t depth, uint32_t x)
{
        if (depth == s->room) {
                s->room = s->room ? 2 * s->room : 1024;
                s->stack = heap_grow(s->stack, s->room, sizeof *s->stack);
        }
        s->stack[depth] = x;
}

/* The least semidominator between U and the last number that is not done yet, V. */
static uint32_t semi_least(struct semi *s, uint32_t u, uint32_t v)
{
        uint64_t depth = 0;

        for (uint32_t x = u; s->at[x].above > v; x = s->at[x].above)
                semi_push(s, depth++, x);
        while (depth--) {
                struct semi_place *x = &s->at[s->stack[depth]], *y = &s->at[x->above];

                if (y->least < x->least)
                        x->least = y->least;
                x->above = y->above;
        }
        return s->at[u].least;
}

static uint32_t semi_offer(struct semi *s, uint32_t v, uint32_t u, uint32_t best)
{
        uint32_t here = u > v ? semi_least(s, u, v) : u;

        return here < best ? here : best;
}

/* Over all that point to the vertex with number V; those above LAST are of a later rank. */
static uint32_t semi_of(const struct walk *w, struct semi *s, uint32_t v, uint32_t last)
{
        struct graph *g = w->g;
        uint32_t best = w->parent[v], block = w->vertex[v], u;

        if (block >= g->blocks)
                return best;
        for (uint32_t i = w->in.first[v]; i < w->in.first[v + 1]; i++)
                if ((u = w->in.members[i]) <= last && u != v)
                        best = semi_offer(s, v, u, best);
        for (uint32_t i = g->holds.first[block]; i < g->holds.first[block + 1]; i++)
                if ((u = w->owner_number[w->owners->of_hold[g->holds.members[i]]]) <= last)
                        best = semi_offer(s, v, u, best);
        if (graph_ignored(g, block))
                best = semi_offer(s, v, w->owner_number[w->owners->count], best);
        return best;
}

/* Who points to whom, by numbers of the walk: what lies near in the walk lies near in memory. */
static void turn_round(struct walk *w)
{
        struct graph *g = w->g;
        const struct graph_groups *out = &g->out;

        w->in = graph_groups_new((uint64_t)w->count + 1, out->first[g->blocks]);
        for (uint32_t i = 0; i < out->first[g->blocks]; i++)
                graph_groups_count(&w->in, w->number[GRAPH_BLOCK(out->members[i])]);
        graph_groups_begin(&w->in, (uint64_t)w->count + 1);
        for (uint32_t from = 0; from < g->blocks; from++)
                for (uint32_t i = out->first[from]; i < out->first[from + 1]; i++)
                        graph_groups_put(&w->in, w->number[GRAPH_BLOCK(out->members[i])],
                                         w->number[from]);
        free(w->number);
        w->number = NULL;
        if (g->large)
                graph_groups_free(&g->out);
}

/* Parents of the walk become immediate dominators. */
static void find_dominators(struct walk *w)
{
        uint32_t *semi = w->spare;
        struct semi s = { 0 };
        int rank = GRAPH_LOST;

        turn_round(w);
        s.at = heap_zero((size_t)w->count + 1, sizeof *s.at);
        for (uint32_t v = 1; v <= w->count; v++)
                s.at[v].above = w->parent[v];
        for (uint32_t v = w->count; v > 0; v--) {
                while (rank > GRAPH_FIRM && v <= w->last[rank - 1])
                        rank--;
                semi[v] = s.at[v].least = semi_of(w, &s, v, w->last[rank]);
        }
        for (uint32_t v = 1; v <= w->count; v++)
                while (w->parent[v] > semi[v])
                        w->parent[v] = w->parent[w->parent[v]];
        free(semi);
        free(s.at);
        free(s.stack);
        graph_groups_free(&w->in);
        w->spare = NULL;
}

/* ---- sums ---- */

static void add(struct graph_sum *to, const struct graph_sum *more)
{
        to->blocks += more->blocks;
        to->bytes += more->bytes;
}

/* By number: its branch of the tree of dominators.  0 is above all. */
static struct graph_sum *sum_branches(const struct walk *w)
{
        struct graph_sum *sums = heap_zero((size_t)w->count + 1, sizeof *sums);

        for (uint32_t v = w->count; v > 0; v--) {
                uint32_t vertex = w->vertex[v];

                if (vertex < w->g->blocks)
                        add(&sums[v],
                            &(struct graph_sum){ 1, dense_size(&w->g->dense, vertex) });
                add(&sums[w->parent[v]], &sums[v]);
        }
        return sums;
}

/* By block: the owner at the top of its branch. */
static uint32_t *top_owners(const struct walk *w)
{
        uint32_t blocks = w->g->blocks, owners = w->owners->count, held = w->last[GRAPH_VAGUE];
        uint32_t *owner_of = heap_zero(blocks, sizeof *owner_of),
                 *top = heap_zero((size_t)w->count + 1, sizeof *top);

        for (uint32_t v = 1; v <= w->count; v++) {
                uint32_t vertex = w->vertex[v], above = w->parent[v];

                if (vertex >= blocks)
                        top[v] = vertex - blocks; /* SEEP_IGNORE comes behind the owners */
                else if (above)
                        top[v] = top[above];
                else
                        top[v] = owners + (v <= held ? GRAPH_BY_SEVERAL : GRAPH_BY_NOBODY);
                if (vertex < blocks)
                        owner_of[vertex] = top[v];
        }
        free(top);
        return owner_of;
}

static uint32_t site_of(const struct walk *w, uint32_t block)
{
        uint32_t site = dense_site(&w->g->dense, block);

        return site < w->g->p->site_count ? site : 0;
}

/* More bytes, or more blocks of as many, or the block with the smaller number. */
static bool is_before(const struct graph_part *part, const struct graph_sum *sum, uint32_t block)
{
        if (part->most.bytes != sum->bytes)
                return part->most.bytes > sum->bytes;
        return part->most.blocks != sum->blocks ? part->most.blocks > sum->blocks
                                                : part->block < block;
}

static void add_shared(struct graph_part *part, const struct graph_sum *sum, uint32_t block)
{
        if (!part->heads++ || !is_before(part, sum, block)) {
                part->block = block;
                part->most = *sum;
        }
        add(&part->kept, sum);
}

static void share_out(const struct walk *w, const struct graph_sum *sums,
                      struct graph_retained *out)
{
        uint32_t blocks = w->g->blocks, held = w->last[GRAPH_VAGUE];

        for (uint32_t v = 1; v <= w->count; v++) {
                uint32_t vertex = w->vertex[v];

                if (vertex >= blocks && vertex < blocks + w->owners->count)
                        out->by_owner[vertex - blocks] = sums[v];
                else if (vertex >= blocks)
                        out->ignored = sums[v];
                if (vertex >= blocks || w->parent[v])
                        continue;
                add(v <= held ? &out->shared : &out->lost, &sums[v]);
                if (v <= held)
                        add_shared(&out->parts[site_of(w, vertex)], &sums[v], vertex);
        }
}

static uint32_t set_of(const struct walk *w, uint32_t v)
{
        return v && w->vertex[v] < w->g->blocks ? site_of(w, w->vertex[v]) : UINT32_MAX;
}

/* Branches that begin at a site and are not inside another of the same. */
static void sum_sites(const struct walk *w, const struct graph_sum *sums,
                      struct graph_sum *by_site)
{
        /* The next to go to. */
        uint32_t held = w->last[GRAPH_VAGUE], *child = heap_zero((size_t)held + 1, sizeof *child);
        uint32_t *sibling = heap_zero((size_t)held + 1, sizeof *sibling),
                 *inside = heap_zero(w->g->p->site_count + 1u, sizeof *inside);
        uint32_t v = 0, set;

        for (uint32_t i = held; i > 0; i--) {
                sibling[i] = child[w->parent[i]];
                child[w->parent[i]] = i;
        }
        while (v || child[v]) {
                if (child[v]) {
                        uint32_t next = child[v];

                        child[v] = sibling[next];
                        v = next;
                        if ((set = set_of(w, v)) != UINT32_MAX && !inside[set]++)
                                add(&by_site[set], &sums[v]);
                } else {
                        if ((set = set_of(w, v)) != UINT32_MAX)
                                inside[set]--;
                        v = w->parent[v];
                }
        }
        free(child);
        free(sibling);
        free(inside);
}

/* The numbers of the walk are gone: blocks are looked for among its vertices. */
static void find_asked(const struct walk *w, const struct graph_sum *sums,
                       const struct graph_wish *wish, struct graph_sum *asked)
{
        struct graph_groups of_block = graph_groups_new(w->g->blocks, wish->count);

        for (uint32_t i = 0; i < wish->count; i++)
                graph_groups_count(&of_block, wish->blocks[i]);
        graph_groups_begin(&of_block, w->g->blocks);
        for (uint32_t i = 0; i < wish->count; i++)
                graph_groups_put(&of_block, wish->blocks[i], i);
        for (uint32_t v = 1; v <= w->count; v++) {
                uint32_t block = w->vertex[v];

                for (uint32_t i = block < w->g->blocks ? of_block.first[block] : 0;
                     block < w->g->blocks && i < of_block.first[block + 1]; i++)
                        asked[of_block.members[i]] = sums[v];
        }
        graph_groups_free(&of_block);
}

void graph_retain(struct graph *g, const struct graph_owners *owners,
                  const struct graph_wish *wish, struct graph_retained *out)
{
        struct walk w = { .g = g, .owners = owners };
        uint32_t sites = g->p->site_count + 1u;
        struct graph_sum *sums;

        graph_rest(g); /* this takes most of all */
        walk_all(&w);
        find_dominators(&w);
        sums = sum_branches(&w);
        *out = (struct graph_retained){ .by_owner = heap_zero(owners->count, sizeof *out->by_owner),
                                        .parts = heap_zero(sites, sizeof *out->parts),
                                        .asked = heap_zero(wish->count, sizeof *out->asked) };
        share_out(&w, sums, out);
        if (wish->count)
                find_asked(&w, sums, wish, out->asked);
        if (wish->by_site) {
                out->by_site = heap_zero(sites, sizeof *out->by_site);
                sum_sites(&w, sums, out->by_site);
        }
        free(sums);
        if (wish->owner_of)
                out->owner_of = top_owners(&w);
        walk_free(&w);
}

void graph_retained_free(struct graph_retained *r)
{
        free(r->by_owner);
        free(r->owner_of);
        free(r->asked);
        free(r->by_site);
        free(r->parts);
}

/* ---- sites, exactly ---- */

struct flood {
        struct graph *g;
        uint32_t site;
        uint8_t *seen;
        uint32_t *queue;
        uint64_t count;
};

static void flood_meet(struct flood *f, uint32_t block, uint32_t rank)
{
        if (f->g->rank[block] != rank || f->seen[block] ||
            dense_site(&f->g->dense, block) == f->site)
                return;
        f->seen[block] = 1;
        f->queue[f->count++] = block;
}

static void flood_begin(struct flood *f)
{
        const struct profile *p = f->g->p;

        for (uint32_t i = 0; i < f->g->hold_count; i++)
                flood_meet(f, p->holds[i].to, graph_rank(p->roots[p->holds[i].from].kind));
        for (uint32_t i = 0; i < f->g->blocks; i++)
                if (graph_ignored(f->g, i))
                        flood_meet(f, i, GRAPH_FIRM);
}

struct graph_sum graph_retained_by(struct graph *g, uint32_t site)
{
        struct flood f = { .g = g, .site = site };
        const struct graph_groups *out = &g->out;
        struct graph_sum sum = { 0 };

        graph_find_ranks(g);
        graph_need_out(g);
        f.seen = heap_zero(g->blocks, sizeof *f.seen);
        f.queue = heap_zero(g->blocks, sizeof *f.queue);
        flood_begin(&f);
        for (uint64_t next = 0; next < f.count; next++) {
                uint32_t block = f.queue[next];

                for (uint32_t i = out->first[block]; i < out->first[block + 1]; i++)
                        flood_meet(&f, GRAPH_BLOCK(out->members[i]), g->rank[block]);
        }
        for (uint32_t i = 0; i < g->blocks; i++)
                if (g->rank[i] != GRAPH_LOST && !f.seen[i])
                        add(&sum, &(struct graph_sum){ 1, dense_size(&g->dense, i) });
        free(f.seen);
        free(f.queue);
        return sum;
}
