/* SPDX-License-Identifier: MIT */
/*
 * lines.h -- three functions of which two vanish into the third, and the lines of their calls
 * (facts NAME=LINE).
 *
 * Room:   tests only; compiled with -O2 -g in every form that debug information has.  PREFIX tells
 *         its users apart.
 */
#include "truth.h"

#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define SAY_LINE(name) truth_say("fact %s=%d\n", TEXT(PREFIX) #name, __LINE__)
#define INLINE static inline __attribute__((always_inline))

INLINE void *JOIN(PREFIX, inner)(size_t n)
{
        void *p = malloc(n); SAY_LINE(inner);
        return p;
}

INLINE void *JOIN(PREFIX, middle)(size_t n)
{
        void *p = JOIN(PREFIX, inner)(n + 1); SAY_LINE(middle);
        return p;
}

void *JOIN(PREFIX, outer)(size_t n);
__attribute__((noinline)) void *JOIN(PREFIX, outer)(size_t n)
{
        void *p = JOIN(PREFIX, middle)(n); SAY_LINE(outer);
        return p;
}
