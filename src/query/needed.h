/* SPDX-License-Identifier: MIT */
/*
 * needed.h -- the nodes of a selection's tree that its stacks pass through.
 *
 * Room:   outside.
 */
#ifndef SEEP_QUERY_NEEDED_H
#define SEEP_QUERY_NEEDED_H

#include <stdint.h>

#include "query/select.h"

/* By node: 1 where a stack of SEL passes.  To be freed. */
uint8_t *needed_nodes(const struct selection *sel);

#endif
