/* SPDX-License-Identifier: MIT */
/*
 * Graphs drawn by hand, and many by chance: those are compared with the definitions (take something
 * away, count again what can be reached), computed here in the simplest way there is.
 */
#include "tap.h"

#include "forge_leaks.h"
#include "leak/graph.h"
#include "sample.h"

/* Step I leads to block B by pointer Q. */
#define IS_GRAPH_STEP(path, i, b, q)                                           \
        is_true((path).blocks[i] == (b) && (path).at[i] == p.pointers[q].at && \
                (path).flags[i] == p.pointers[q].flags)

/* A path with its pointers. */
static struct graph_path path_to(struct graph *g, uint32_t block)
{
        struct graph_path path = graph_path(g, block);

        graph_name(g, &path);
        return path;
}

static struct graph_path path_below(struct graph *g, uint32_t start, uint32_t block)
{
        struct graph_path path = graph_path_below(g, start, block);

        graph_name(g, &path);
        return path;
}

/* ---- graphs by hand ---- */

/* Block i has 1 << i bytes: sums tell who is in them. */
static void make_blocks(struct profile *p, uint32_t count)
{
        forge_start(p);
        for (uint32_t i = 0; i < count; i++)
                forge_judged(p, 0x1000 + 0x100 * (uint64_t)i, UINT64_C(1) << (i % 60), 0,
                             PROFILE_LEAK_UNKNOWN, 0);
        forge_scan(p, 0, PROFILE_SCAN_EXIT, PROFILE_SCAN_GRAPH);
}

static uint32_t add_root(struct profile *p, uint32_t kind)
{
        forge_root(p, kind, 0, 0x100000 + 0x1000 * (uint64_t)p->root_count,
                   0x101000 + 0x1000 * (uint64_t)p->root_count);
        return p->root_count - 1;
}

static uint64_t add_hold(struct profile *p, uint32_t root, uint32_t to, uint32_t flags)
{
        forge_hold(p, root, p->roots[root].start + 8 * p->hold_count, to)->flags = flags;
        return p->hold_count - 1;
}

static void add_pointer(struct profile *p, uint32_t from, uint32_t to, uint32_t flags)
{
        forge_pointer(p, from, 8 * p->pointer_count, to)->flags = flags;
}

TEST(a_shorter_path_is_preferred_then_one_without_interior_pointers)
{
        struct graph_path path;
        struct graph *g;
        struct profile p;
        uint32_t root;

        make_blocks(&p, 5);
        root = add_root(&p, PROFILE_ROOT_DATA);
        /* 0: 0 -> 1 -> 3 and 2 -> 3 and 4 -> 3 are as long */
        add_hold(&p, root, 0, PROFILE_POINTER_INTERIOR);
        add_hold(&p, root, 2, 0);
        add_hold(&p, root, 4, 0);
        add_pointer(&p, 0, 1, 0);
        add_pointer(&p, 0, 3, 0);
        add_pointer(&p, 1, 3, 0);
        add_pointer(&p, 2, 3, PROFILE_POINTER_INTERIOR);
        add_pointer(&p, 4, 3, 0);
        g = graph_new(&p);
        path = path_to(g, 3);
        is_true(path.count == 2 && path.blocks[0] == 4 && path.hold == 2);
        IS_GRAPH_STEP(path, 1, 3, 4);
        graph_path_free(&path);
        path = path_to(g, 1);
        is_true(path.count == 2 && path.blocks[0] == 0 && path.hold == 0 &&
                path.flags[0] == PROFILE_POINTER_INTERIOR);
        IS_GRAPH_STEP(path, 1, 1, 0);
        graph_path_free(&path);
        graph_free(g);
        profile_free(&p);
}

/* The variable's list is longer and its pointer leads to the middle, but it is what keeps the
 * block. */
