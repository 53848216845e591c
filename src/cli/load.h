/* SPDX-License-Identifier: MIT */
/* load.h -- the recording that a command shows, read from its file. */
#ifndef SEEP_CLI_LOAD_H
#define SEEP_CLI_LOAD_H

#include <stdbool.h>

#include "base/err.h"
#include "profile/model.h"

/* Fill P, the caller's to free, from FILE, many blocks packed (profile/packed.h); unless QUIET say when it ends early.  false: E, which tells what to do when FILE is the number of a process. */
bool load_recording(struct profile *p, const char *file, bool quiet, struct err *e);

/* Search *PID for leaks now (FLAGS: WIRE_SCAN_*) and fill P, the caller's to free: by whoever records it, or without a recording.  *PID
 * may be the seep that records it. */
bool load_search(struct profile *p, uint32_t *pid, uint32_t flags, struct err *e);

/* A core file, and what belongs to it. */
struct load_core {
        const char *core;
        const char *recording; /* of the same process: for stacks; NULL none */
        const char *exe, *sysroot; /* as in struct core_files */
        uint32_t flags; /* WIRE_SCAN_* */
        bool quiet;
};

/* Search the core file of C and fill P, the caller's to free.  Says what is missing in it. */
bool load_core(struct profile *p, const struct load_core *c, struct err *e);

/* Unless QUIET: P has no call stacks because nobody recorded it; how to get them. */
void load_tell_walk(const struct profile *p, bool quiet);

/* P was read from FILE: say where its events are, when seep did not get to put them in. */
void load_tell_log(const struct profile *p, const char *file);

/* For views that follow pointers where P has some: blocks that can be looked at one by one. */
void load_graph(struct profile *p);

#endif
