/* SPDX-License-Identifier: MIT */
/* io.h -- whole reads and writes. */
#ifndef SEEP_BASE_IO_H
#define SEEP_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Write all COUNT bytes to FD, continuing after EINTR and short writes.  false: see errno. */
bool io_write(int fd, const void *bytes, size_t count);

/* Append everything that can be read from FD (or the file PATH) to OUT.  false: see errno. */
bool io_read(int fd, struct str *out);
bool io_read_file(const char *path, struct str *out);

/* All of the BYTES at offset AT of FD; false: there are fewer. */
bool io_read_at(int fd, void *to, size_t bytes, uint64_t at);

#endif
