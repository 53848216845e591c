/* SPDX-License-Identifier: MIT */
/*
 * realloc_forms.c -- realloc and reallocarray in every form: from null, in place, shrunk, moved, to
 * zero, failed, overflowing.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <stdlib.h>

#define TOO_MUCH ((size_t)1 << (8 * sizeof(size_t) - 1))

static void fill(unsigned char *p, size_t n)
{
        for (size_t i = 0; i < n; i++)
                p[i] = (unsigned char)(i * 7);
}

static int holds(const unsigned char *p, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (p[i] != (unsigned char)(i * 7))
                        return 0;
        return 1;
}

static void from_null(void)
{
        void *p = realloc(NULL, 40);
        TRUTH_GOT(p, 40);
}

static void in_place(void)
{
        unsigned char *p = malloc(100), *q;
        TRUTH_GOT(p, 100);
        fill(p, 100);
        truth_gone(p);
        q = realloc(p, 101);
        TRUTH_GOT(q, 101);
        tell("in place: same %d kept %d\n", p == q, holds(q, 100));
}

static void shrunk(void)
{
        unsigned char *p = malloc(10000), *q;
        TRUTH_GOT(p, 10000);
        fill(p, 10000);
        truth_gone(p);
        q = realloc(p, 50);
        TRUTH_GOT(q, 50);
        tell("shrunk: kept %d\n", holds(q, 50));
}

static void moved(void)
{
        unsigned char *p = malloc(200), *wall = malloc(10), *q;
        TRUTH_GOT(p, 200);
        TRUTH_GOT(wall, 10);
        fill(p, 200);
        truth_gone(p);
        q = realloc(p, 70000);
        TRUTH_GOT(q, 70000);
        tell("moved: same %d kept %d\n", p == q, holds(q, 200));
}

/* Large enough for a mapping of its own, so that growing is mremap inside the libc. */
static void mapped(void)
{
        unsigned char *p = malloc(1 << 20), *q;
        TRUTH_GOT(p, 1 << 20);
        fill(p, 1000);
        truth_gone(p);
        q = realloc(p, 9 << 20);
        TRUTH_GOT(q, 9 << 20);
        tell("mapped: kept %d\n", holds(q, 1000));
        truth_gone(q);
        free(q);
}

static void to_zero(void)
{
        void *p = malloc(64), *q;
        TRUTH_GOT(p, 64);
        truth_gone(p);
        errno = 77;
        q = realloc(p, 0);
        tell("to zero: null %d errno %d\n", q == NULL, errno);
        if (q)
                TRUTH_GOT(q, 0);
}

static void *(*volatile real_realloc)(void *, size_t) = realloc;
static void *(*volatile real_reallocarray)(void *, size_t, size_t) = reallocarray;

static void failed(void)
{
        unsigned char *p = malloc(300);
        TRUTH_GOT(p, 300);
        fill(p, 300);
        errno = 0;
        void *q = real_realloc(p, TOO_MUCH);
        tell("failed: null %d errno %d kept %d\n", q == NULL, errno, holds(p, 300));
}

static void failed_then_freed(void)
{
        void *p = malloc(310), *wall = malloc(20);
        TRUTH_GOT(p, 310);
        TRUTH_GOT(wall, 20);
        errno = 0;
        void *q = real_realloc(p, TOO_MUCH);
        tell("failed: null %d errno %d\n", q == NULL, errno);
        truth_gone(p);
        free(p);
}

static void overflowing(void)
{
        unsigned char *p = reallocarray(NULL, 10, 33);
        TRUTH_GOT(p, 330);
        fill(p, 330);
        errno = 0;
        void *q = real_reallocarray(p, (size_t)2 << 4 * sizeof(size_t),
                                    (size_t)2 << 4 * sizeof(size_t));
        tell("overflow: null %d errno %d kept %d\n", q == NULL, errno, holds(p, 330));
        errno = 0;
        q = real_reallocarray(NULL, ~(size_t)0, 2);
        tell("overflow from null: null %d errno %d\n", q == NULL, errno);
}

static void array_moved(void)
{
        unsigned char *p = reallocarray(NULL, 10, 20), *wall = malloc(10), *q;
        TRUTH_GOT(p, 200);
        TRUTH_GOT(wall, 10);
        fill(p, 200);
        truth_gone(p);
        q = reallocarray(p, 1000, 50);
        TRUTH_GOT(q, 50000);
        tell("array moved: same %d kept %d\n", p == q, holds(q, 200));
}

/* After all of these another block may get any old address: a phantom would show as a live block
 * too many. */
static void reuse(void)
{
        for (int i = 0; i < 50; i++) {
                void *p = malloc(64);
                TRUTH_GOT(p, 64);
                truth_gone(p);
                free(p);
        }
}

int main(void)
{
        from_null();
        in_place();
        shrunk();
        moved();
        mapped();
        to_zero();
        failed();
        failed_then_freed();
        overflowing();
        array_moved();
        reuse();
        truth_print();
        return 0;
}
