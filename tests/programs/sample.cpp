// SPDX-License-Identifier: MIT
/*
 * sample.cpp -- every allocation function once released and once lost, by functions of their own,
 * C, C++98, C++14 and C++17, also the libc's own callers of malloc (strdup, asprintf), from a
 * global object and from a library's constructor.
 *
 * Room:   tests only.  Every odd call's block is lost.
 */
#include "truth.h"

#include <cstdlib>
#include <malloc.h>
#include <new>
#include <string>

#define TWICE(name, size, create, destroy)                                     \
        __attribute__((noinline)) static void name()                           \
        {                                                                      \
                for (int i = 0; i < 2; i++) {                                  \
                        void *p = create;                                      \
                        TRUTH_GOT(p, size);                                    \
                        if (i)                                                 \
                                continue;                                      \
                        truth_gone(p);                                         \
                        destroy;                                               \
                }                                                              \
        }

static void *aligned(size_t align, size_t n)
{
        void *p = nullptr;
        return posix_memalign(&p, align, n) ? nullptr : p;
}

struct over {
        alignas(4096) char bytes[4096];
};

TWICE(test_malloc, 1024, malloc(1024), free(p))
TWICE(test_calloc, 1024, calloc(4, 256), free(p))
TWICE(test_realloc, 1024, realloc(nullptr, 1024), free(p))
TWICE(test_reallocarray, 1024, reallocarray(nullptr, 16, 64), free(p))
TWICE(test_aligned_alloc, 1024, aligned_alloc(64, 1024), free(p))
TWICE(test_memalign, 1024, memalign(64, 1024), free(p))
TWICE(test_valloc, 1024, valloc(1024), free(p))
TWICE(test_pvalloc, 1024, pvalloc(1024), free(p))
TWICE(test_new, sizeof(int), new int, delete (int *)p)
TWICE(test_new_array, 7, new char[7], delete[] (char *)p)
TWICE(test_new_nothrow, 64, ::operator new(64, std::nothrow), ::operator delete(p, std::nothrow))
TWICE(test_new_over, sizeof(over), new over, delete (over *)p)
TWICE(test_new_over_array, 2 * sizeof(over), new over[2], delete[] (over *)p)

__attribute__((noinline)) static void test_posix_memalign()
{
        void *p = nullptr, *q = nullptr;
        if (posix_memalign(&p, 64, 1024) || posix_memalign(&q, 64, 1024))
                truth_die("sample: posix_memalign\n");
        TRUTH_GOT(p, 1024);
        TRUTH_GOT(q, 1024);
        truth_gone(p);
        free(p);
}

/* What the libc allocates on the program's behalf: the direct caller of malloc is strdup or
 * vasprintf. */
__attribute__((noinline)) static void test_strings()
{
        char *p = strdup("1234567"), *q = nullptr;
        truth_say("caller test_strings 10\n");
        if (asprintf(&q, "x") != 1)
                truth_die("sample: asprintf\n");
        tell("%s %s\n", p, q);
}

struct global {
        void *held;
        global() : held(malloc(333)) { truth_got("global::global", held, 333); }
        ~global()
        {
                truth_gone(held);
                free(held);
                truth_print();
        }
};

static global object;

__attribute__((noinline)) static void test_string()
{
        std::string s(1000, 'x');
        tell("%zu\n", s.size());
}

int main()
{
        free(aligned(32, 5));
        test_malloc();
        test_calloc();
        test_realloc();
        test_reallocarray();
        test_posix_memalign();
        test_aligned_alloc();
        test_memalign();
        test_valloc();
        test_pvalloc();
        test_new();
        test_new_array();
        test_new_nothrow();
        test_new_over();
        test_new_over_array();
        test_strings();
        test_string();
}
