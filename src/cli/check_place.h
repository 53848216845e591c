/* SPDX-License-Identifier: MIT */
/*
 * check_place.h -- a folder for the recordings that `seep check` makes and nobody asked for.
 *
 * Keeps:  the folder of a check that was killed is removed when the next one begins; that of one that ended keeps what broke a budget.
 */
#ifndef SEEP_CLI_CHECK_PLACE_H
#define SEEP_CLI_CHECK_PLACE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct check_place {
        char *directory;
        int mark;           /* a file in it, locked as long as we live */
        struct str pattern; /* for record -o */
};

/* Make one below $TMPDIR or /tmp.  false: E. */
bool check_place_make(struct check_place *p, struct err *e);

/* Remove the files for which KEEP says no, and the folder when it is empty then. */
void check_place_clear(const struct check_place *p, bool (*keep)(const void *context, const char *path), const void *context);

void check_place_free(struct check_place *p);

#endif
