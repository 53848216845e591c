/* SPDX-License-Identifier: MIT */
/*
 * apart.h -- libraries in namespaces apart (dlmopen): they have a C library of their own,
 * whose malloc is not ours.
 *
 * Room:   inside; called by the program, and before its end.
 * Keeps:  what a call of dlmopen comes to is not seen: the real function must find the program's
 *         address as the one that it returns to.  So each call counts, until a look at the map
 *         shows how many C libraries there are more than before.
 */
#ifndef SEEP_AGENT_APART_H
#define SEEP_AGENT_APART_H

#include <stdbool.h>

/* A library is about to be loaded into a namespace, a FRESH one or one that there is. */
void apart_called(bool fresh);

/* Which of these calls were in vain?  Before libraries go and before the program does. */
void apart_settle(void);

/* Libraries went. */
void apart_closed(void);

#endif
