/* SPDX-License-Identifier: MIT */
/*
 * newest.h -- which recording is meant when none is named.
 *
 * Room:   outside, cli/ only.
 */
#ifndef SEEP_CLI_NEWEST_H
#define SEEP_CLI_NEWEST_H

#include <stdbool.h>

#include "base/err.h"

/* *PATH becomes the newest *.seep file in the working directory, to be freed.  false: there is none (exit code 2). */
bool newest_recording(char **path, struct err *e);

#endif
