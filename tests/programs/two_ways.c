/* SPDX-License-Identifier: MIT */
/*
 * two_ways.c -- an xmalloc() of two calls: what the first makes is freed, what the second makes is
 * lost.
 *
 * Room:   tests only.  Reports without wrappers show one place, work().
 */
#include <stdlib.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))

static void *volatile last;

ALONE static void *xmalloc(size_t size)
{
        void *p;
        if (size % 2)
                p = malloc(size);
        else
                p = malloc(size + 100);
        last = p;
        return p;
}

ALONE static void work(size_t size)
{
        void *p = xmalloc(size);
        if (size % 2)
                free(p);
}

int main(void)
{
        for (size_t size = 1; size <= 40; size++)
                work(size);
        last = NULL;
        _exit(0);
}