TEST(a_variable_is_preferred_to_a_stack)
{
        struct graph_path path;
        struct graph *g;
        struct profile p;

        make_blocks(&p, 3);
        add_hold(&p, add_root(&p, PROFILE_ROOT_DATA), 0, PROFILE_POINTER_INTERIOR);
        add_hold(&p, add_root(&p, PROFILE_ROOT_STACK), 1, 0);
        add_hold(&p, 1, 0, 0);
        add_pointer(&p, 0, 1, 0);
        g = graph_new(&p);
        path = path_to(g, 1);
        is_true(path.count == 2 && path.blocks[0] == 0 && path.hold == 0);
        graph_path_free(&path);
        path = path_to(g, 0);
        is_true(path.count == 1 && path.blocks[0] == 0 && path.hold == 0);
        graph_path_free(&path);
        is_equal(graph_distance(g, 1, 1), 1);
        path = path_below(g, p.holds[1].to, 1);
        is_true(path.count == 1 && path.blocks[0] == 1 && path.hold == GRAPH_NONE);
        graph_path_free(&path);
        is_equal(graph_rank_of(g, 1), GRAPH_FIRM);
        path = path_to(g, 2);
        is_true(!path.count && !path.blocks && path.hold == GRAPH_NONE);
        is_equal(graph_rank_of(g, 2), GRAPH_LOST);
        graph_free(g);
        profile_free(&p);
}

TEST(all_holders_are_those_with_a_way_and_each_has_its_path)
{
        struct graph_path path;
        uint64_t *holds;
        struct graph *g;
        struct profile p;
        uint32_t root;

        make_blocks(&p, 5);
        root = add_root(&p, PROFILE_ROOT_DATA);
        for (uint32_t i = 0; i < 5; i++)
                add_hold(&p, root, i, 0);
        add_pointer(&p, 0, 1, 0);
        add_pointer(&p, 1, 2, 0);
        add_pointer(&p, 2, 0, 0); /* a ring of three; 3 hangs on it */
        add_pointer(&p, 2, 3, 0);
        g = graph_new(&p);
        is_equal(graph_holders(g, 3, &holds), 4);
        is_true(holds[0] == 0 && holds[1] == 1 && holds[2] == 2 && holds[3] == 3);
        free(holds);
        is_equal(graph_holders(g, 4, &holds), 1);
        is_equal(holds[0], 4);
        free(holds);
        is_equal(graph_distance(g, 0, 3), 4);
        path = path_below(g, p.holds[0].to, 3);
        is_equal(path.count, 4);
        IS_GRAPH_STEP(path, 3, 3, 3);
        graph_path_free(&path);
        is_equal(graph_distance(g, 4, 3), 0);
        path = path_below(g, p.holds[4].to, 3);
        is_equal(path.count, 0);
        path = path_below(g, 1, 0);
        is_true(path.count == 3 && path.blocks[0] == 1 && path.hold == GRAPH_NONE);
        IS_GRAPH_STEP(path, 2, 0, 2);
        graph_path_free(&path);
        is_equal(graph_pointers_to(g, 0), 1);
        graph_free(g);
        profile_free(&p);
}

/* owner 0 -> block 0 -> 2 -> 3    owner 1 -> block 1 -> 2    the stack (owner 2) -> 0, 4
 * 5 is lost, with 6 */
TEST(what_two_variables_hold_is_shared_and_a_stack_takes_no_part)
{
        static const uint32_t of_hold[] = { 0, 1, 2, 2 };
        static const struct graph_owners owners = { of_hold, 3 };
        static const uint32_t asked[] = { 2, 5, 6 };
        struct graph_retained r;
        struct graph *g;
        struct profile p;
        uint32_t root;

        make_blocks(&p, 7);
        root = add_root(&p, PROFILE_ROOT_DATA);
        add_hold(&p, root, 0, 0);
        add_hold(&p, root, 1, 0);
        root = add_root(&p, PROFILE_ROOT_STACK);
        add_hold(&p, root, 0, 0);
        add_hold(&p, root, 4, 0);
        add_pointer(&p, 0, 2, 0);
        add_pointer(&p, 1, 2, 0);
        add_pointer(&p, 2, 3, 0);
        add_pointer(&p, 4, 3, 0);
        add_pointer(&p, 5, 6, 0);
        add_pointer(&p, 6, 4, 0);
        g = graph_new(&p);
        graph_retain(g, &owners, &(struct graph_wish){ asked, 3, false, false }, &r);
        is_equal(r.by_owner[0].bytes, 1);
        is_equal(r.by_owner[1].bytes, 2);
        is_equal(r.by_owner[2].bytes, 16);
        is_equal(r.shared.bytes, 4 + 8);
        is_equal(r.shared.blocks, 2);
        is_true(r.parts[0].heads == 1 && r.parts[0].block == 2 && r.parts[0].kept.bytes == 4 + 8);
        is_equal(r.lost.bytes, 32 + 64);
        is_equal(r.ignored.blocks, 0);
        is_equal(r.asked[0].bytes, 4 + 8);
        is_equal(r.asked[1].bytes, 32 + 64);
        is_equal(r.asked[2].bytes, 64);
        graph_retained_free(&r);
        graph_free(g);
        profile_free(&p);
}

