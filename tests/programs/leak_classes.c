/* SPDX-License-Identifier: MIT */
/*
 * leak_classes.c -- blocks of every class, in every shape: lists, cycles, trees, groups, interior
 * pointers, what only looks held.
 *
 * Room:   tests only.  See leak.h.
 */
#include "leak.h"

#include <malloc.h>

struct node {
        struct node *next, *other;
        char rest[];
};

/* All that is still reachable hangs on these; each case has some of its own. */
static void *volatile held[64];
static unsigned held_count;

static void hold(void *p)
{
        held[held_count++] = p;
}

static char *inside(void *p, size_t offset)
{
        return (char *)p + offset;
}

MAKER(lost_block)
MAKER(kept_block)

static void block(void)
{
        hold(kept_block(REACHABLE, 1003));
        lost_block(DEFINITE, 1007);
        lost_block(DEFINITE, 1009);
}

MAKER(list_head)
MAKER(list_rest)

static struct node *chain(void *(*maker)(const char *, size_t), size_t count, size_t size)
{
        struct node *first = NULL;
        for (size_t i = 0; i < count; i++) {
                struct node *n = maker(INDIRECT, size + i);
                n->next = first;
                first = n;
        }
        return first;
}

static void list(void)
{
        struct node *head = list_head(DEFINITE, 1101);
        head->next = chain(list_rest, 5, 1110);
}

MAKER(double_list_node)

/* Both directions: a cycle, of which one block counts as the head. */
static void double_list(void)
{
        struct node *last = NULL;
        for (int i = 0; i < 6; i++) {
                struct node *n = double_list_node(i ? INDIRECT : DEFINITE, 1120);
                n->other = last;
                if (last)
                        last->next = n;
                last = n;
        }
}

MAKER(cycle_block)

static void cycle(void)
{
        struct node *a = cycle_block(DEFINITE, 1130), *b = cycle_block(INDIRECT, 1130),
                    *c = cycle_block(INDIRECT, 1130);
        a->next = b;
        b->next = c;
        c->next = a;
}

MAKER(self_block)

static void self(void)
{
        struct node *n = self_block(DEFINITE, 1140);
        n->next = n;
}

MAKER(cycle_owner)
MAKER(owned_cycle_block)

/* The head has the highest address: it is found after the cycle, and still is the head. */
static void owned_cycle(void)
{
        struct node *a = owned_cycle_block(INDIRECT, 1150), *b = owned_cycle_block(INDIRECT, 1150);
        struct node *head = cycle_owner(DEFINITE, 1151);
        head->next = a;
        a->next = b;
        b->next = a;
}

MAKER(tree_root)
MAKER(tree_node)

static struct node *grow(int depth)
{
        struct node *n = tree_node(INDIRECT, 1160 + (size_t)depth);
        if (depth) {
                n->next = grow(depth - 1);
                n->other = grow(depth - 1);
        }
        return n;
}

static void tree(void)
{
        struct node *root = tree_root(DEFINITE, 1170);
        root->next = grow(4);
        root->other = grow(4);
}

MAKER(group_head)
MAKER(group_shared)

static void group(void)
{
        struct node *a = group_head(DEFINITE, 1181), *b = group_head(DEFINITE, 1182),
                    *common = group_shared(INDIRECT, 1183);
        a->next = common;
        b->next = common;
        common->next = group_shared(INDIRECT, 1184);
}

MAKER(long_list_head)
MAKER(long_list_rest)

/* Longer than any recursion bears. */
static void long_list(void)
{
        struct node *head = long_list_head(DEFINITE, 24), *last = head;
        for (int i = 0; i < 100000; i++)
                last = last->next = long_list_rest(INDIRECT, 16);
}

MAKER(kept_list_node)

static void kept_list(void)
{
        struct node *first = kept_list_node(REACHABLE, 1191), *last = first;
        for (size_t i = 0; i < 20; i++)
                last = last->next = kept_list_node(REACHABLE, 1200 + i);
        hold(first);
}

MAKER(interior_block)

