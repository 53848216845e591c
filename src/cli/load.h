/* SPDX-License-Identifier: MIT */
/* load.h -- the recording that a command shows, read from its file. */
#ifndef SEEP_CLI_LOAD_H
#define SEEP_CLI_LOAD_H

#include <stdbool.h>

#include "base/err.h"
#include "profile/model.h"

/* Fill P, the caller's to free, from FILE, many blocks packed (profile/packed.h); unless QUIET say when it ends early.  false: E, which tells what to do when FILE is the number of a process. */
bool load_recording(struct profile *p, const char *file, bool quiet, struct err *e);

/* P was read from FILE: say where its events are, when seep did not get to put them in. */
void load_tell_log(const struct profile *p, const char *file);

/* For views that follow pointers where P has some: blocks that can be looked at one by one. */
void load_graph(struct profile *p);

#endif
