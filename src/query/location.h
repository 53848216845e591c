/* SPDX-License-Identifier: MIT */
/* location.h -- which source files are the user's own, and their paths in the user's tree. */
#ifndef SEEP_QUERY_LOCATION_H
#define SEEP_QUERY_LOCATION_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* The folder that paths are relative to. */
struct location_root {
        char *path; /* absolute, without a slash at its end; "" is the whole machine */
};

/* DIRECTORY; NULL: the top of the git repository around the working directory, or that
 * itself.  false: E (exit code 2). */
bool location_find_root(struct location_root *root, const char *directory, struct err *e);
void location_free(struct location_root *root);

/* Append the path of FILE relative to ROOT.  false, and nothing added: it is not below
 * ROOT, or belongs to the system (/usr/include below a root of "/").  A relative FILE
 * counts when it is there. */
bool location_relative(const struct location_root *root, const char *file, struct str *out);

/* Whether an absolute PATH is the system's: a library or header that came with it. */
bool location_is_system(const char *path);

#endif