static void interior(void)
{
        hold(inside(interior_block(POSSIBLE, 1301), 64));
        hold(inside(interior_block(POSSIBLE, 1302), 1301)); /* its last byte */
        hold(inside(interior_block(POSSIBLE, 1303), 1));    /* a flag in the lowest bit */
}

MAKER(below_possible)
MAKER(possible_head)

/* What hangs on a block that is possibly lost is so, too. */
static void possible_chain(void)
{
        struct node *head = possible_head(POSSIBLE, 1311);
        head->next = below_possible(POSSIBLE, 1312);
        head->next->next = below_possible(POSSIBLE, 1313);
        hold(inside(head, 512));
}

MAKER(before_interior)
MAKER(behind_interior)

static void interior_link(void)
{
        struct node *first = before_interior(REACHABLE, 1321),
                    *second = behind_interior(POSSIBLE, 1322);
        first->next = (struct node *)inside(second, 100);
        second->next = behind_interior(POSSIBLE, 1323);
        hold(first);
}

MAKER(both_ways)

static void both(void)
{
        char *p = both_ways(REACHABLE, 1331);
        hold(p + 96);
        hold(p);
}

MAKER(possible_and_lost)
MAKER(lost_owner)

/* Held by a lost block, and by an interior pointer. */
static void possible_beats_lost(void)
{
        struct node *owner = lost_owner(DEFINITE, 1341);
        owner->next = possible_and_lost(POSSIBLE, 1342);
        hold(inside(owner->next, 200));
}

MAKER(points_to_kept)
MAKER(kept_by_both)

static void lost_points_to_kept(void)
{
        struct node *lost = points_to_kept(DEFINITE, 1351);
        lost->next = kept_by_both(REACHABLE, 1352);
        hold(lost->next);
}

MAKER(lost_interior_head)
MAKER(lost_interior_rest)

/* Among lost blocks an interior pointer is as good as another. */
static void lost_interior(void)
{
        struct node *head = lost_interior_head(DEFINITE, 1361);
        head->next = (struct node *)inside(lost_interior_rest(INDIRECT, 1362), 40);
}

MAKER(past_end_block)

/* One past the last byte is not in the block. */
static void past_end(void)
{
        hold(inside(past_end_block(DEFINITE, 1368), 1368));
}

MAKER(xored_block)

static volatile uintptr_t mask = 0x5a5a5a5a5a5a5a5a;

static void xored(void)
{
        hold((void *)((uintptr_t)xored_block(DEFINITE, 1371) ^ mask));
}

MAKER(high_tag_block)

static void high_tag(void)
{
        hold((void *)((uintptr_t)high_tag_block(DEFINITE, 1373) | (uintptr_t)1 << 60));
}

static struct {
        char odd[3];
        char pointer[sizeof(void *)];
        char rest[5];
} packed;

MAKER(unaligned_block)

/* Held at an odd address: lost, unless one searches there. */
static void unaligned(void)
{
        void *p = unaligned_block(DEFINITE, 1381);
        memcpy(packed.pointer, &p, sizeof p);
        __asm__ volatile("" : : "r"(&packed) : "memory");
}

MAKER(in_freed_block)

/* The free lists write over the first words of a freed block only. */
static void freed_owner(void)
{
        /* no other case wants a chunk of that size: nobody gets it again */
        size_t size = sizeof(void *) == 8 ? 1000 : 500;
        void **owner = malloc(size);
        hold(leak_blank(owner, size));
        owner[60] = in_freed_block(DEFINITE, 1391);
        free(owner);
}

MAKER(zero_lost)
MAKER(zero_kept)

static void zero(void)
{
        zero_lost(DEFINITE, 0);
        hold(zero_kept(REACHABLE, 0));
}

MAKER(huge_lost)
MAKER(huge_kept)
MAKER(huge_inside)
MAKER(below_huge)

/* Blocks that malloc maps for themselves. */
static void huge(void)
{
        void **p = huge_kept(REACHABLE, 3000001);
        p[300000] = below_huge(REACHABLE, 1401);
        hold(p);
        huge_lost(DEFINITE, 3000003);
        hold(inside(huge_inside(POSSIBLE, 3000005), 2000000));
}

MAKER(top_neighbour)

