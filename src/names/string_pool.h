/* SPDX-License-Identifier: MIT */
/* string_pool.h -- a pool of strings: equal texts have equal pointers. */
#ifndef SEEP_NAMES_STRING_POOL_H
#define SEEP_NAMES_STRING_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"

struct string_pool {
        char **texts;
        size_t count;
        struct table numbers; /* of texts */
        char *chunk; /* where the next text goes */
        size_t chunk_left;
        char **chunks;
        size_t chunk_count;
        bool plain;   /* to be set: texts are made plain (base/plain.h) ... */
        bool changed; /* ... and one was not */
};

/* The pool's copy of TEXT, valid until string_pool_free(); NULL for NULL. */
const char *string_pool_text(struct string_pool *p, const char *text);

void string_pool_free(struct string_pool *p);

#endif
