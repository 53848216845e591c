/* SPDX-License-Identifier: MIT */
/*
 * split.h -- split debug information (.dwo files, .dwp packages), joined with its skeleton in the
 * program.
 *
 * Keeps:  libdw finds a .dwo file where it was made and beside the program.  This
 *         is for all other places.
 */
#ifndef SEEP_NAMES_SPLIT_H
#define SEEP_NAMES_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "names/ranges.h"
#include "names/file_search.h"

struct splits; /* of one module */
struct split;  /* one unit */

/* DWARF was read from FILE, which is the module recorded as RECORDED. */
struct splits *splits_new(Dwarf *dwarf, const char *file, const char *recorded,
                          struct file_search *search);
void splits_free(struct splits *x);

/* The unit that belongs to SKELETON; *BODY becomes its DIE.  NULL: not found.
 * Valid until splits_free(). */
const struct split *splits_find(struct splits *x, Dwarf_Die *skeleton, Dwarf_Die *body);

/* The address ranges of a DIE of unit U, as dwarf_ranges() would give them had
 * libdw joined the unit itself. */
bool split_ranges(const struct split *u, Dwarf_Die *die, ranges_visit *visit, void *context);

#endif