TEST(blocks_under_seep_ignore_hold_like_variables)
{
        static const struct graph_owners nobody = { NULL, 0 };
        struct graph_retained r;
        struct graph_path path;
        struct graph *g;
        struct profile p;

        make_blocks(&p, 3);
        add_pointer(&p, 0, 1, 0);
        p.verdicts[0].flags = PROFILE_VERDICT_IGNORED;
        g = graph_new(&p);
        path = path_to(g, 1);
        is_true(path.count == 2 && path.blocks[0] == 0 && path.hold == GRAPH_NONE);
        graph_path_free(&path);
        graph_retain(g, &nobody, &(struct graph_wish){ 0 }, &r);
        is_equal(r.ignored.bytes, 1 + 2);
        is_equal(r.lost.bytes, 4);
        graph_retained_free(&r);
        graph_free(g);
        profile_free(&p);
}

/* Deeper than any stack of ours would be. */
TEST(a_list_of_a_million_blocks_is_walked)
{
        enum { COUNT = 1000000 };
        static const uint32_t of_hold[] = { 0 };
        static const struct graph_owners owners = { of_hold, 1 };
        static const uint32_t half = COUNT / 2;
        struct graph_retained r;
        struct graph_path path;
        struct graph *g;
        struct profile p;

        forge_start(&p);
        p.blocks = heap_zero(COUNT, sizeof *p.blocks);
        p.pointers = heap_zero(COUNT, sizeof *p.pointers);
        for (uint32_t i = 0; i < COUNT; i++) {
                p.blocks[i] = (struct profile_block){ .address = 0x1000 + 32 * (uint64_t)i,
                                                      .size = 16 };
                p.pointers[i] = (struct profile_pointer){ .from = i, .to = (i + 1) % COUNT };
        }
        p.block_count = p.pointer_count = COUNT;
        add_hold(&p, add_root(&p, PROFILE_ROOT_DATA), 0, 0);
        g = graph_new(&p);
        path = path_to(g, COUNT - 1);
        is_equal(path.count, COUNT);
        graph_path_free(&path);
        graph_retain(g, &owners, &(struct graph_wish){ &half, 1, false, false }, &r);
        is_equal(r.by_owner[0].blocks, COUNT);
        is_equal(r.asked[0].blocks, COUNT / 2);
        graph_retained_free(&r);
        graph_free(g);
        profile_free(&p);
}

/* ---- graphs by chance ---- */

enum { LOTS = 400, MOST_BLOCKS = 24, MOST_OWNERS = 6, MOST_SETS = 4 };

static const uint32_t kinds[] = { PROFILE_ROOT_DATA, PROFILE_ROOT_TLS, PROFILE_ROOT_STACK,
                                  PROFILE_ROOT_REGISTER, PROFILE_ROOT_OTHER };

struct chance {
        struct profile p;
        uint32_t of_hold[64], of_block[MOST_BLOCKS];
        uint32_t owners, sets;
};

static uint32_t below(uint64_t *state, uint32_t limit)
{
        return (uint32_t)(sample_random(state) % limit);
}

