/* SPDX-License-Identifier: MIT */
/*
 * stopped.h -- the stack frames of stopped threads: which function has which part of the stack.
 *
 * Room:   outside, in the process that makes a search.
 * Cost:   some milliseconds for the first thread (unwind tables of the modules on its stack are
 *         read), little for others.
 */
#ifndef SEEP_SCAN_STOPPED_H
#define SEEP_SCAN_STOPPED_H

#include <stdbool.h>

#include "attach/freeze.h"
#include "collect/view.h"
#include "profile/model.h"

struct stopped;

/* Never fails: without unwind tables there are no frames.  V tells which module our own library is.
 * All must outlive the result. */
struct stopped *stopped_open(const struct freeze *f, const struct profile *p, const struct view *v);
void stopped_close(struct stopped *s);

/* Fill P's frames. */
void stopped_frames(struct stopped *s, struct profile *p);

/* The outermost frame of each thread has the rest of its stack: P's roots are known by now. */
void stopped_end_frames(struct profile *p);

/* T called the C library, that called us: put T back to where it did so.  Its stack pointer
 * becomes that of the program's innermost function, its registers what they are worth there.
 * false: the way there is not known. */
bool stopped_return(struct stopped *s, struct freeze_thread *t);

#endif
