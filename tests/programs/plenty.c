/* SPDX-License-Identifier: MIT */
/*
 * plenty.c -- more of something than there is room for: argv[1] is types (of resources), switches
 * or tags; mapped: a pool whose mapping goes.
 *
 * Room:   tests only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "seep.h"

static void many_types(void)
{
        for (int i = 0; i < 300; i++) {
                char name[16];

                snprintf(name, sizeof name, "type%d", i);
                SEEP_RESOURCE_ACQUIRE(name, i, 1);
        }
}

static void many_switches(void)
{
        for (int i = 0; i < 50000; i++) {
                SEEP_DISABLE();
                SEEP_ENABLE();
        }
}

static void many_tags(void)
{
        for (int i = 0; i < 70000; i++)
                SEEP_TAG("again");
}

static void mapped_pool(void)
{
        char *pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0);

        SEEP_ALLOC(pool, 100);
        SEEP_ALLOC(pool + 4096, 300);
        SEEP_ALLOC(pool + (1 << 19), 500);
        munmap(pool, 1 << 19);
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";
        char *volatile kept = malloc(77);

        if (strcmp(what, "types") == 0)
                many_types();
        else if (strcmp(what, "switches") == 0)
                many_switches();
        else if (strcmp(what, "tags") == 0)
                many_tags();
        else if (strcmp(what, "mapped") == 0)
                mapped_pool();
        SEEP_SNAPSHOT("last");
        return kept == NULL;
}
