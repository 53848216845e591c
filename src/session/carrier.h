/* SPDX-License-Identifier: MIT */
/*
 * carrier.h -- how the agent gets into a program, and what depends on that: whose child the program
 * is, who reports last, how the agent leaves.
 *
 * Keeps:  rooms ask for what follows and not for the carrier, so that a new one is a new row here:
 *         a remote target.  Its way in is a file of attach/.
 *
 *                    way in                    child  one_program  last_report  borrowed
 *     preload        attach/spawn.h            yes    no           no           no
 *     breakpoint     breakpoint/breakpoint.h   yes    no           no           no
 *     plain preload  the user's LD_PRELOAD;    no     yes          yes          yes
 *                    agent/attend.h starts us
 *     injected       attach/inject.h           no     no           no           no
 *     launched       attach/launch.h           yes    no           no           no
 *     continued      attach/inject.h, where    no     no           no           no
 *                    another seep preloaded
 *
 * All leave with the program; breakpoints, and what was injected, leave when
 * recording ends before it.
 */
#ifndef SEEP_SESSION_CARRIER_H
#define SEEP_SESSION_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

struct carrier {
        const char *engine; /* its name in recordings (META), `seep info`, JSON and messages */
        const char *options; /* what the user writes in front of an option of ours */
        uint32_t flags;      /* WIRE_F_*: what the agent must know of it */
        /* The program is ours: we start it, pass signals on to it, and are told how it ended. */
        bool child;
        /* After exec the process has another observer, or none: we leave with what it was. */
        bool one_program;
        /* There is a report at its end, whatever comes, unless it asked for one itself. */
        bool last_report;
        /* There is no agent: a process of ours sets breakpoints (breakpoint/breakpoint.h). */
        bool breakpoints;
        /* It was there before us, and goes on without us: at the end the agent is taken out
         * again. */
        bool leaves;
        /* Our environment, folders and terminal are the program's, which did not ask for us. */
        bool borrowed;
};

extern const struct carrier carrier_preload;       /* seep record PROGRAM */
extern const struct carrier carrier_breakpoint;    /* seep record --engine breakpoint PROGRAM */
extern const struct carrier carrier_injected;      /* seep attach PID */
extern const struct carrier carrier_continued;     /* seep attach PID, preloaded by another seep */
extern const struct carrier carrier_launched;      /* seep record PROGRAM, by injection */
extern const struct carrier carrier_plain_preload; /* LD_PRELOAD=libseep.so PROGRAM */

#endif
