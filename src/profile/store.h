/* SPDX-License-Identifier: MIT */
/* store.h -- files that are written whole or not at all. */
#ifndef SEEP_PROFILE_STORE_H
#define SEEP_PROFILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/place.h"

/* COUNT bytes in memory, or (BYTES is NULL) of the file FD from OFFSET on. */
struct store_part {
        const void *bytes;
        uint64_t count;
        int fd;
        uint64_t offset;
};

/* Make the file at PLACE contain PARTS one after the other, whoever looks and whenever the machine
 * stops: it has the old contents or the new ones.  A symbolic link stays one.  What is no regular
 * file (a pipe, /dev/null) is written into and stays what it is. */
bool store_at(struct place *place, const struct store_part *parts, size_t count, struct err *e);

#endif
