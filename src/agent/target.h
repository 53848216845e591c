/* SPDX-License-Identifier: MIT */
/*
 * target.h -- what the program is about to become: whether our library may be preloaded there.
 *
 * Room:   inside; any context, also in a child of vfork.  Nothing is allocated, nothing stays open.
 * Keeps:  what cannot be read is believed to bear us.
 * Cost:   eleven system calls for a program that needs one library, one more for each further one
 *         (strace); always before an exec.  For those that the observer is told of, its answer.
 */
#ifndef SEEP_AGENT_TARGET_H
#define SEEP_AGENT_TARGET_H

#include <stdbool.h>

/* The file of a program, at PATH below DIRECTORY; nothing is waited for.  A negative errno: it
 * cannot be executed, or read. */
long target_open(long directory, const char *path);

/* TARGET_ALONE: it is not to be recorded.  Else the observer is told of a program that refuses us,
 * has no loader, or may run with more rights than we have.  It tells the user, or writes an agent
 * into it: then it shall not have our library either. */
enum target_how { TARGET_ALONE, TARGET_EXEC, TARGET_SPAWN };

/* TARGET_REFUSES: the program is made for another kind of machine, or needs a sanitizer's runtime
 * as a library.  That insists on being the first one, or hands out memory before we can stand in
 * front of it: such a program ends at its start if we are there.  Also when our library is not to
 * be found from here.  TARGET_OTHER: it is of the other word size, and so must the library be. */
enum target_fit { TARGET_BEARS, TARGET_REFUSES, TARGET_OTHER };

/* ... of the program at PATH. */
enum target_fit target_refuses(const char *path, enum target_how how);

/* ... of the program that execvp() and its kind find by the name FILE. */
enum target_fit target_refuses_name(const char *file, enum target_how how);

/* The library for such a program; none for TARGET_REFUSES. */
const char *target_library(enum target_fit fit);

/* What was found not to work in the end, although it was said to refuse us: with TARGET_EXEC and
 * TARGET_SPAWN. */
void target_stays(void);

/* That one; FILE has no slash.  false: there is none. */
#define TARGET_PATH 4096u
bool target_find(const char *file, char path[TARGET_PATH]);

/* ... of the one that FD, or PATH below the directory FD, leads to. */
enum target_fit target_refuses_at(long fd, const char *path, enum target_how how);

#endif
