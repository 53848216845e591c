/* SPDX-License-Identifier: MIT */
/*
 * resolver.h -- what the rest of symbol/ needs of a resolver.
 *
 * Room:   outside, symbol/ only.
 */
#ifndef SEEP_SYMBOL_RESOLVER_H
#define SEEP_SYMBOL_RESOLVER_H

#include "symbol/module.h"
#include "symbol/symbol.h"

const struct profile *symbols_profile(const struct symbols *s);

/* The file of a module, opened when it is first asked for. */
struct module *symbols_open_module(struct symbols *s, uint32_t index);

/* RAW (a text of libdw or libelf, which does not move) as it is shown: demangled, or a path without detours.  NULL for NULL. */
const char *symbols_name(struct symbols *s, const char *raw);
const char *symbols_path(struct symbols *s, const char *raw);

/* The resolver's copy of TEXT. */
const char *symbols_keep(struct symbols *s, const char *text);

/* What variable.c keeps; made when it is first asked for. */
struct variables *symbols_variables(struct symbols *s);

#endif
