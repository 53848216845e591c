/* SPDX-License-Identifier: MIT */
#include "lazy/lazy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *lazy_find(size_t number)
{
        const struct lazy_function *f = &lazy_functions[number];
        void *library = dlopen(f->library, RTLD_NOW | RTLD_LOCAL),
             *found = library ? dlsym(library, f->name) : NULL;

        if (!found) {
                /* Where it is linked as usual, the loader ends us in the same way. */
                fprintf(stderr, "seep: a library that this command needs cannot be loaded: %s\n",
                        dlerror());
                _Exit(127);
        }
        __atomic_store_n(&lazy_slots[number], found, __ATOMIC_RELEASE);
        return found;
}
