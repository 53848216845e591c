/* SPDX-License-Identifier: MIT */
/*
 * entry_points.c -- every allocation function of C, each called from a function of its own, some
 * blocks kept.
 *
 * Room:   tests only.  No stdio, so that with glibc nobody but this file allocates.
 */
#include "truth.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

static void release(void *p)
{
        truth_gone(p);
        free(p);
}

static void use_malloc(void)
{
        for (size_t n = 0; n < 10; n++) {
                void *p = malloc(n * 10);
                TRUTH_GOT(p, n * 10);
                if (n % 3)
                        release(p);
        }
        truth_say("kind use_malloc malloc\n");
}

static void use_calloc(void)
{
        for (size_t n = 1; n < 8; n++) {
                char *p = calloc(n, 33);
                TRUTH_GOT(p, n * 33);
                tell("calloc %zu: %d %d\n", n, p[0], p[n * 33 - 1]);
                if (n > 2)
                        release(p);
        }
        truth_say("kind use_calloc calloc\n");
}

static void use_realloc(void)
{
        void *p = realloc(NULL, 50);
        TRUTH_GOT(p, 50);
        for (size_t n = 100; n < 100000; n *= 3) {
                truth_gone(p);
                p = realloc(p, n);
                TRUTH_GOT(p, n);
        }
        truth_say("kind use_realloc realloc\n");
}

static void use_reallocarray(void)
{
        void *p = reallocarray(NULL, 3, 7);
        TRUTH_GOT(p, 21);
        truth_gone(p);
        p = reallocarray(p, 300, 70);
        TRUTH_GOT(p, 21000);
        truth_say("kind use_reallocarray reallocarray\n");
}

static void use_posix_memalign(void)
{
        for (size_t align = sizeof(void *); align <= 65536; align *= 4) {
                void *p = NULL;
                int r = posix_memalign(&p, align, align + 5);
                tell("posix_memalign %zu: %d %zu\n", align, r, (size_t)p % align);
                TRUTH_GOT(p, align + 5);
                if (align > 64)
                        release(p);
        }
        truth_say("kind use_posix_memalign posix_memalign\n");
}

static void use_aligned_alloc(void)
{
        void *p = aligned_alloc(256, 512), *q = aligned_alloc(64, 640);
        TRUTH_GOT(p, 512);
        TRUTH_GOT(q, 640);
        tell("aligned_alloc: %zu %zu\n", (size_t)p % 256, (size_t)q % 64);
        release(p);
        truth_say("kind use_aligned_alloc aligned_alloc\n");
}

static void use_memalign(void)
{
        void *p = memalign(128, 77), *q = memalign(4096, 78);
        TRUTH_GOT(p, 77);
        TRUTH_GOT(q, 78);
        tell("memalign: %zu %zu\n", (size_t)p % 128, (size_t)q % 4096);
        release(q);
        truth_say("kind use_memalign memalign\n");
}

#ifndef WITHOUT_VALLOC
static void use_valloc(void)
{
        void *p = valloc(99), *q = valloc(5000);
        TRUTH_GOT(p, 99);
        TRUTH_GOT(q, 5000);
        tell("valloc: %zu %zu\n", (size_t)p % 4096, (size_t)q % 4096);
        release(p);
        truth_say("kind use_valloc valloc\n");
}

static void use_pvalloc(void)
{
        void *p = pvalloc(99), *q = pvalloc(5000);
        TRUTH_GOT(p, 99);
        TRUTH_GOT(q, 5000);
        tell("pvalloc: %zu %zu\n", (size_t)p % 4096, (size_t)q % 4096);
        release(q);
        truth_say("kind use_pvalloc pvalloc\n");
}
#endif

static void *(*volatile lookup)(void *, const char *) = dlsym;

/* The three releases that not every libc has; without the tool plain free does their work. */
static void use_rare_releases(void)
{
        void (*cfree_function)(void *) = (void (*)(void *))lookup(RTLD_DEFAULT, "cfree");
        void (*free_sized)(void *, size_t) = (void (*)(void *, size_t))lookup(RTLD_DEFAULT,
                                                                              "free_sized");
        void (*free_aligned_sized)(void *, size_t, size_t) =
                (void (*)(void *, size_t, size_t))lookup(RTLD_DEFAULT, "free_aligned_sized");
        void *p = malloc(71), *q = malloc(72), *r = aligned_alloc(64, 128), *kept = malloc(73);
        TRUTH_GOT(p, 71);
        TRUTH_GOT(q, 72);
        TRUTH_GOT(r, 128);
        TRUTH_GOT(kept, 73);
        truth_gone(p);
        cfree_function ? cfree_function(p) : free(p);
        truth_gone(q);
        free_sized ? free_sized(q, 72) : free(q);
        truth_gone(r);
        free_aligned_sized ? free_aligned_sized(r, 64, 128) : free(r);
        truth_say("fact rare=%d%d%d\n", !!cfree_function, !!free_sized, !!free_aligned_sized);
}

static void use_free_of_null(void)
{
        free(NULL);
        tell("usable size of null: %zu\n", malloc_usable_size(NULL));
}

static void use_usable_size(void)
{
        for (size_t n = 1; n < 3000; n = n * 2 + 1) {
                void *p = malloc(n);
                TRUTH_GOT(p, n);
                tell("usable %zu: %zu\n", n, malloc_usable_size(p));
                release(p);
        }
}

int main(void)
{
        use_malloc();
        use_calloc();
        use_realloc();
        use_reallocarray();
        use_posix_memalign();
        use_aligned_alloc();
        use_memalign();
#ifndef WITHOUT_VALLOC
        use_valloc();
        use_pvalloc();
#endif
        use_rare_releases();
        use_free_of_null();
        use_usable_size();
        truth_print();
        return 0;
}