/* 24, 40, ...: the last word of such a block is where the header of the next chunk begins.
 * malloc's own notes point there: to what is left at the top of the heap, ... */
static void top(void)
{
        for (size_t i = 0; i < 40; i++)
                top_neighbour(DEFINITE, 24 + 16 * i);
}

MAKER(free_neighbour)

/* ... and to free chunks. */
static void free_list(void)
{
        void *between[8];
        for (size_t i = 0; i < 8; i++) {
                free_neighbour(DEFINITE, 1448);
                between[i] = malloc(2000 + 300 * i);
        }
        free_neighbour(DEFINITE, 1448);
        for (size_t i = 0; i < 8; i++)
                free(between[i]);
        free(malloc(8000)); /* sorts the free chunks into their bins */
}

MAKER(recycled)

/* Blocks that were free before: an allocator may still have their addresses in its lists. */
static void recycling(void)
{
        void *p[200];
        for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 200; i++)
                        p[i] = malloc(72);
                for (int i = 0; i < 200; i++)
                        free(p[i]);
        }
        for (int i = 0; i < 150; i++)
                recycled(DEFINITE, 72);
}

/* Every function that gives memory. */
LEAK_ALONE static void *by_calloc(size_t size)
{
        void *p = calloc(1, size);
        leak_note(DEFINITE, __func__, size);
        return leak_blank(p, size);
}

LEAK_ALONE static void *by_realloc(size_t size)
{
        void *old = malloc(100), *between = malloc(10);
        void *p = realloc(old, size);
        leak_note(DEFINITE, __func__, size);
        free(between);
        return leak_blank(p, size);
}

LEAK_ALONE static void *by_memalign(size_t size)
{
        void *p = memalign(256, size);
        leak_note(DEFINITE, __func__, size);
        return leak_blank(p, size);
}

LEAK_ALONE static void *by_posix_memalign(size_t size)
{
        void *p = NULL;
        if (posix_memalign(&p, 4096, size))
                p = NULL;
        leak_note(DEFINITE, __func__, size);
        leak_blank(p, size);
        LEAK_ESCAPE(p);
        return p;
}

LEAK_ALONE static void by_strdup(void)
{
        char *p = strdup("a text of its own that somebody should have freed");
        leak_note(DEFINITE, __func__, strlen(p) + 1);
        LEAK_ESCAPE(p);
}

static void entry_points(void)
{
        by_calloc(1501);
        by_realloc(1503);
        by_memalign(1505);
        by_posix_memalign(1507);
        by_strdup();
}

MAKER(below_the_stack)

/* 40 calls of 4 KiB down: nothing that runs later comes near. */
LEAK_ALONE static int deep(int depth)
{
        void *volatile frame[512];
        frame[256] = depth ? NULL : below_the_stack(DEFINITE, 1511);
        __asm__ volatile("" : : "r"(frame) : "memory");
        return depth ? deep(depth - 1) + (frame[256] != NULL) : 0;
}

static void dead_stack(void)
{
        deep(40);
}

static const struct leak_case cases[] = {
        {"block", block},
        {"list", list},
        {"double_list", double_list},
        {"cycle", cycle},
        {"self", self},
        {"owned_cycle", owned_cycle},
        {"tree", tree},
        {"group", group},
        {"long_list", long_list},
        {"kept_list", kept_list},
        {"interior", interior},
        {"possible_chain", possible_chain},
        {"interior_link", interior_link},
        {"both", both},
        {"possible_beats_lost", possible_beats_lost},
        {"lost_points_to_kept", lost_points_to_kept},
        {"lost_interior", lost_interior},
        {"past_end", past_end},
        {"xored", xored},
        {"high_tag", high_tag},
        {"unaligned", unaligned},
        {"freed_owner", freed_owner},
        {"zero", zero},
        {"huge", huge},
        {"free_list", free_list},
        {"recycling", recycling},
        {"entry_points", entry_points},
        {"dead_stack", dead_stack},
        {"top", top},
        {NULL, NULL},
};

int main(int argc, char **argv)
{
        (void)argc;
        return leak_main(argv, cases);
}
