/* SPDX-License-Identifier: MIT */
/*
 * holders.h -- telling which path to a block is the right one: "path NAME KIND VARIABLE LINE
 * FUNCTION ADDRESS/MEMBER ..." on descriptor 3.
 *
 * One ADDRESS for each block on the way, root first, with the member of what is before it that
 * points there ("-" none).  LINE 0 and FUNCTION "-": none.
 */
#ifndef SEEP_TESTS_HOLDERS_H
#define SEEP_TESTS_HOLDERS_H

#include "truth.h"

/* Then a STEP for each block, then PATH_END. */
#define PATH(name, kind, variable, line, function) \
        truth_say("path %s %s %s %d %s", name, kind, variable, line, function)
#define STEP(address, member) truth_say(" %p/%s", (void *)(address), member)
#define PATH_END() truth_say("\n")

#endif
