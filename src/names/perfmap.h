/* SPDX-License-Identifier: MIT */
/*
 * perfmap.h -- functions of scripts: the names in maps that run-time compilers write for perf, in
 * readable form.
 *
 *      in the map                                  function            script
 *      ----------                                  --------            ------
 *      py::leak:/srv/me/p.py                      leak (p.py)         /srv/me/p.py
 *      LazyCompile:*grow /srv/me/grow.js:1:15     grow (grow.js)      /srv/me/grow.js
 *      Lcom/acme/Main;::leak                       com.acme.Main.leak  -
 */
#ifndef SEEP_NAMES_PERFMAP_H
#define SEEP_NAMES_PERFMAP_H

#include <stdbool.h>

#include "base/str.h"
#include "profile/model.h"

/* Append what RAW, a name of such a map, is called, and the path of its script, if it has one. */
void perfmap_read(const char *raw, struct str *function, struct str *script);

enum interpreter { INTERPRETER_NONE, INTERPRETER_PYTHON, INTERPRETER_NODE, INTERPRETER_JAVA };

/* Whose code the file at PATH (NULL: none) is. */
enum interpreter interpreter_of(const char *path);

/* Whether functions of the scripts that WHICH executes are in the map of P. */
bool interpreter_is_named(const struct profile *p, enum interpreter which);

#endif