static void make_chance(struct chance *c, uint64_t seed)
{
        uint64_t state = seed * 2654435761u + 1;
        uint32_t blocks = 1 + below(&state, MOST_BLOCKS), density = 1 + below(&state, 3);

        make_blocks(&c->p, blocks);
        free(c->p.sites);
        c->p.sites = heap_zero(MOST_SETS, sizeof *c->p.sites);
        c->p.site_count = MOST_SETS;
        c->owners = 1 + below(&state, MOST_OWNERS);
        c->sets = MOST_SETS;
        for (uint32_t i = 0; i < c->owners; i++) { /* one root for each owner */
                uint32_t root = add_root(&c->p, kinds[below(&state, 5)]);

                for (uint32_t k = below(&state, 4); k > 0; k--)
                        c->of_hold[add_hold(&c->p, root, below(&state, blocks), below(&state, 2))] =
                                i;
        }
        for (uint32_t i = 0; i < blocks; i++) {
                c->of_block[i] = c->p.blocks[i].site = below(&state, MOST_SETS);
                if (!below(&state, 16))
                        c->p.verdicts[i].flags = PROFILE_VERDICT_IGNORED;
                for (uint32_t k = below(&state, 2 * density); k > 0; k--)
                        add_pointer(&c->p, i, below(&state, blocks), below(&state, 2));
        }
}

/* What is taken away: an owner, a block, or all blocks of a set.  UINT32_MAX: nothing of that
 * sort. */
struct without {
        uint32_t owner, block, set;
        bool ignored;
};

static const struct without nothing = { UINT32_MAX, UINT32_MAX, UINT32_MAX, false };

static bool gone(const struct chance *c, struct without w, uint32_t block)
{
        return block == w.block || c->of_block[block] == w.set;
}

/* Which blocks roots up to RANK reach: by repeating until nothing changes. */
static void naive_reach(const struct chance *c, enum graph_rank rank, struct without w, bool *held)
{
        const struct profile *p = &c->p;
        bool more = true;

        memset(held, 0, MOST_BLOCKS * sizeof *held);
        for (uint64_t i = 0; i < p->hold_count; i++)
                if (graph_rank(p->roots[p->holds[i].from].kind) <= rank &&
                    c->of_hold[i] != w.owner && !gone(c, w, p->holds[i].to))
                        held[p->holds[i].to] = true;
        for (uint32_t i = 0; i < p->block_count; i++)
                if (p->verdicts[i].flags & PROFILE_VERDICT_IGNORED && !w.ignored && !gone(c, w, i))
                        held[i] = true;
        while (more) {
                more = false;
                for (uint64_t i = 0; i < p->pointer_count; i++)
                        if (held[p->pointers[i].from] && !held[p->pointers[i].to] &&
                            !gone(c, w, p->pointers[i].to))
                                held[p->pointers[i].to] = more = true;
        }
}

static uint32_t naive_rank(const struct chance *c, struct without w, uint32_t block)
{
        bool held[MOST_BLOCKS];

        for (int rank = GRAPH_FIRM; rank < GRAPH_LOST; rank++) {
                naive_reach(c, (enum graph_rank)rank, w, held);
                if (held[block])
                        return (uint32_t)rank;
        }
        return GRAPH_LOST;
}

/* Blocks that have a weaker hold without it than with it. */
static struct graph_sum naive_retained(const struct chance *c, struct without w)
{
        struct graph_sum sum = { 0 };

        for (uint32_t i = 0; i < c->p.block_count; i++)
                if (naive_rank(c, w, i) > naive_rank(c, nothing, i)) {
                        sum.blocks++;
                        sum.bytes += c->p.blocks[i].size;
                }
        return sum;
}

static bool same(struct graph_sum a, struct graph_sum b)
{
        return a.blocks == b.blocks && a.bytes == b.bytes;
}

