/* SPDX-License-Identifier: MIT */
/*
 * module.h -- the file that a module of the recording was loaded from, opened to read names.
 *
 * Keeps:  a file whose build id differs from the recorded one is never used: its names would be
 *         lies.
 */
#ifndef SEEP_NAMES_MODULE_H
#define SEEP_NAMES_MODULE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "names/debug.h"
#include "names/extent.h"
#include "names/file_search.h"
#include "names/split.h"
#include "names/symtab.h"
#include "profile/model.h"

struct module {
        Dwfl *dwfl; /* NULL: not found */
        Dwfl_Module *dwfl_module;
        char *path; /* of the file; NULL: not found, or none on disk */
        Dwarf *supplement; /* the file with what dwz moved out; NULL none */
        int supplement_fd; /* of that */
        struct symtab table;
        struct extents extents; /* of functions without symbols: module_extent() */
        bool has_extents;       /* they were read */
        struct debug *debug; /* NULL: no debug information */
        struct splits *splits;
        bool no_supplement; /* there should be one, and it was not found */
};

/* Open the file of RECORDED.  Never fails: a module without a usable file has no names. */
void module_open(struct module *m, const struct profile_module *recorded, struct file_search *s);
void module_close(struct module *m);

/* Where the function without a symbol begins that ADDRESS is in, by the unwind tables; 0
 * unknown. */
uint64_t module_extent(struct module *m, uint64_t address);

/* Whether a part of the debug information is in a file that was not found. */
bool module_lacking(const struct module *m);

#endif
