/* SPDX-License-Identifier: MIT */
/* source.h -- the text of the recorded machine's source files. */
#ifndef SEEP_NAMES_SOURCE_H
#define SEEP_NAMES_SOURCE_H

#include <stdbool.h>
#include <time.h>

#include "base/str.h"
#include "names/frame.h"

/* Fill TEXT with the source file PATH: from below the sysroot, from below a debug path with leading
 * folders left out, or as it is.  *CHANGED is when it was written last.  false: it is not there, or
 * no text of reasonable size. */
bool source_read(const struct symbol_options *names, const char *path, struct str *text,
                 time_t *changed);

/* The same with the file PATH of this machine. */
bool source_load(const char *path, struct str *text, time_t *changed);

#endif
