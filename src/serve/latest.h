/* SPDX-License-Identifier: MIT */
/*
 * latest.h -- a running process as it was when it was last read, with names.
 *
 * Keeps:  names that were found stay from look to look.
 */
#ifndef SEEP_SERVE_LATEST_H
#define SEEP_SERVE_LATEST_H

#include "names/symbol.h"
#include "profile/model.h"

struct latest {
        struct profile *profile; /* NULL: not seen yet */
        struct symbols *symbols;
};

/* P, which is taken, is a later look.  NAMES NULL: the usual, without servers for debug files. */
void latest_take(struct latest *s, struct profile *p, const struct symbol_options *names);

/* The same for looks at several processes: the sight among COUNT of ALL that knows the names of P
 * already, else the one that was not used for longest.  It comes first then. */
struct latest *latest_take_among(struct latest *all, uint32_t count, struct profile *p,
                                 const struct symbol_options *names);

void latest_free(struct latest *s);

#endif
