/* SPDX-License-Identifier: MIT */
/*
 * pools.c -- a custom allocator that tells seep: pools heap|static|mapped|dropped|again|threads.
 *
 * Room:   tests only.  The pool's first block lies at the arena's own address.  The facts are: live
 *         bytes and blocks handed out, how many there ever were, and the size of the arena when
 *         that came from malloc.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "seep.h"

#define ARENA 65536
#define BLOCK 112

struct pool {
        char *arena;
        int next, handed, freed, last_free;
        int free_list[ARENA / BLOCK];
};

static char *arena_new(size_t size)
{
        return malloc(size);
}

static void *pool_get(struct pool *p, size_t size)
{
        int i = p->last_free ? p->free_list[--p->last_free] : p->next++;
        void *block = p->arena + (size_t)i * BLOCK;
        if (p->next > ARENA / BLOCK)
                truth_die("pools: full\n");
        SEEP_ALLOC(block, size);
        p->handed++;
        return block;
}

static void pool_put(struct pool *p, void *block)
{
        SEEP_FREE(block);
        p->free_list[p->last_free++] = (int)(((char *)block - p->arena) / BLOCK);
        p->freed++;
}

/* 200 blocks of 100 bytes, 80 of them given back, 20 of those taken again. */
static void pool_use(struct pool *p)
{
        void *b[200];
        for (int i = 0; i < 200; i++)
                b[i] = pool_get(p, 100);
        if (b[0] != p->arena)
                truth_die("pools: first block elsewhere\n");
        for (int i = 0; i < 80; i++)
                pool_put(p, b[2 * i]);
        for (int i = 0; i < 20; i++)
                memset(pool_get(p, 100), 7, 100);
}

static void facts(const struct pool *p, int pools, int arena)
{
        int live = (p->handed - p->freed) * pools;
        truth_say("fact pool_blocks=%d pool_bytes=%d pool_allocs=%d arena=%d\n", live, live * 100,
                  p->handed * pools, arena);
}

static void *thread_pool(void *pool)
{
        pool_use(pool);
        return NULL;
}

static void run_threads(void)
{
        static struct pool pools[4];
        pthread_t t[4];
        for (int i = 0; i < 4; i++) {
                pools[i].arena = arena_new(ARENA);
                if (pthread_create(&t[i], NULL, thread_pool, &pools[i]))
                        truth_die("pools: no thread\n");
        }
        for (int i = 0; i < 4; i++)
                pthread_join(t[i], NULL);
        facts(&pools[0], 4, 4 * ARENA);
}

int main(int argc, char **argv)
{
        static char fixed[ARENA] __attribute__((aligned(64)));
        static struct pool pool;
        const char *mode = argc > 1 ? argv[1] : "heap";
        if (!strcmp(mode, "threads")) {
                run_threads();
                return 0;
        }
        if (!strcmp(mode, "static"))
                pool.arena = fixed;
        else if (!strcmp(mode, "mapped"))
                pool.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                  -1, 0);
        else
                pool.arena = arena_new(ARENA);
        pool_use(&pool);
        facts(&pool, 1, pool.arena != fixed && strcmp(mode, "mapped") ? ARENA : 0);
        if (!strcmp(mode, "dropped") || !strcmp(mode, "again")) {
                free(pool.arena);
                truth_say("fact pool_blocks=0 pool_bytes=0 arena=0\n");
        }
        if (!strcmp(mode, "again")) { /* the same addresses, as ordinary memory */
                pool.arena = arena_new(ARENA);
                truth_say("fact arena=%d\n", ARENA);
        }
        return 0;
}
