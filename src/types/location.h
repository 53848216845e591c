/* SPDX-License-Identifier: MIT */
/*
 * location.h -- where a variable with an address of its own is, from the expression that DWARF has for it.
 *
 * Room:   outside, types/ only.
 */
#ifndef SEEP_TYPES_LOCATION_H
#define SEEP_TYPES_LOCATION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A variable is in one place, or (after optimisation) its members are in places of their own. */
struct location_part {
        uint64_t start, inner; /* where it is, where in the variable */
        uint64_t size;         /* 0: all of the variable */
        bool thread;           /* START is an offset in thread-local storage */
};

enum { LOCATION_PARTS = 16 };

/* How many parts there are; 0: it is in a frame or a register, or optimised away. */
uint32_t location_read(Dwarf_Attribute *attr, struct location_part parts[LOCATION_PARTS]);

#endif
