/* SPDX-License-Identifier: MIT */
/*
 * dl_swap.c -- two libraries take turns at one address; each allocates, every allocation must name
 * its own library.
 *
 * Room:   tests only.  argv[1], argv[2]: libraries made from plug.c with PLUG=a and PLUG=b;
 *         argv[3]: rounds.
 */
#include "truth.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef void *allocator(size_t);

static uintptr_t use(const char *path, const char *function, const char *site, size_t n, int keep)
{
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *p;
        allocator *allocate = library ? (allocator *)dlsym(library, function) : NULL;
        if (!allocate)
                truth_die("dl_swap: cannot load\n");
        for (int i = 0; i < 5; i++) {
                p = allocate(n);
                truth_got(site, p, n + 1);
                if (i < 5 - keep) {
                        truth_gone(p);
                        free(p);
                }
        }
        dlclose(library);
        return (uintptr_t)allocate;
}

int main(int argc, char **argv)
{
        uintptr_t a = 0, b = 0;
        int same = 0, rounds = argc > 3 ? atoi(argv[3]) : 50;
        for (int i = 0; i < rounds; i++) {
                a = use(argv[1], "outer_a", "inner_a", 100, 1);
                b = use(argv[2], "outer_b", "inner_b", 1000, 2);
                same += a == b;
        }
        truth_say("fact same=%d\n", same);
        truth_say("stack 101 inner_a outer_a use main\nstack 1001 inner_b outer_b use main\n");
        truth_print();
        return 0;
}
