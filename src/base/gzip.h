/* SPDX-License-Identifier: MIT */
/* gzip.h -- bytes packed as gzip does (RFC 1952). */
#ifndef SEEP_BASE_GZIP_H
#define SEEP_BASE_GZIP_H

#include <stddef.h>

#include "base/str.h"

/* Append BYTES, packed.  LEVEL is zlib's, from 1 (quick) to 9 (small). */
void gzip_pack(const void *bytes, size_t count, int level, struct str *out);

#endif
