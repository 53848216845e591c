/* SPDX-License-Identifier: MIT */
/*
 * jit.h -- names of run-time compiled code, from the map that compilers write for perf
 * (/tmp/perf-PID.map).
 *
 * Keeps:  the file is the program's: it must belong to its user or to root and be younger than the
 *         process; no link is followed, what makes no sense is passed over, and only the names of
 *         addresses in recorded stacks are kept.
 */
#ifndef SEEP_COLLECT_JIT_H
#define SEEP_COLLECT_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

struct jit {
        int fd;                  /* of the map, once it was seen; -1 */
        uint32_t pid, inner_pid; /* as we see the process, and as it sees itself in its namespace */
        bool asked;      /* for what follows, and INNER_PID */
        uint32_t user;
        int64_t start_s; /* when the process began, realtime */
};

/* While the process lives. */
void jit_init(struct jit *j, uint32_t pid);
void jit_close(struct jit *j);

/* Open the map if the program has begun one: later it may be in a place that we cannot reach any
 * more. */
void jit_look(struct jit *j);

/* P, which has its modules and stacks, gets the names of what lies in no file. */
void jit_read(struct jit *j, struct profile *p);

/* The same from the BYTES of a map at TEXT, which is changed. */
void jit_parse(char *text, size_t bytes, struct profile *p);

#endif
