/* SPDX-License-Identifier: MIT */
/*
 * engine.h -- how calls of allocation functions are seen (--engine): what the user chose, and what
 * suits the program.
 */
#ifndef SEEP_ATTACH_ENGINE_H
#define SEEP_ATTACH_ENGINE_H

#include <stdbool.h>

#include "attach/emulator.h"
#include "attach/program.h"
#include "base/err.h"

enum engine {
        ENGINE_AUTO,    /* what suits the program */
        ENGINE_PRELOAD, /* the agent is a library that its loader puts in front of the others */
        ENGINE_INJECT,  /* ... is written into it, and its functions lead there (attach/inject.h) */
        ENGINE_BREAKPOINT /* no agent: we stop the program at each call, from outside */
};

struct engine_choice {
        enum engine engine; /* in: what is wished; out: not ENGINE_AUTO */
        bool custom;        /* in: functions of its own are to be recorded (--hook) */
        bool go;            /* out: it has code of Go, whose heap nobody sees */
        struct emulation emulation; /* out: how a program of another processor is run; to be
                                     * freed */
        const char *why;    /* "it is statically linked"; NULL: the usual one, or it was wished */
};

/* Whether FILE has code of Go. */
bool engine_is_go(const char *file);

/* What the program PATH is to be recorded by.  false: it cannot be, E says why. */
bool engine_choose(struct engine_choice *c, const char *path, const struct program_user *user,
                   struct err *e);

#endif
