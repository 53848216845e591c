/* SPDX-License-Identifier: MIT */
/*
 * globals.h -- the variables of a module that have an address of their own, and the types it
 * defines, from its DWARF.
 */
#ifndef SEEP_TYPES_GLOBALS_H
#define SEEP_TYPES_GLOBALS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/debug.h"

/* A variable, or a part of one whose members are in places of their own. */
struct global {
        uint64_t start, size; /* size 0 unknown */
        uint64_t inner, whole; /* where that is in the variable, and the size of the variable */
        Dwarf_Die die;
        uint32_t unit;  /* number of debug_unit() */
        bool in_function;
};

struct global_list {
        struct global *all; /* sorted by start */
        size_t count;
};

/* Something with a name: a type, or a variable that is declared only. */
struct global_name {
        const char *name;
        Dwarf_Die die;
};

struct global_names {
        struct global_name *all; /* sorted by name */
        size_t count;
};

struct globals {
        struct global_list data, thread; /* addresses as DWARF has them; offsets in thread-local
                                          * storage */
        struct global_names types;       /* structures, classes and unions, without their scopes */
        struct global_names words;       /* int, size_t and other typedefs outside of types */
        struct global_names declared;    /* by linkage name, or name where there is none */
        bool in_c;                       /* some of the module is written in C */
};

/* One walk over all of D, which must outlive G. */
void globals_read(struct globals *g, struct debug *d);
void globals_free(struct globals *g);

/* The variable over ADDRESS; NULL none.  One whose size is not known is only found at its start. */
const struct global *globals_find(const struct global_list *list, uint64_t address);

/* The first of this name, *COUNT how many there are; NULL none. */
const struct global_name *globals_named(const struct global_names *names, const char *name,
                                        size_t *count);

#endif
