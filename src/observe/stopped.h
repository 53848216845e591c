/* SPDX-License-Identifier: MIT */
/*
 * stopped.h -- the frames of threads that stand still: which function has which part of the stack.
 *
 * Room:   outside.  Called by observe/scan.c, in the scanning process.
 * Cost:   some milliseconds for the first thread (unwind tables of the modules on its stack are read), little for others.
 */
#ifndef SEEP_OBSERVE_STOPPED_H
#define SEEP_OBSERVE_STOPPED_H

#include "attach/freeze.h"
#include "profile/model.h"

/* Fill P's frames; its modules must be there. */
void stopped_frames(const struct freeze *f, struct profile *p);

#endif