/* What blocks add up to by who alone keeps them, is what owners, and nobody, keep. */
static bool owners_of_blocks_are_right(struct chance *c, const struct graph_retained *r)
{
        struct graph_sum sums[64] = { 0 };
        bool good = c->owners + GRAPH_BY_COUNT <= 64;

        for (uint32_t i = 0; good && i < c->p.block_count; i++) {
                sums[r->owner_of[i]].blocks++;
                sums[r->owner_of[i]].bytes += c->p.blocks[i].size;
        }
        for (uint32_t i = 0; i < c->owners; i++)
                good = good &&
                       same(sums[i], naive_retained(c, (struct without){ i, UINT32_MAX, UINT32_MAX,
                                                                         false }));
        return good && same(sums[c->owners + GRAPH_BY_IGNORE], r->ignored) &&
               same(sums[c->owners + GRAPH_BY_SEVERAL], r->shared) &&
               same(sums[c->owners + GRAPH_BY_NOBODY], r->lost);
}

static bool sums_are_right(struct chance *c, struct graph *g)
{
        struct graph_owners owners = { c->of_hold, c->owners };
        uint32_t all[MOST_BLOCKS];
        struct graph_retained r;
        bool good = true;

        for (uint32_t i = 0; i < MOST_BLOCKS; i++)
                all[i] = i;
        graph_retain(g, &owners,
                     &(struct graph_wish){ all, (uint32_t)c->p.block_count, true, true }, &r);
        for (uint32_t i = 0; i < c->owners; i++)
                good = good && same(r.by_owner[i],
                                    naive_retained(c, (struct without){ i, UINT32_MAX, UINT32_MAX,
                                                                        false }));
        for (uint32_t i = 0; i < c->p.block_count; i++)
                if (naive_rank(c, nothing, i) != GRAPH_LOST)
                        good = good &&
                               same(r.asked[i],
                                    naive_retained(c, (struct without){ UINT32_MAX, i, UINT32_MAX,
                                                                        false }));
        good = good && same(r.ignored, naive_retained(c, (struct without){ UINT32_MAX, UINT32_MAX,
                                                                           UINT32_MAX, true }));
        good = good && owners_of_blocks_are_right(c, &r);
        for (uint32_t i = 0; i < c->sets; i++)
                good = good && r.by_site[i].bytes <=
                                       naive_retained(c, (struct without){ UINT32_MAX, UINT32_MAX,
                                                                           i, false })
                                               .bytes;
        graph_retained_free(&r);
        return good;
}

static bool sum_of_shares_is_all(struct chance *c, struct graph *g)
{
        struct graph_owners owners = { c->of_hold, c->owners };
        struct graph_sum sum = { 0 }, all = { 0 }, lost = { 0 };
        struct graph_retained r;
        bool good;

        graph_retain(g, &owners, &(struct graph_wish){ 0 }, &r);
        for (uint32_t i = 0; i < c->owners; i++) {
                sum.blocks += r.by_owner[i].blocks;
                sum.bytes += r.by_owner[i].bytes;
        }
        sum.blocks += r.shared.blocks + r.ignored.blocks + r.lost.blocks;
        sum.bytes += r.shared.bytes + r.ignored.bytes + r.lost.bytes;
        for (uint32_t i = 0; i < c->p.block_count; i++) {
                all.blocks++;
                all.bytes += c->p.blocks[i].size;
                if (naive_rank(c, nothing, i) == GRAPH_LOST) {
                        lost.blocks++;
                        lost.bytes += c->p.blocks[i].size;
                }
        }
        good = same(sum, all) && same(lost, r.lost);
        graph_retained_free(&r);
        return good;
}

TEST(retained_sums_are_what_the_definition_says)
{
        for (uint64_t seed = 1; seed <= LOTS; seed++) {
                struct chance c = { 0 };
                struct graph *g;

                make_chance(&c, seed);
                g = graph_new(&c.p);
                if (!is_true(sums_are_right(&c, g)) || !is_true(sum_of_shares_is_all(&c, g)))
                        printf("# seed %d\n", (int)seed);
                graph_free(g);
                profile_free(&c.p);
        }
}

TEST(sets_go_away_as_the_definition_says)
{
        for (uint64_t seed = 1; seed <= LOTS; seed++) {
                struct chance c = { 0 };
                struct graph *g;

                make_chance(&c, seed);
                g = graph_new(&c.p);
                for (uint32_t set = 0; set < c.sets; set++)
                        if (!is_true(same(graph_retained_by(g, set),
                                          naive_retained(&c,
                                                         (struct without){ UINT32_MAX, UINT32_MAX,
                                                                           set, false }))))
                                printf("# seed %d set %d\n", (int)seed, (int)set);
                graph_free(g);
                profile_free(&c.p);
        }
}

