/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <seep.h>

static char *arena;
static size_t used;

static void *pool_take(size_t size)
{
        void *block = arena + used;

        used += (size + 15) & ~(size_t)15;
        SEEP_ALLOC(block, size);
        return block;
}

static void pool_drop(void *block)
{
        SEEP_FREE(block);
}

int main(void)
{
        void *keep, *give_back;

        arena = malloc(1 << 20);
        SEEP_TAG("startup done");
        keep = pool_take(100);
        give_back = pool_take(200);
        pool_drop(give_back);
        SEEP_RESOURCE_ACQUIRE("texture", 17, 4096);
        SEEP_SNAPSHOT("one request");
        return keep == NULL;
}
