/* SPDX-License-Identifier: MIT */
/*
 * start.h -- which frames of a stack are start code: what runs before main or before
 * the function of a thread.
 */
#ifndef SEEP_NAMES_START_H
#define SEEP_NAMES_START_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"

/* By node of P: 1 start code, 0 other code.  The caller's to free. */
uint8_t *start_find(const struct profile *p, struct symbols *s);

#endif
