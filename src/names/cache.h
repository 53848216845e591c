/* SPDX-License-Identifier: MIT */
/*
 * cache.h -- a cache of names on disk, one file per build id.
 *
 * Keeps:  never fatal: what cannot be read, is damaged or belongs to something else counts as
 *         absent; what cannot be written is not.  Files are replaced whole, so that readers at the
 *         same time see the old or the new one.
 */
#ifndef SEEP_NAMES_CACHE_H
#define SEEP_NAMES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/frame.h"
#include "names/file_search.h"

struct cache_entry {
        uint64_t address; /* in the file of the module */
        uint32_t first, count;
};

struct cache_frame {
        uint32_t function, file; /* offsets of text; 0: unknown */
        uint32_t line, inlined;
};

/* A file as it is mapped. */
struct cache {
        void *map; /* NULL: nothing cached */
        size_t map_bytes;
        const struct cache_entry *entries; /* sorted by address */
        const struct cache_frame *frames;
        const char *text;
        uint32_t entry_count;
        bool has_lines;
};

bool cache_open(struct cache *c, const struct profile_module *recorded,
                const struct file_search *s);
void cache_close(struct cache *c);
const struct cache_entry *cache_find(const struct cache *c, uint64_t address);

/* An answer to be kept. */
struct cache_answer {
        uint64_t address;
        const struct symbol_frame *frames;
        uint32_t count;
};

/* How good the answers are, and where they are from. */
struct cache_quality {
        bool has_lines;
        bool lacking;     /* a part of the debug information was not found */
        const char *file; /* NULL: none was found */
};

/* Write ANSWERS together with what C holds already.  ANSWERS are sorted by address and not in C. */
void cache_save(const struct cache *c, const struct profile_module *recorded,
                const struct file_search *s, const struct cache_quality *q,
                const struct cache_answer *answers, size_t count);

#endif
