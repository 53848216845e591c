/* SPDX-License-Identifier: MIT */
/*
 * image.h -- a `.seep` file as bytes in memory; file.h adds the way to the disk.
 *
 * Room:   outside, profile/ and its tests only.
 */
#ifndef SEEP_PROFILE_IMAGE_H
#define SEEP_PROFILE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "profile/model.h"

enum image_packing { IMAGE_PACKED, IMAGE_PLAIN };

/* Append the file of P to OUT (empty before).  PLAIN: no compression, for tests
 * that look at single bytes. */
bool image_write(const struct profile *p, enum image_packing packing, struct str *out,
                 struct err *e);

/* Have all that writing takes.  Without this a library that is missing shows when it is needed. */
void image_prepare(void);

/* As file_read(); NAME is used in messages. */
bool image_read(struct profile *p, const void *data, size_t size, const char *name, struct err *e);

#endif
