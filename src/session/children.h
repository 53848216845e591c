/* SPDX-License-Identifier: MIT */
/*
 * children.h -- the folder beside a recording for the recordings of the other processes of its run.
 *
 * Keeps:  no link is followed, and nothing is made or removed in a folder of another user.
 */
#ifndef SEEP_SESSION_CHILDREN_H
#define SEEP_SESSION_CHILDREN_H

#include <stdbool.h>

#define CHILDREN_SUFFIX ".d" /* behind the name of the recording */

/* The folder NAME in the directory PARENT, made where it is missing; -1: it cannot be had. */
int children_open(int parent, const char *name);

/* Whether there is such a folder with recordings in it. */
bool children_are_there(int parent, const char *name);

/* Remove the recordings in it, with what is left of their event logs, and then the folder, unless
 * somebody has put something else there. */
void children_clear(int parent, const char *name);

/* Remove the folder if nothing is in it. */
void children_tidy(int parent, const char *name);

#endif
