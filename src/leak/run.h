/* SPDX-License-Identifier: MIT */
/* run.h -- one leak search: its steps, one after another. */
#ifndef SEEP_LEAK_RUN_H
#define SEEP_LEAK_RUN_H

#include "leak/search.h"

/* Fill G, the caller's to search_graph_free(). */
void search_run(const struct search_input *in, struct search_graph *g);
void search_graph_free(struct search_graph *g);

#endif
