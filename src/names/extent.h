/* SPDX-License-Identifier: MIT */
/* extent.h -- the functions of a stripped module, told apart by its unwind tables. */
#ifndef SEEP_NAMES_EXTENT_H
#define SEEP_NAMES_EXTENT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct extent {
        uint64_t start, end;
};

struct extents {
        struct extent *list; /* sorted by start */
        size_t count;
};

/* From .eh_frame, of which each entry is about one function, or about the part of one that is
 * seldom executed and lies elsewhere.  What cannot be read is left out. */
void extents_read(struct extents *x, Dwfl_Module *module);
void extents_free(struct extents *x);

/* Where the function that covers ADDRESS begins; 0: no entry does. */
uint64_t extents_find(const struct extents *x, uint64_t address);

/* Append "libsqlite3.so.0+f_a7480": what a function is called that begins at START of the file
 * at PATH. */
void extent_name(struct str *out, const char *path, uint64_t start);

/* Whether NAME was made by extent_name(); *START is the one that it was made of. */
bool extent_parse(const char *name, uint64_t *start);

#endif
