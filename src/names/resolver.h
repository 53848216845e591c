/* SPDX-License-Identifier: MIT */
/*
 * resolver.h -- what names/ and types/ need of a resolver.
 *
 * Room:   outside, names/ and types/ only.
 */
#ifndef SEEP_NAMES_RESOLVER_H
#define SEEP_NAMES_RESOLVER_H

#include "names/module.h"
#include "names/symbol.h"

const struct profile *symbols_profile(const struct symbols *s);

/* The file of a module, opened when it is first asked for. */
struct module *symbols_open_module(struct symbols *s, uint32_t index);

/* RAW (a text of libdw or libelf, which does not move) as it is shown: demangled, or a path without
 * detours.  NULL for NULL. */
const char *symbols_name(struct symbols *s, const char *raw);
const char *symbols_path(struct symbols *s, const char *raw);

/* The resolver's copy of TEXT. */
const char *symbols_keep(struct symbols *s, const char *text);

/* A place for what types/ keeps beside the names, empty at first.  Who fills it says how it
 * goes away with the resolver. */
struct symbols_beside {
        struct variables *kept; /* NULL: nobody asked for a variable */
        void (*release)(struct variables *);
};
struct symbols_beside *symbols_beside(struct symbols *s);

#endif
