/* SPDX-License-Identifier: MIT */
/*
 * image.h -- the agent's library laid out as a loader would, to be written into another process.
 *
 * Room:   outside; pure computing on bytes.
 */
#ifndef SEEP_ATTACH_IMAGE_H
#define SEEP_ATTACH_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct image {
        bool narrow; /* its words have 4 bytes */
        uint8_t *
                bytes; /* SPAN of them: segments at their places, zero where the file has nothing */
        size_t span;   /* whole pages */
        size_t data;   /* in front of this everything is code or constant; a multiple of a page */
        size_t zero;   /* from here on all is zero at the start */
        uint64_t base; /* where it will be; image_place() */
        struct str file;
};

/* PATH: libseep-inject.so, NARROW: with words of 4 bytes. */
bool image_load(struct image *i, const char *path, bool narrow, struct err *e);
void image_free(struct image *i);

/* BYTES as they are to be when they lie at BASE.  To be called once. */
bool image_place(struct image *i, uint64_t base, struct err *e);

/* Where the exported NAME is, from the start; 0: there is none. */
uint64_t image_symbol(const struct image *i, const char *name);

/* BYTES of it from ADDRESS on, which is one of BASE; NULL: it does not lie there. */
void *image_at(const struct image *i, uint64_t address, size_t bytes);

/* A word of its own at ADDRESS; false: it does not lie there. */
bool image_put(const struct image *i, uint64_t address, uint64_t word);

#endif
