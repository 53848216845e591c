/* SPDX-License-Identifier: MIT */
/* demangle.h -- names as the programmer wrote them. */
#ifndef SEEP_NAMES_DEMANGLE_H
#define SEEP_NAMES_DEMANGLE_H

/* The C++, Rust or D name behind NAME, without a symbol version, marks of the ABI and default
 * arguments of the C++ library ("std::vector<std::string>"); NAME's own text when it is not
 * mangled.  Owned by the caller. */
char *demangle_name(const char *name);

/* NAME as programs call it: "strdup" for the C library's own "__GI___strdup".  Points into NAME. */
const char *demangle_spoken(const char *name);

/* Bring a readable NAME from elsewhere into the form of demangle_name(), in place. */
void demangle_usual(char *name);

/* Take all default arguments of the C++ library out of the name of a type, in place. */
void demangle_shorten(char *name);

#endif
