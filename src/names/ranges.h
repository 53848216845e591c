/* SPDX-License-Identifier: MIT */
/*
 * ranges.h -- lists of address ranges, decoded from a unit that libdw does not join itself.
 */
#ifndef SEEP_NAMES_RANGES_H
#define SEEP_NAMES_RANGES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "names/package.h"

/* What a unit's lists refer to. */
struct ranges {
        struct package_bytes lists;     /* .debug_rnglists of the unit; before DWARF 5
                                         * .debug_ranges from its base on */
        struct package_bytes addresses; /* .debug_addr from its base on */
        Dwarf_Addr base;                /* where offsets count from */
        uint8_t address_bytes, version;
};

/* Told an address range; true ends the walk. */
typedef bool ranges_visit(void *context, Dwarf_Addr start, Dwarf_Addr end);

/* The list that ATTR (DW_AT_ranges, its value lies before ATTR_END) leads to.  true when a visit
 * ended it. */
bool ranges_walk(const struct ranges *r, const Dwarf_Attribute *attr, const uint8_t *attr_end,
                 ranges_visit *visit, void *context);

#endif
