/* SPDX-License-Identifier: MIT */
/*
 * type.h -- what DWARF says about a type: its size, its members, what it points to.
 *
 * Keeps:  every chain and every nesting is followed for DIE_DEPTH steps at most, whatever the file
 *         says.
 */
#ifndef SEEP_TYPES_TYPE_H
#define SEEP_TYPES_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct globals;

/* Past typedefs, const and the like. */
bool type_peel(Dwarf_Die *type);

/* sizeof; 0 unknown. */
uint64_t type_bytes(Dwarf_Die *type);

bool type_is_pointer(Dwarf_Die *type);

/* Where TYPE is a mere declaration and G (may be NULL) has the whole, that. */
void type_complete(const struct globals *g, Dwarf_Die *type);

/* What TYPE points to, by itself or by its only member; smart pointers of the C++ library, too. */
bool type_target(const struct globals *g, Dwarf_Die *type, Dwarf_Die *target);

/* Append the way to OFFSET inside TYPE.  *TYPE becomes that of what is there, *OFFSET what is left
 * over.  Not 0: what is there points to NODE, by that many pointers, although its type does not say
 * so (the C++ library links nodes by a base class of theirs). */
uint32_t type_path(const struct globals *g, Dwarf_Die *type, uint64_t *offset, Dwarf_Die *node,
                   struct str *out);

/* Append "struct node", "Session", "char *"; false when unknown.  IN_C: what to assume where DWARF
 * does not tell the language. */
bool type_name(Dwarf_Die *type, bool in_c, struct str *out);

/* Append "ns::Class::" and the name of DIE. */
bool type_scoped_name(Dwarf_Die *die, struct str *out);

#endif
