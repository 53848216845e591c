/* SPDX-License-Identifier: MIT */
/*
 * recognize.h -- functions of a stripped static program, recognized by comparing their code with
 * the C library's.
 *
 * Keeps:  a program that is linked statically has the object files of libc.a inside, each whole:
 *         its code is the same but for addresses.  When the library of this machine is the one that
 *         it was linked with, that code is found there, once.  No byte of either file is trusted.
 */
#ifndef SEEP_ATTACH_RECOGNIZE_H
#define SEEP_ATTACH_RECOGNIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/functions.h"

/* Functions of the file FD by the names of the C library: of its object files that have one of
 * COUNT NAMES.  To be freed with functions_free().  false: none was recognized. */
bool recognize_functions(struct functions *f, int fd, const char *const *names, size_t count);

/* "libc.a, libc6-dev": what would have to be there; for messages. */
const char *recognize_needs(void);

#endif
