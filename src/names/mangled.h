/* SPDX-License-Identifier: MIT */
/* mangled.h -- what a compiler made of a name, undone by libiberty. */
#ifndef SEEP_NAMES_MANGLED_H
#define SEEP_NAMES_MANGLED_H

/* The name that C++, Rust or D code is written with; the caller's to free.  NULL: NAME is none of
 * theirs, or there is no libiberty. */
char *mangled_read(const char *name);

#endif
