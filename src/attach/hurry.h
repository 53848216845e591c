/* SPDX-License-Identifier: MIT */
/*
 * hurry.h -- a thread that goes before all others for a moment.
 *
 * Room:   outside.  While a process stands still, each of our microseconds is one of its.
 */
#ifndef SEEP_ATTACH_HURRY_H
#define SEEP_ATTACH_HURRY_H

#include <sys/types.h>

struct hurry {
        pid_t tid; /* 0: nothing was changed */
        int policy, nice;
};

/* Raise the priority of TID, where that is permitted; a thread with a special one is left alone. */
void hurry_begin(struct hurry *h, pid_t tid);

/* As before; more than once does no harm. */
void hurry_end(struct hurry *h);

#endif
