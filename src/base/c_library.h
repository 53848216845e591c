/* SPDX-License-Identifier: MIT */
/* c_library.h -- the files of the C library and of its loader, by their names. */
#ifndef SEEP_BASE_C_LIBRARY_H
#define SEEP_BASE_C_LIBRARY_H

#include <stdbool.h>

/* Whether the file at PATH is the C library, its library of threads, or its loader. */
bool c_library_has(const char *path);

#endif
