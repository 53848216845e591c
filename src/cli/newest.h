/* SPDX-License-Identifier: MIT */
/* newest.h -- the newest recording, used when none is named. */
#ifndef SEEP_CLI_NEWEST_H
#define SEEP_CLI_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* *PATH becomes the newest *.seep file in the working directory, to be freed.  false:
 * there is none (exit code 2). */
bool newest_recording(char **path, struct err *e);

/* Whether OPERAND (NULL: none) is a process: digits that name no file. */
bool newest_is_process(const char *operand, uint32_t *pid);

/* Which recording and which moment of it OPERAND means: FILE (its end), FILE@WHEN, or
 * @WHEN, which is of OTHER or (NULL) of the newest one here.  *PATH is to be freed, *WHEN
 * lives as long as OPERAND. */
bool newest_or_named(const char *operand, const char *other, char **path, const char **when,
                     struct err *e);

#endif
