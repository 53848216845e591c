/* SPDX-License-Identifier: MIT */
/*
 * marks.h -- the named moments in a ledger, and the blocks that were born and freed between them.
 */
#ifndef SEEP_COLLECT_MARKS_H
#define SEEP_COLLECT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"
#include "profile/model.h"

/* A longer label is cut off. */
#define MARKS_LABEL_BYTES 256u

/* Mark INDEX of the ledger, without slice and seq; the label is the caller's to free().  false: not
 * there, or not written completely yet.  V must be fresh (view_refresh). */
bool marks_read(const struct view *v, uint32_t index, struct profile_mark *out);

/* The text at AT of STRINGS, at most MOST bytes of it; the caller's to free(). */
char *marks_text(const struct view *v, uint32_t at, uint32_t most);

/* Fill P's deaths, sorted by site, birth, death; sites are translated by SITE_MAP. */
void marks_deaths(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                  struct profile *p);

#endif
