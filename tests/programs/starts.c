/* SPDX-License-Identifier: MIT */
/*
 * starts.c -- blocks from every way in which the C library calls a program: main, a thread, a
 * constructor, the exit, a comparison.
 *
 * Room:   tests only.
 * Keeps:  each place has a size of its own; nothing is freed, and what is kept is forgotten at the
 *         end.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALONE __attribute__((noinline, noclone))

static void *volatile kept;

ALONE static void take(size_t size)
{
        kept = malloc(size);
        kept = NULL;
}

ALONE static void *in_thread(void *arg)
{
        take(701);
        return arg;
}

ALONE static int compare(const void *a, const void *b)
{
        static int once;

        if (!once++)
                take(702);
        return *(const int *)a - *(const int *)b;
}

ALONE static void at_exit(void)
{
        take(703);
}

__attribute__((constructor)) ALONE static void before_main(void)
{
        take(704);
}

ALONE static void by_main(void)
{
        take(705);
        kept = strdup("forty-two letters and signs, counted by hand");
        kept = NULL;
}

int main(void)
{
        int numbers[] = {2, 1};
        pthread_t t;

        atexit(at_exit);
        if (pthread_create(&t, NULL, in_thread, NULL) || pthread_join(t, NULL))
                return 1;
        qsort(numbers, 2, sizeof *numbers, compare);
        by_main();
        return 0;
}
