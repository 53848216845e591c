/* SPDX-License-Identifier: MIT */
/*
 * executable.h -- the file that the program is about to execute: whether our library may be
 * preloaded there.
 *
 * Room:   inside; any context, also in a child of vfork.  Nothing is allocated, nothing stays open.
 * Keeps:  what cannot be read is taken for one that our library fits.
 * Cost:   eleven system calls for a program that needs one library, one more for each further one
 *         (strace); always before an exec.  For those that the observer is told of, its answer.
 */
#ifndef SEEP_AGENT_EXECUTABLE_H
#define SEEP_AGENT_EXECUTABLE_H

#include <stdbool.h>

/* The file of a program, at PATH below DIRECTORY; nothing is waited for.  A negative errno: it
 * cannot be executed, or read. */
long executable_open(long directory, const char *path);

/* EXECUTABLE_ALONE: it is not to be recorded.  Else the observer is told of a program that refuses
 * us, has no loader, or may run with more rights than we have.  It tells the user, or writes an
 * agent into it: then it shall not have our library either. */
enum executable_how { EXECUTABLE_ALONE, EXECUTABLE_EXEC, EXECUTABLE_SPAWN };

/* EXECUTABLE_REFUSES: the program is made for another kind of machine, or needs a sanitizer's
 * runtime as a library.  That insists on being the first one, or hands out memory before we can
 * stand in front of it: such a program ends at its start if we are there.  Also when our library is
 * not to be found from here.  EXECUTABLE_OTHER: it is of the other word size, and so must the
 * library be. */
enum executable_fit { EXECUTABLE_FITS, EXECUTABLE_REFUSES, EXECUTABLE_OTHER };

/* ... of the program at PATH. */
enum executable_fit executable_refuses(const char *path, enum executable_how how);

/* ... of the program that execvp() and its kind find by the name FILE. */
enum executable_fit executable_refuses_name(const char *file, enum executable_how how);

/* The library for such a program; none for EXECUTABLE_REFUSES. */
const char *executable_library(enum executable_fit fit);

/* What was found not to work in the end, although it was said to refuse us: with EXECUTABLE_EXEC
 * and EXECUTABLE_SPAWN. */
void executable_stays(void);

/* That one; FILE has no slash.  false: there is none. */
#define EXECUTABLE_PATH 4096u
bool executable_find(const char *file, char path[EXECUTABLE_PATH]);

/* ... of the one that FD, or PATH below the directory FD, leads to. */
enum executable_fit executable_refuses_at(long fd, const char *path, enum executable_how how);

#endif
