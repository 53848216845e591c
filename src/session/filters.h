/* SPDX-License-Identifier: MIT */
/* filters.h -- system call filters (seccomp), as far as agents must know them. */
#ifndef SEEP_SESSION_FILTERS_H
#define SEEP_SESSION_FILTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/view.h"

/* When we run under filters ourselves, which the program inherits: write down for its agent what
 * they forbid (wire/filters.h), in DIRECTORY.  Returns the flags (WIRE_F_) that say so. */
uint32_t filters_tell(const char *directory);

/* All such files in DIRECTORY, an open one, are removed. */
void filters_remove(int directory);

/* Tell the agent of PID, whose ledger is V, how many filters its process has. */
void filters_look(const struct view *v, pid_t pid);

#endif
