/* SPDX-License-Identifier: MIT */
/*
 * needed.h -- the nodes of a selection's tree that its stacks pass through.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_NEEDED_H
#define SEEP_REPORT_NEEDED_H

#include <stdint.h>

#include "report/select.h"

/* By node: 1 where a stack of SEL passes.  To be freed. */
uint8_t *needed_nodes(const struct selection *sel);

#endif
