/* SPDX-License-Identifier: MIT */
/*
 * copy.h -- a copy of a stopped process: same memory, never runs, and no child that the process
 * could notice.
 *
 * Room:   outside; the tracer.
 *
 *     thread --clone(CLONE_VM)--> helper --clone()--> the copy
 *       |                           ends at once, so that the copy has no parent left in the
 *                                   process
 *       wait4(helper): no zombie; no signal, because clone was told to send none
 */
#ifndef SEEP_ATTACH_COPY_H
#define SEEP_ATTACH_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/hold.h"
#include "attach/mappings.h"
#include "base/err.h"

/* The copy is traced by us and ends with us.  0: not possible, E says why, all is as before. */
pid_t copy_make(struct hold *h, const struct mappings *maps, struct err *e);

void copy_end(pid_t copy);

#endif
