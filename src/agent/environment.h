/* SPDX-License-Identifier: MIT */
/*
 * environment.h -- our variables: taken out of what the program sees, and given to the
 * programs that it starts.
 *
 * Room:   inside; hidden by our constructor, which runs before all code of the program; the rest in
 *         any context, also in a child of vfork, which shares our memory.
 * Keeps:  the program's environment is what it would be without us: same entries, same order.
 *         Their text stays where the kernel put it, for /proc/PID/environ, by which commands find
 *         the session.  Programs that the user gave the library by hand (plain LD_PRELOAD) see the
 *         variables that the user set, and we add none.
 */
#ifndef SEEP_AGENT_ENVIRONMENT_H
#define SEEP_AGENT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Programs that this one starts are to be of SESSION, the value of SEEP_SESSION.  False: it is too
 * long. */
bool environment_remember(const char *session);

/* The same, and take our variables out of ENV, which the kernel put on the stack.  SESSION is the
 * value of the one that led us here. */
void environment_hide(char **env, const char *session);

/* Programs that this process becomes find what is known of its filters in file
 * NUMBER (wire/filters.h). */
void environment_filters(uint32_t number);

/* Who becomes another program: this process (or a child of vfork, or a forked one), or a
 * child that the call makes. */
enum environment_who { ENVIRONMENT_EXEC, ENVIRONMENT_CHILD };

/* What ENV needs in memory with our variables in it, LIBRARY (executable.h) among them; 0: it is to
 * be passed on as it is, because the new program is not to be recorded (--follow=none: children of
 * the process that was started), or ENV names a session already, is too long, or cannot be read. */
size_t environment_bytes(char *const *env, enum environment_who who, const char *library);

/* Whether a program that this process, or a child of vfork, becomes with ENV is to be recorded. */
bool environment_leads_on(char *const *env);

/* ENV with our variables, in MEMORY of that many bytes. */
char **environment_extend(char *const *env, void *memory, const char *library);

/* What a program gets that is started with ENV, in memory that lasts as long as the
 * function that this stands in.  LIBRARY is NULL: it refuses us. */
#define ENVIRONMENT_FOR(who, env, library)                                     \
        ({                                                                     \
                const char *library_ = library;                                \
                size_t bytes_ = library_ ? environment_bytes(env, who, library_) : 0; \
                                                                               \
                bytes_ ? environment_extend(env, __builtin_alloca(bytes_), library_) \
                       : (char **)(env);                                       \
        })

/* The program's own environment, as it is now. */
char **environment_now(void);

/* Around calls of the C library that start a program without asking us: the program's environment
 * has our variables meanwhile, for all its threads.  (For good, if the call does not return because
 * its thread was cancelled.)  What the program changes then is kept. */
void environment_lend(void);
void environment_give_back(void);

#endif
