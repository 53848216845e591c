/* SPDX-License-Identifier: MIT */
/* load.h -- the recording that a command reads: a file, or a running process. */
#ifndef SEEP_CLI_LOAD_H
#define SEEP_CLI_LOAD_H

#include <stdbool.h>

#include "base/err.h"
#include "profile/model.h"
#include "session/ask.h"

/* How it is read; all but the first and the last matter for a process only.  Without one of them:
 * with each live block. */
#define LOAD_QUIET 1u    /* no sentences about what is missing */
#define LOAD_COUNTS 2u   /* without single blocks */
#define LOAD_SEARCHED 4u /* searched for leaks now, where that can be done; else it is told why
                          * not */
#define LOAD_GRAPH 8u    /* the same, with all pointers */
#define LOAD_EVENTS 16u  /* with what the numbers in its event log mean */
#define LOAD_END 32u     /* without its course and what single threads did */

/* A recording, as the user named it. */
struct load_source {
        const char *name;
        bool quiet, end;    /* LOAD_QUIET, LOAD_END */
        uint32_t pid;       /* the process that is being recorded; 0: a file */
        const char *path;   /* to read it from, until it is closed */
        const char *folder; /* of a process: where its event log is; NULL there is none */
        struct ask_image image;
};

/* OPERAND is a file or, when it is digits and no such file is there (./DIGITS always is one), a
 * process that is being recorded, or the seep that records it.  HOW: LOAD_*.  load_close() is due
 * in any case. */
bool load_open(struct load_source *s, const char *operand, unsigned how, struct err *e);
void load_close(struct load_source *s);

/* Fill P, the caller's to free; many blocks stay packed (profile/packed.h). */
bool load_read(const struct load_source *s, struct profile *p, struct err *e);

/* All three: fill P from OPERAND. */
bool load_recording(struct profile *p, const char *operand, unsigned how, struct err *e);

/* Fill P, the caller's to free, with the search for leaks that FILE kept of the moment WHEN, as
 * --at names it: of a snapshot, or the one nearest to a time.  "end": the recording itself. */
bool load_kept(struct profile *p, const char *file, const char *when, struct err *e);

/* Unless P was searched at its end: that FILE has searches of other moments. */
void load_tell_kept(const struct profile *p, const char *file);

/* Whether PID is being recorded, by whatever engine: the agent need not show in its maps. */
bool load_is_recorded(uint32_t pid);

/* Search *PID for leaks now (FLAGS: WIRE_SCAN_*) and fill P, the caller's to free: by whoever
 * records it, or without a recording.  *PID may be the seep that records it. */
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

#endif
