/* SPDX-License-Identifier: MIT */
/* engine.h -- how calls of allocation functions are seen: what users choose with --engine. */
#ifndef SEEP_ATTACH_ENGINE_H
#define SEEP_ATTACH_ENGINE_H

enum engine {
        ENGINE_AUTO,   /* what suits the program */
        ENGINE_PRELOAD, /* the agent is a library that its loader puts in front of the others */
        ENGINE_BREAKPOINT /* no agent: we stop the program at each call, from outside */
};

#endif
