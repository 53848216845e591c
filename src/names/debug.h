/* SPDX-License-Identifier: MIT */
/* debug.h -- source lines and inlined functions of a module, from its DWARF. */
#ifndef SEEP_NAMES_DEBUG_H
#define SEEP_NAMES_DEBUG_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

struct debug_frame {
        const char *function; /* linkage name where there is one, else the plain name; NULL
                               * unknown */
        const char *file;
        uint32_t line;
        int linked;      /* FUNCTION is a linkage name */
        uint64_t entry;  /* first address of the function; 0 for inlined ones */
};

enum { DEBUG_FRAMES = 64 }; /* inlined into each other; deeper ones are cut at the outer end */

struct debug;
struct splits;

/* NULL when DWARF is.  It and SPLITS must outlive the result and what it returns.  BIAS: as
 * dwfl_module_getdwarf() gives it. */
struct debug *debug_open(Dwarf *dwarf, Dwarf_Addr bias, struct splits *splits);
void debug_free(struct debug *d);

/* Whether a part of what was asked for is in files that were not found: lines are known,
 * but not what was inlined. */
bool debug_lacking(const struct debug *d);

/* Frames at ADDRESS (of the module as reported to the Dwfl), innermost first; 0
 * when nothing is known of it. */
uint32_t debug_find(struct debug *d, uint64_t address, struct debug_frame frames[DEBUG_FRAMES]);

/* The units, by number: the entry that has the line table (SKELETON) and the one that has all the
 * rest (BODY), the same unless debug information is split.  false: there are no more. */
bool debug_unit(struct debug *d, uint32_t number, Dwarf_Die *skeleton, Dwarf_Die *body);

enum { DEBUG_SCOPES = 128 };

/* The function at ADDRESS, then the blocks and inlined functions in it that ADDRESS is in,
 * innermost last.  *SKELETON: of the unit.  0: it is in no function that is known. */
uint32_t debug_scopes(struct debug *d, uint64_t address, Dwarf_Die scopes[DEBUG_SCOPES],
                      Dwarf_Die *skeleton);

/* As debug_open() was given them. */
Dwarf *debug_dwarf(const struct debug *d);
Dwarf_Addr debug_bias(const struct debug *d);

#endif
