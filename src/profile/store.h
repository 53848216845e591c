/* SPDX-License-Identifier: MIT */
/*
 * store.h -- bytes to a file, all or nothing.
 *
 * Room:   outside.
 */
#ifndef SEEP_PROFILE_STORE_H
#define SEEP_PROFILE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Make PATH contain BYTES, whoever looks and whenever the machine stops: the old contents or the new ones.  A symbolic
 * link stays one.  What is no regular file (a pipe, /dev/null) is written into and stays what it is. */
bool store_file(const char *path, const void *bytes, size_t count, struct err *e);

#endif
