/* SPDX-License-Identifier: MIT */
/*
 * die.h -- small queries to an entry (DIE) of DWARF.
 *
 * Keeps:  attributes of the entry that this one completes (DW_AT_specification,
 *         DW_AT_abstract_origin) count as its own.
 */
#ifndef SEEP_NAMES_DIE_H
#define SEEP_NAMES_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* What is nested deeper is not looked at; nor are longer chains of types. */
enum { DIE_DEPTH = 64 };

bool die_number(Dwarf_Die *die, unsigned name, uint64_t *value);
bool die_flag(Dwarf_Die *die, unsigned name);
const char *die_text(Dwarf_Die *die, unsigned name);

/* The linkage name; NULL: there is none. */
const char *die_linkage(Dwarf_Die *die);

/* The entry that attribute NAME refers to. */
bool die_refers(Dwarf_Die *die, unsigned name, Dwarf_Die *out);

/* Its type; where that is a mere declaration of one in a type unit, that one. */
bool die_type(Dwarf_Die *die, Dwarf_Die *out);

/* Where it is declared.  SKELETON: of the unit, when that is a split one; NULL else. */
const char *die_place(Dwarf_Die *die, Dwarf_Die *skeleton, uint32_t *line);

/* The declaration that DIE completes, inside of a class or namespace where its scope can
 * be seen; else DIE itself. */
Dwarf_Die die_origin(Dwarf_Die *die);

/* The unit, then whatever DIE stands in, down to DIE itself; 0: too deep. */
uint32_t die_chain(Dwarf_Die *die, Dwarf_Die chain[DIE_DEPTH]);

/* Language of its unit, DW_LANG_*; -1 unknown. */
int die_language(Dwarf_Die *die);
bool die_in_c(Dwarf_Die *die);

#endif