/* Fewest steps from roots of that rank: by repeating until nothing changes. */
static uint32_t naive_length(const struct chance *c, enum graph_rank rank, uint32_t block)
{
        uint32_t length[MOST_BLOCKS], never = 1000;
        bool more = true;

        for (uint32_t i = 0; i < MOST_BLOCKS; i++)
                length[i] = never;
        for (uint64_t i = 0; i < c->p.hold_count; i++)
                if (graph_rank(c->p.roots[c->p.holds[i].from].kind) == rank)
                        length[c->p.holds[i].to] = 1;
        for (uint32_t i = 0; i < c->p.block_count; i++)
                if (rank == GRAPH_FIRM && c->p.verdicts[i].flags & PROFILE_VERDICT_IGNORED)
                        length[i] = 1;
        while (more) {
                more = false;
                for (uint64_t i = 0; i < c->p.pointer_count; i++) {
                        const struct profile_pointer *q = &c->p.pointers[i];

                        if (length[q->from] != never && length[q->to] > length[q->from] + 1) {
                                length[q->to] = length[q->from] + 1;
                                more = true;
                        }
                }
        }
        return length[block];
}

static bool has_pointer(const struct profile *p, uint32_t from, uint32_t to, uint64_t at,
                        uint32_t flags)
{
        for (uint64_t i = 0; i < p->pointer_count; i++)
                if (p->pointers[i].from == from && p->pointers[i].to == to &&
                    p->pointers[i].at == at && p->pointers[i].flags == flags)
                        return true;
        return false;
}

static bool path_is_connected(const struct chance *c, const struct graph_path *path, uint32_t block)
{
        bool good = path->blocks[path->count - 1] == block;

        for (uint32_t i = 1; i < path->count; i++)
                good = good && has_pointer(&c->p, path->blocks[i - 1], path->blocks[i], path->at[i],
                                           path->flags[i]);
        if (path->hold != GRAPH_NONE)
                return good && c->p.holds[path->hold].to == path->blocks[0];
        return good && c->p.verdicts[path->blocks[0]].flags & PROFILE_VERDICT_IGNORED;
}

static uint32_t rank_of_path(const struct chance *c, const struct graph_path *path)
{
        return path->hold == GRAPH_NONE ? GRAPH_FIRM
                                        : graph_rank(c->p.roots[c->p.holds[path->hold].from].kind);
}

TEST(paths_are_connected_and_none_is_shorter)
{
        for (uint64_t seed = 1; seed <= LOTS; seed++) {
                struct chance c = { 0 };
                struct graph *g;

                make_chance(&c, seed);
                g = graph_new(&c.p);
                for (uint32_t i = 0; i < c.p.block_count; i++) {
                        struct graph_path path = path_to(g, i);
                        uint32_t rank = naive_rank(&c, nothing, i);

                        is_equal(graph_rank_of(g, i), rank);
                        if (rank == GRAPH_LOST)
                                is_equal(path.count, 0);
                        else if (is_equal(path.count, naive_length(&c, (enum graph_rank)rank, i)))
                                is_true(path_is_connected(&c, &path, i) &&
                                        rank_of_path(&c, &path) == rank);
                        graph_path_free(&path);
                }
                graph_free(g);
                profile_free(&c.p);
        }
}

TAP_MAIN(a_shorter_path_is_preferred_then_one_without_interior_pointers,
         a_variable_is_preferred_to_a_stack, all_holders_are_those_with_a_way_and_each_has_its_path,
         what_two_variables_hold_is_shared_and_a_stack_takes_no_part,
         blocks_under_seep_ignore_hold_like_variables, a_list_of_a_million_blocks_is_walked,
         retained_sums_are_what_the_definition_says, sets_go_away_as_the_definition_says,
         paths_are_connected_and_none_is_shorter)
