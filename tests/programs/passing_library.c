/* SPDX-License-Identifier: MIT */
/*
 * passing_library.c -- libraries that are loaded and never call anybody: one that goes again, one
 * that stays.
 *
 * Room:   tests only.
 */
#include <dlfcn.h>
#include <stdlib.h>

int main(void)
{
        void *passing = dlopen("libz.so.1", RTLD_NOW), *staying = dlopen("libm.so.6", RTLD_NOW);

        if (!passing || !staying)
                return 1;
        dlclose(passing);
        return 0;
}
