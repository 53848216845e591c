/* SPDX-License-Identifier: MIT */
/* foreign.h -- recognizing files of other programs, to name them in the error message. */
#ifndef SEEP_PROFILE_FOREIGN_H
#define SEEP_PROFILE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Fill E with what the SIZE bytes at DATA look like and which tool opens them; false, always. */
bool foreign_explain(const void *data, size_t size, const char *name, struct err *e);

#endif
