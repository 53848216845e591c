/* SPDX-License-Identifier: MIT */
/* survivors.h -- allocated after one mark and still live at another. */
#ifndef SEEP_QUERY_SURVIVORS_H
#define SEEP_QUERY_SURVIVORS_H

#include "profile/model.h"
#include "query/moment.h"
#include "query/select.h"

/* Whether P tells it: both are marks that the program itself made, or TO is the end, and
 * P has its list of blocks. */
bool survivors_known(const struct profile *p, const struct moment *from, const struct moment *to);

/* Fill the heap's ROWS (by site) anew: calls are those between the two moments, freed is what
 * died of these before TO, live is the rest.  Of mmap and of resources only births are known:
 * their rows get what of the range is left at the end, and are left alone (how much more
 * there is) when TO is a mark. */
void survivors_count(struct select_row *rows, const struct profile *p, const struct moment *from,
                     const struct moment *to);

#endif
