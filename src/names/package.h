/* SPDX-License-Identifier: MIT */
/*
 * package.h -- the units of split debug information: alone in a .dwo file, or many in a .dwp
 * package.
 */
#ifndef SEEP_NAMES_PACKAGE_H
#define SEEP_NAMES_PACKAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Sections of a unit: name, its name in split files. */
#define PACKAGE_PARTS(X)                                                       \
        X(INFO, ".debug_info")                                                 \
        X(ABBREV, ".debug_abbrev")                                             \
        X(LINE, ".debug_line")                                                 \
        X(STR_OFFSETS, ".debug_str_offsets")                                   \
        X(RNGLISTS, ".debug_rnglists")                                         \
        X(STR, ".debug_str")

enum package_part {
#define PACKAGE_ENUM(name, section) PACKAGE_##name,
        PACKAGE_PARTS(PACKAGE_ENUM)
#undef PACKAGE_ENUM
        PACKAGE_PART_COUNT
};

struct package_bytes {
        const uint8_t *data; /* NULL none */
        size_t size;
};

struct package_unit {
        struct package_bytes part[PACKAGE_PART_COUNT];
};

extern const char *const package_names[PACKAGE_PART_COUNT];

/* The parts of the unit ID in the package ELF; false: it is no package, or not in
 * it.  They belong to ELF. */
bool package_find(Elf *elf, uint64_t id, struct package_unit *unit);

/* The parts of the .dwo file ELF, whatever its unit is. */
bool package_whole(Elf *elf, struct package_unit *unit);

#endif
