/* SPDX-License-Identifier: MIT */
/*
 * moments.c -- tells at each of its tags what it has allocated, freed and holds.
 *
 * Room:   tests only.
 * Lines:  fact NAME_allocs=.. NAME_frees=.. NAME_bytes=.. NAME_live=.. NAME_blocks=.., for the tags
 *         a and b and for the end
 */
#include <stdlib.h>

#include "seep.h"
#include "truth.h"

static size_t allocs, frees, bytes, live;
static struct {
        void *block;
        size_t size;
} held[64];

static __attribute__((noinline)) void *take(size_t size)
{
        void *p = malloc(size);

        allocs++;
        bytes += size;
        live += size;
        return p;
}

static void hold(int first, int count, size_t size)
{
        for (int i = first; i < first + count; i++) {
                held[i].block = take(size);
                held[i].size = size;
        }
}

static void drop(int first, int count)
{
        for (int i = first; i < first + count; i++) {
                free(held[i].block);
                held[i].block = NULL;
                frees++;
                live -= held[i].size;
        }
}

static void tell_moment(const char *name)
{
        truth_say("fact %s_allocs=%zu %s_frees=%zu %s_bytes=%zu %s_live=%zu %s_blocks=%zu\n", name,
                  allocs, name, frees, name, bytes, name, live, name, allocs - frees);
}

int main(void)
{
        void *volatile lost;

        hold(0, 10, 100);
        SEEP_TAG("a");
        tell_moment("a");
        drop(0, 4);
        hold(10, 20, 50);
        SEEP_TAG("b");
        tell_moment("b");
        drop(4, 26);
        lost = take(7);
        lost = NULL;
        tell_moment("end");
        return lost != NULL;
}
