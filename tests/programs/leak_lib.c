/* SPDX-License-Identifier: MIT */
/*
 * leak_lib.c -- a library with places where a pointer can be: linked with leak_roots.c, and loaded
 * by it under other names.
 *
 * Room:   tests only.
 */
#include <stddef.h>

/* Hidden: each of the libraries made from this file has its own. */
#define OWN __attribute__((visibility("hidden")))

OWN void *in_bss[100], *in_data = &in_data;
static void *in_static;
static __thread void *in_tls, *in_tls_filled = &in_static;
static __thread void *in_tls_aligned[100] __attribute__((aligned(256)));
#ifdef LEAK_INITIAL
/* One such variable, and all of the library's are laid out when it is loaded; else when a thread
 * first asks for them. */
static __thread void *in_tls_initial __attribute__((tls_model("initial-exec")));
#endif

void *volatile *leak_lib_place(const char *name);

void *volatile *leak_lib_place(const char *name)
{
        switch (name[0]) {
        case 'b':
                return &in_bss[77];
        case 'd':
                return &in_data;
        case 's':
                return &in_static;
        case 't':
                return &in_tls;
        case 'f':
                return &in_tls_filled;
#ifdef LEAK_INITIAL
        case 'i':
                return &in_tls_initial;
#endif
        case 'a':
                return &in_tls_aligned[99];
        }
        return NULL;
}
