/* SPDX-License-Identifier: MIT */
/* mapped.h -- a file mapped into memory, without a copy. */
#ifndef SEEP_PROFILE_MAPPED_H
#define SEEP_PROFILE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mapped {
        int fd; /* open as long as the mapping */
        const uint8_t *data;
        size_t size;
};

/* The regular file PATH.  false (exit code 4): it cannot be read, or is none; M is then closed. */
bool mapped_open(struct mapped *m, const char *path, struct err *e);
void mapped_close(struct mapped *m);

/* Let go of the whole pages in COUNT bytes from BYTES on; they are read again if somebody looks at
 * them.  For bytes of a mapping only. */
void mapped_pass(const uint8_t *bytes, size_t count);

#endif
