/* SPDX-License-Identifier: MIT */
/*
 * file_search.h -- finding files of the recorded machine: on this one, in the directories named, on
 * servers.
 *
 * Room:   outside, names/ only.  Made once per resolver.
 */
#ifndef SEEP_NAMES_FILE_SEARCH_H
#define SEEP_NAMES_FILE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "names/binary.h"
#include "names/fetch.h"
#include "names/frame.h"
#include "names/places.h"
#include "profile/model.h"

struct file_search {
        struct symbol_options options;
        struct debug_dir *debug_dirs; /* one for each debug path; read when first needed */
        struct fetch *fetch;   /* NULL: no servers */
        char **told;           /* what was said already */
        uint32_t told_count, others_told;
        uint64_t recorded_ns; /* when the recording began; 0 not known */
};

/* OPTIONS (may be NULL) and their strings must outlive S. */
void file_search_init(struct file_search *s, const struct symbol_options *options);
void file_search_free(struct file_search *s);

/* *PATH becomes the best file for WANTED: the first with debug information, failing that the first
 * at all; the caller's to free. */
enum binary_fit file_search_find(struct file_search *s, const struct profile_module *wanted,
                                 char **path);

/* ---- the ELF files below a directory, by build id ---- */

enum { DEBUG_DIR_FILES = 50000 }; /* looked at below one directory */

struct debug_dir_entry {
        uint8_t id[20];
        uint32_t id_bytes;
        char *path;
};

struct debug_dir {
        struct debug_dir_entry *entries; /* sorted by id */
        size_t count;
        bool read, cut; /* cut: there were more files than we look at */
};

#endif
