/* SPDX-License-Identifier: MIT */
/*
 * entries.h -- the addresses of functions in a running process, by name.
 *
 * Room:   outside; the process may run or stand still.
 * Keeps:  dynamic symbols are read from its memory, as its loader has them: no file is needed.  A
 *         program that is linked statically has only those of its file.  Of several functions with
 *         one name the first counts, in the order in which the loader would search.  No byte of
 *         either is trusted.
 */
#ifndef SEEP_ATTACH_ENTRIES_H
#define SEEP_ATTACH_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/memory.h"
#include "base/err.h"

#define ENTRIES_NOWHERE UINT32_MAX

/* One name that is looked for. */
struct entries_name {
        const char *name;
        uint64_t address; /* 0: there is none */
        uint64_t size;    /* as its symbol says; 0 unknown */
        uint64_t room;    /* from there to the next symbol; 0 unknown */
        uint32_t object;  /* in which object, counted as the loader has them; ENTRIES_NOWHERE */
        bool data;        /* in: a variable, not a function */
};

struct entries {
        struct entries_name *names;
        uint32_t count;
        bool narrow;      /* in: words of the process have 4 bytes */
        uint32_t objects; /* there are so many */
        uint64_t list;    /* what the loader tells debuggers (struct r_debug) is there; 0 unknown */
        uint64_t beside;  /* a function that is in the object file of glibc's
                           * malloc, and in no other; 0 */
        bool dynamic;     /* the program has a loader, whose list was read */
        bool *plain; /* by object: its operators are those of a C++ library, or an allocator's */
};

/* Fill E->names, which is sorted first.  M: the memory of the process PID. */
bool entries_find(struct entries *e, pid_t pid, const struct memory *m, struct err *err);

/* The one called NAME, which was looked for; NULL. */
const struct entries_name *entries_get(const struct entries *e, const char *name);

/* The first object in the loader's list, and whether that is complete; 0: there is none. */
uint64_t entries_first_loaded(const struct entries *e, const struct memory *m, bool *settled);

void entries_free(struct entries *e);

#endif
