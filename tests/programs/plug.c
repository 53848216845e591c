/* SPDX-License-Identifier: MIT */
/*
 * plug.c -- a library to be loaded and dropped; compiled once per letter with -DPLUG=a, -DPLUG=b,
 * so that both have the same shape, load at the same address, and differ only in names.
 *
 * Room:   tests only.
 */
#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static void *JOIN(inner_, PLUG)(size_t n)
{
        void *p = malloc(n);
        return p;
}

void *JOIN(outer_, PLUG)(size_t n);
void *JOIN(outer_, PLUG)(size_t n)
{
        void *p = JOIN(inner_, PLUG)(n + 1);
        return p;
}
