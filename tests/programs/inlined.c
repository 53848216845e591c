/* SPDX-License-Identifier: MIT */
/*
 * inlined.c -- optimised code: functions that vanish into their callers, and calls that became
 * jumps.
 *
 * Room:   tests only; compiled with -O2.  In "stack" lines (name) is an inlined frame.
 */
#include "truth.h"

#include <stdlib.h>

static void *volatile keep;
static volatile int sink;

#define INLINE static inline __attribute__((always_inline))
#define FRAME __attribute__((noinline))

INLINE void innermost(void)
{
        keep = malloc(8001);
        sink++;
}

INLINE void middle(void)
{
        innermost();
        sink++;
}

FRAME void host(void);
FRAME void host(void)
{
        middle();
        sink++;
}

/* The caller of `target` is gone from the stack: it jumped. */
FRAME void target(void);
FRAME void target(void)
{
        keep = malloc(8002);
        sink++;
}

FRAME void jumper(void);
FRAME void jumper(void)
{
        sink++;
        target();
}

FRAME void caller_of_jumper(void);
FRAME void caller_of_jumper(void)
{
        jumper();
        sink++;
}

int main(void)
{
        truth_say("stack 8001 (innermost) (middle) host main\nstack 8002 target caller_of_jumper "
                  "main\n");
        host();
        caller_of_jumper();
        return 0;
}
