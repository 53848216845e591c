/* SPDX-License-Identifier: MIT */
/*
 * member.h -- members of structures and elements of arrays, by offset.
 *
 * Keeps:  TYPE is peeled (type_peel) and complete in all of these.
 */
#ifndef SEEP_TYPES_MEMBER_H
#define SEEP_TYPES_MEMBER_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct globals;

enum { MEMBER_DIMENSIONS = 8 };

/* The dimensions of an array, outermost first; 0 for one that is not known. */
uint32_t member_dimensions(Dwarf_Die *array, uint64_t dimensions[MEMBER_DIMENSIONS]);

/* One step to what is at OFFSET in TYPE: *TYPE and *OFFSET become those of the member or element,
 * and its name is appended.  Of several in one place (a union) a pointer is taken.  false: TYPE has
 * no parts, or none there. */
bool member_step(const struct globals *g, Dwarf_Die *type, uint64_t *offset, struct str *out);

/* Whether all that TYPE holds is one pointer. */
bool member_sole_pointer(const struct globals *g, Dwarf_Die *type, Dwarf_Die *pointer);

#endif
