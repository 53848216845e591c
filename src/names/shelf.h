/* SPDX-License-Identifier: MIT */
/*
 * shelf.h -- the ELF files below a directory, by build id.
 *
 * Room:   outside, names/ only.
 */
#ifndef SEEP_NAMES_SHELF_H
#define SEEP_NAMES_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/places.h"

enum { SHELF_FILES = 50000 }; /* looked at below one directory */

struct shelf_entry {
        uint8_t id[20];
        uint32_t id_bytes;
        char *path;
};

struct shelf {
        struct shelf_entry *entries; /* sorted by id */
        size_t count;
        bool read, cut; /* cut: there were more files than we look at */
};

/* Look at every file below DIR, without following links. */
void shelf_read(struct shelf *s, const char *dir);
void shelf_free(struct shelf *s);

/* Visit each file with the build id of WANTED. */
bool shelf_walk(const struct shelf *s, const struct profile_module *wanted, places_visit *visit, void *context);

#endif
