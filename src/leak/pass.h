/* SPDX-License-Identifier: MIT */
/* pass.h -- one pass over all memory that is searched, in large reads. */
#ifndef SEEP_LEAK_PASS_H
#define SEEP_LEAK_PASS_H

#include "leak/index.h"

/* All links and holds of IN, in the order of roots, and of blocks.  G has first[] and vtables[],
 * all zero; first[i + 1] becomes the number of links of block i.  Returns the owner of each link
 * when blocks lie in one another, to be freed; else NULL. */
uint32_t *pass_run(const struct search_input *in, const struct index *x, struct search_graph *g);

#endif
