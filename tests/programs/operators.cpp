// SPDX-License-Identifier: MIT
/*
 * operators.cpp -- every form of operator new and delete, each from a function of its own; one
 * block of each is kept.
 *
 * Room:   tests only.  -std=c++17.
 */
#include "truth.h"

#include <cstdlib>
#include <new>

using std::align_val_t;
using std::nothrow;

static int checked(const char *form, void *p, size_t align)
{
        tell("%s: %d %zu\n", form, p != nullptr, (size_t)p % align);
        memset(p, 0x5a, 100);
        return 0;
}

#define FORM(name, text, create, destroy, align, kind)                         \
        __attribute__((noinline)) static void name(void)                       \
        {                                                                      \
                for (int i = 0; i < 4; i++) {                                  \
                        void *p = create;                                      \
                        TRUTH_GOT(p, 100);                                     \
                        checked(text, p, align);                               \
                        if (i == 0)                                            \
                                continue;                                      \
                        truth_gone(p);                                         \
                        destroy;                                               \
                }                                                              \
                truth_say("kind %s %s\n", #name, kind);                        \
        }

#define N(...) ::operator new(100, ##__VA_ARGS__)
#define A(...) ::operator new[](100, ##__VA_ARGS__)
#define D(...) ::operator delete(p, ##__VA_ARGS__)
#define DA(...) ::operator delete[](p, ##__VA_ARGS__)

FORM(new_plain, "new", ::operator new(100), ::operator delete(p), 16, "new")
FORM(new_nothrow, "new nothrow", N(nothrow), D(nothrow), 16, "new")
FORM(new_sized, "new sized", ::operator new(100), D(size_t(100)), 16, "new")
FORM(new_aligned, "new aligned", N(align_val_t(64)), D(align_val_t(64)), 64, "new")
FORM(new_aligned_nothrow, "new aligned nothrow", N(align_val_t(128), nothrow),
     D(align_val_t(128), nothrow), 128, "new")
FORM(new_sized_aligned, "new sized aligned", N(align_val_t(256)), D(size_t(100), align_val_t(256)),
     256, "new")
FORM(array_plain, "new[]", ::operator new[](100), ::operator delete[](p), 16, "new[]")
FORM(array_nothrow, "new[] nothrow", A(nothrow), DA(nothrow), 16, "new[]")
FORM(array_sized, "new[] sized", ::operator new[](100), DA(size_t(100)), 16, "new[]")
FORM(array_aligned, "new[] aligned", A(align_val_t(64)), DA(align_val_t(64)), 64, "new[]")
FORM(array_aligned_nothrow, "new[] aligned nothrow", A(align_val_t(128), nothrow),
     DA(align_val_t(128), nothrow), 128, "new[]")
FORM(array_sized_aligned, "new[] sized aligned", A(align_val_t(256)),
     DA(size_t(100), align_val_t(256)), 256, "new[]")

struct wide {
        alignas(128) char bytes[256];
};

__attribute__((noinline)) static void expressions(void)
{
        int *one = new int(7);
        TRUTH_GOT(one, sizeof(int));
        char *many = new char[41];
        TRUTH_GOT(many, 41);
        wide *aligned = new wide;
        TRUTH_GOT(aligned, sizeof(wide));
        wide *array = new wide[3];
        TRUTH_GOT(array, 3 * sizeof(wide));
        tell("expressions: %d %zu %zu\n", *one, (size_t)aligned % 128, (size_t)array % 128);
        truth_gone(one);
        delete one;
        truth_gone(aligned);
        delete aligned;
}

int main()
{
        new_plain();
        new_nothrow();
        new_sized();
        new_aligned();
        new_aligned_nothrow();
        new_sized_aligned();
        array_plain();
        array_nothrow();
        array_sized();
        array_aligned();
        array_aligned_nothrow();
        array_sized_aligned();
        expressions();
        truth_print();
}
