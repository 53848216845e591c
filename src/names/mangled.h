/* SPDX-License-Identifier: MIT */
/* mangled.h -- demangling of symbol names, by libiberty. */
#ifndef SEEP_NAMES_MANGLED_H
#define SEEP_NAMES_MANGLED_H

/* The name that C++, Rust or D code is written with; the caller's to free.  NULL: NAME is none of
 * theirs, or there is no libiberty. */
char *mangled_read(const char *name);

#endif
