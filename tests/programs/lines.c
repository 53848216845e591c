/* SPDX-License-Identifier: MIT */
/*
 * lines.c -- allocates in inlined functions of its own and, with -DFAR, in those of a library.
 *
 * Room:   tests only; see lines.h.
 */
#define PREFIX near_
#include "lines.h"

void *far_outer(size_t n);

int main(void)
{
        void *p = near_outer(6000); SAY_LINE(main);
#ifdef FAR
        p = far_outer(7000); SAY_LINE(main_far);
#endif
        return !p;
}
