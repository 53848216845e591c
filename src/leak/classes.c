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
 *     j <--> k               a ring that nobody holds: the one whose place came first is its head
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
 *      so the order of addresses does not matter but for rings.  The head of a ring gives
 *      its place to the block in it that was allocated by the earliest call stack
 *      (classes_turn_rings): all rings of one make have heads of one place, and are one leak in
 *      reports, wherever their blocks lie.
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

/* The head of a group that leads back to it; and of such a group with a block of an earlier
 * place. */
#define CLASSES_RING (PROFILE_LEAK_COUNT + 1)
#define CLASSES_TURNED (PROFILE_LEAK_COUNT + 2)

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

/* The group that is being made. */
struct classes_of {
        uint32_t head;
        bool *ring; /* something in it leads back to the head */
};

/* From a lost block.  Who was thought to be a head, but is held by a later block, hangs on
 * that, with all of its own. */
static inline void visit_lost(struct explorer *w, uint32_t to)
{
        uint8_t *leak = &w->g->leak[SEARCH_TO(to)];
        const struct classes_of *group = w->context;

        to = SEARCH_TO(to);
        if (*leak != PROFILE_LEAK_UNKNOWN && *leak != PROFILE_LEAK_DEFINITE)
                return;
        if (to == group->head) {
                *group->ring = true;
                return;
        }
        *leak = PROFILE_LEAK_INDIRECT;
        w->g->head[to] = group->head + 1;
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

/* HEAD leads to a group; true: and back to itself. */
static bool classes_begin(struct explorer *w, uint32_t head)
{
        bool ring = false;
        struct classes_of group = { .head = head, .ring = &ring };

        w->context = &group;
        w->g->leak[head] = PROFILE_LEAK_DEFINITE;
        explore_push(w, head);
        explore_drain(w, visit_lost);
        w->context = NULL;
        return ring;
}

/* Blocks, by number. */
struct classes_list {
        uint32_t *blocks;
        uint64_t count;
};

static void list_add(struct classes_list *l, uint32_t block)
{
        l->blocks = heap_next(l->blocks, l->count, sizeof *l->blocks);
        l->blocks[l->count++] = block;
}

/* Those that began a group with a ring go to RINGS. */
static void classes_group(struct explorer *w, struct classes_list *rings)
{
        struct classes_ahead ahead = { .g = w->g };
        const uint32_t *next;

        while ((next = ahead_next(&ahead)))
                if (w->g->leak[*next] == PROFILE_LEAK_UNKNOWN && classes_begin(w, *next))
                        list_add(rings, *next);
}

/* ---- rings ---- */

static uint32_t classes_place(const struct search_input *in, uint64_t block)
{
        return in->places[block] < in->place_count ? in->places[block] : 0;
}

/* The class of the head that BLOCK hangs on, if it is MARK; NULL: none, or another one. */
static uint8_t *rings_head(const struct search_graph *g, uint64_t block, uint8_t mark)
{
        uint8_t *leak = g->leak[block] == PROFILE_LEAK_INDIRECT && g->head[block]
                                ? &g->leak[g->head[block] - 1]
                                : NULL;

        return leak && *leak == mark ? leak : NULL;
}

/* Marks the groups of RINGS in which a block has an earlier place than the head.  false: there
 * are none. */
static bool rings_mark(const struct search_input *in, struct search_graph *g,
                       const struct classes_list *rings)
{
        bool any = false;
        uint8_t *leak;

        for (uint64_t i = 0; i < rings->count; i++)
                if (g->leak[rings->blocks[i]] == PROFILE_LEAK_DEFINITE)
                        g->leak[rings->blocks[i]] = CLASSES_RING;
        for (uint64_t i = 0; i < g->block_count; i++) {
                leak = rings_head(g, i, CLASSES_RING);
                if (leak && classes_place(in, i) < classes_place(in, g->head[i] - 1)) {
                        *leak = CLASSES_TURNED;
                        any = true;
                }
        }
        for (uint64_t i = 0; i < rings->count; i++)
                if (g->leak[rings->blocks[i]] == CLASSES_RING)
                        g->leak[rings->blocks[i]] = PROFILE_LEAK_DEFINITE;
        return any;
}

/* The blocks of marked groups, and who of the same group leads to each of them: to the one at
 * NUMBER[] - 1 those from first[] on. */
struct rings {
        struct classes_list list;
        uint32_t *number; /* by block: 1 + where it is in the list; 0 nowhere */
        uint64_t *first;
        uint32_t *from;
};

static uint32_t rings_group(const struct search_graph *g, uint32_t block)
{
        return g->head[block] ? g->head[block] - 1 : block;
}

static void rings_list(const struct search_graph *g, struct rings *r)
{
        r->number = heap_zero(g->block_count, sizeof *r->number);
        for (uint64_t i = 0; i < g->block_count; i++)
                if (g->leak[i] == CLASSES_TURNED || rings_head(g, i, CLASSES_TURNED)) {
                        list_add(&r->list, (uint32_t)i);
                        r->number[i] = (uint32_t)r->list.count;
                }
}

/* Counts the links of the list by where they lead, or puts them in their places. */
static void rings_links(const struct search_graph *g, struct rings *r, bool put)
{
        for (uint64_t i = 0; i < r->list.count; i++) {
                uint32_t block = r->list.blocks[i];

                for (uint64_t k = g->first[block]; k < g->first[block + 1]; k++) {
                        uint32_t to = SEARCH_LINK_TO(g->links[k]);

                        if (!r->number[to] || rings_group(g, to) != rings_group(g, block))
                                continue;
                        if (put)
                                r->from[r->first[r->number[to] - 1]++] = block;
                        else
                                r->first[r->number[to]]++;
                }
        }
}

static void rings_open(const struct search_graph *g, struct rings *r)
{
        rings_list(g, r);
        r->first = heap_zero(r->list.count + 1, sizeof *r->first);
        rings_links(g, r, false);
        for (uint64_t i = 0; i < r->list.count; i++)
                r->first[i + 1] += r->first[i];
        r->from = heap_zero(r->first[r->list.count], sizeof *r->from);
        rings_links(g, r, true);
        for (uint64_t i = r->list.count; i > 0; i--) /* each is now where its successor was */
                r->first[i] = r->first[i - 1];
        r->first[0] = 0;
}

/* The block of the earliest place in the ring of HEAD: all that lead to it, as it leads to all of
 * its group.  What was seen has no number any more. */
static uint32_t rings_best(const struct search_input *in, struct rings *r, uint32_t head)
{
        struct classes_list seen = { 0 };
        uint32_t best = head;

        list_add(&seen, head);
        for (uint64_t next = 0; next < seen.count; next++) {
                uint32_t number = r->number[seen.blocks[next]];
                uint32_t place = classes_place(in, seen.blocks[next]);

                if (!number)
                        continue;
                r->number[seen.blocks[next]] = 0;
                if (place < classes_place(in, best) ||
                    (best != head && place == classes_place(in, best) &&
                     seen.blocks[next] < best))
                        best = seen.blocks[next];
                for (uint64_t k = r->first[number - 1]; k < r->first[number]; k++)
                        list_add(&seen, r->from[k]);
        }
        free(seen.blocks);
        return best;
}

static void classes_turn_rings(const struct search_input *in, struct search_graph *g,
                               const struct classes_list *heads)
{
        struct rings r = { 0 };

        if (!in->places || !heads->count || !rings_mark(in, g, heads))
                return;
        rings_open(g, &r);
        for (uint64_t i = 0; i < heads->count; i++) {
                uint32_t head = heads->blocks[i], best;

                if (g->leak[head] != CLASSES_TURNED)
                        continue;
                best = rings_best(in, &r, head);
                g->leak[head] = PROFILE_LEAK_INDIRECT;
                g->leak[best] = PROFILE_LEAK_DEFINITE;
                g->head[head] = best + 1; /* the others follow */
                g->head[best] = 0;
        }
        for (uint64_t i = 0; i < r.list.count; i++) {
                uint32_t *head = &g->head[r.list.blocks[i]];

                if (*head && g->head[*head - 1])
                        *head = g->head[*head - 1];
        }
        free(r.list.blocks);
        free(r.number);
        free(r.first);
        free(r.from);
}

#define MANY_LOST 64u /* one block of so many is */

void classes_lost(const struct search_input *in, struct search_graph *g)
{
        uint64_t lost = classes_count_lost(g);
        struct classes_list rings = { 0 };
        struct explore *explore;

        /* Of what is touched here and there, pages are small. */
        g->head = lost > g->block_count / MANY_LOST ? heap_dense(g->block_count, sizeof *g->head)
                                                    : heap_zero(g->block_count, sizeof *g->head);
        if (!lost)
                return;
        explore = explore_new(g, 1);
        classes_pass(in, explore_of(explore, 0));
        classes_group(explore_of(explore, 0), &rings);
        classes_settle_heads(g);
        classes_turn_rings(in, g, &rings);
        free(rings.blocks);
        for (uint64_t i = 0; i < g->block_count; i++)
                if (g->leak[i] == CLASSES_PASSED)
                        g->leak[i] = PROFILE_LEAK_UNKNOWN;
        explore_free(explore);
}
