/* SPDX-License-Identifier: MIT */
/*
 * leak_api.c -- what seep.h offers for leaks: blocks that may be lost, memory that holds, and the
 * question how many are lost now.
 *
 * Room:   tests only.  See leak.h.
 * Lines:  fact KEY=VALUE: what SEEP_LEAK_CHECK() returned.
 */
#include "leak.h"

#include <pthread.h>
#include <sys/mman.h>

#include "seep.h"

typedef void *volatile place;

static place held[8];

MAKER(lost_first)
MAKER(lost_later)
MAKER(kept_first)
MAKER(ignored_head)
MAKER(below_ignored)
MAKER(in_given)
MAKER(in_given_before)
MAKER(ignored_and_freed)

LEAK_ALONE static void ask(const char *key)
{
        size_t n;
        errno = 77;
        n = SEEP_LEAK_CHECK();
        truth_say("fact %s=%zu errno_%s=%d\n", key, n, key, errno);
}

/* Its own frame must be clean, too. */
#define check(key) (leak_wipe(), ask(key))

LEAK_ALONE static void lose_some(void)
{
        for (int i = 0; i < 3; i++)
                lost_first(DEFINITE, 6001);
        held[0] = kept_first(REACHABLE, 6003);
}

LEAK_ALONE static void lose_more(void)
{
        void **head = lost_later(DEFINITE, 6011);
        head[0] = lost_later(INDIRECT, 6012);
        lost_later(DEFINITE, 6013);
}

LEAK_ALONE static void find_again(uintptr_t hidden)
{
        held[1] = leak_shown(hidden);
}

/* 0, 3, 3 again, 5 (an indirect one does not count), 6, 5 when one is found again, 6 when it is
 * lost again. */
static void checks(void)
{
        volatile uintptr_t hidden;
        check("none");
        lose_some();
        check("first");
        check("same");
        lose_more();
        check("more");
        hidden = leak_hidden(lost_first(DEFINITE, 6007));
        check("hidden");
        find_again(hidden);
        check("found");
        held[1] = NULL;
        check("lost_again");
}

/* SEEP_IGNORE: it, and what hangs on it, is no leak. */
static void ignores(void)
{
        void **p = ignored_head(REACHABLE, 6021);
        void *gone = malloc(6029);
        p[1] = below_ignored(REACHABLE, 6023);
        SEEP_IGNORE(p);
        SEEP_IGNORE(gone);
        free(gone); /* ... a later block in the same place is not ignored */
        ignored_and_freed(DEFINITE, 6029);
}

/* SEEP_ROOT: shared memory that can only be read, which nobody would search, and a part of a block
 * that is lost. */
static void roots(void)
{
        place *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        p[100] = in_given(REACHABLE, 6031);
        p[10] = in_given_before(DEFINITE, 6033);
        SEEP_ROOT((void *)&p[50], 4096 - 50 * sizeof *p);
        if (mprotect((void *)p, 4096, PROT_READ))
                truth_die("leak_api: not protected\n");
}

/* A block that an allocator of the program's own takes from ARENA. */
LEAK_ALONE static void *carve(char *arena, size_t offset, const char *kind, size_t size)
{
        SEEP_ALLOC(arena + offset, size);
        leak_note(kind, __func__, size);
        return arena + offset;
}

MAKER(arena_block)
MAKER(below_kept_pool)
MAKER(below_lost_pool)
MAKER(in_rest_of_arena)

/* SEEP_ALLOC: blocks in blocks.  What is carved from an arena is held by pointers to it, not by the
 *             arena. */
static void pool_in(char *arena)
{
        void **lost = carve(arena, 1024, DEFINITE, 104),
             **kept = carve(arena, 2048, REACHABLE, 208);
        held[3] = kept;
        lost[2] = below_lost_pool(INDIRECT, 6043);
        kept[3] = below_kept_pool(REACHABLE, 6045);
        ((void **)arena)[500] = in_rest_of_arena(REACHABLE, 6047);
}

static void pools(void)
{
        held[4] = arena_block(REACHABLE, 8192);
        pool_in(held[4]);
}

static void mapped_pools(void)
{
        pool_in(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void *asks(void *arg)
{
        for (int i = 0; i < 3; i++) {
                size_t n = SEEP_LEAK_CHECK();
                if (n != (size_t)(uintptr_t)arg)
                        truth_say("fact wrong=%zu\n", n);
        }
        return NULL;
}

/* Four at once. */
static void threads(void)
{
        pthread_t t[4];
        lose_some();
        leak_wipe();
        for (int i = 0; i < 4; i++)
                if (pthread_create(&t[i], NULL, asks, (void *)3))
                        truth_die("leak_api: no thread\n");
        for (int i = 0; i < 4; i++)
                pthread_join(t[i], NULL);
        truth_say("fact joined=4\n");
}

static const struct leak_case cases[] = {
        {"checks", checks},
        {"ignores", ignores},
        {"roots", roots},
        {"pools", pools},
        {"mapped_pools", mapped_pools},
        {"threads", threads},
        {NULL, NULL},
};

int main(int argc, char **argv)
{
        (void)argc;
        return leak_main(argv, cases);
}
