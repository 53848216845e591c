/* SPDX-License-Identifier: MIT */
/* places.h -- the paths where a file of the recorded machine may be on this one, best first. */
#ifndef SEEP_NAMES_PLACES_H
#define SEEP_NAMES_PLACES_H

#include <stdbool.h>

#include "base/str.h"
#include "names/frame.h"
#include "profile/model.h"

#define PLACES_DEBUG_DIR "/usr/lib/debug" /* where debug packages put their files */

/* Told each path; true ends the walk. */
typedef bool places_visit(void *context, const char *path);

/* For WANTED (path, build id): below each debug path, below the sysroot, on this machine.
 * true when a visit ended it. */
bool places_walk(const struct profile_module *wanted, const struct symbol_options *options,
                 places_visit *visit, void *context);

/* PATH below DIR: whole, then without its leading directories one by one, each followed by
 * SUFFIX. */
bool places_below(const char *dir, const char *path, const char *suffix, places_visit *visit,
                  void *context);

#endif
