/* SPDX-License-Identifier: MIT */
/* lazy.h -- functions of libraries that are loaded at the first call of any of them
 *
 * Most commands, and the recording of a short program above all, need neither debug information nor
 * a database nor a terminal, and loading the libraries for these took as long as the rest of the
 * start.  stubs.py writes a function of the same name for each that we call; it jumps to where its
 * slot points, which is lazy_enter() until it was called once.  No caller knows of it, and builds
 * without it (static ones, other processors) link the libraries as usual. */
#ifndef SEEP_LAZY_LAZY_H
#define SEEP_LAZY_LAZY_H

#include <stddef.h>

struct lazy_function {
        const char *library, *name;
};

extern const struct lazy_function lazy_functions[];
extern void *lazy_slots[];

/* For lazy_enter(): the function with this number, loaded.  Without it the command ends. */
void *lazy_find(size_t number);

#endif
