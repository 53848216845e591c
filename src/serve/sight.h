/* SPDX-License-Identifier: MIT */
/*
 * sight.h -- a running process as it was at the last look, with the names in it.
 *
 * Room:   outside, serve/ only.
 * Keeps:  names that were found stay from look to look.
 */
#ifndef SEEP_SERVE_SIGHT_H
#define SEEP_SERVE_SIGHT_H

#include "names/symbol.h"
#include "profile/model.h"

struct sight {
        struct profile *profile; /* NULL: not seen yet */
        struct symbols *symbols;
};

/* P, which is taken, is a later look.  NAMES NULL: the usual, without servers for debug files. */
void sight_take(struct sight *s, struct profile *p, const struct symbol_options *names);

/* The same for looks at several processes: the sight among COUNT of ALL that knows the names of P already, else the one that was not used for
 * longest.  It comes first then. */
struct sight *sight_take_among(struct sight *all, uint32_t count, struct profile *p, const struct symbol_options *names);

void sight_free(struct sight *s);

#endif
