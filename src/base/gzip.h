/* SPDX-License-Identifier: MIT */
/* gzip.h -- bytes packed as gzip does (RFC 1952). */
#ifndef SEEP_BASE_GZIP_H
#define SEEP_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Whether who writes to a file of this NAME means a packed one: x.gz; NULL is none. */
bool gzip_is_name(const char *name);

/* Append BYTES, packed.  LEVEL is zlib's, from 1 (quick) to 9 (small). */
enum { GZIP_USUAL = 6 };

void gzip_pack(const void *bytes, size_t count, int level, struct str *out);

#endif
