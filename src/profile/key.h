/* SPDX-License-Identifier: MIT */
/*
 * key.h -- keys of call stacks and names that are the same each time a process is read.
 *
 * Two of some thousand keys are equal with a probability of some 10^-12.
 */
#ifndef SEEP_PROFILE_KEY_H
#define SEEP_PROFILE_KEY_H

#include <stdint.h>

#include "profile/model.h"

/* KEY with a further part. */
uint64_t key_add(uint64_t key, uint64_t part);
uint64_t key_add_text(uint64_t key, const char *text);

/* By node: a key of its whole stack, whatever numbers nodes and modules have in P, and wherever its
 * libraries are loaded.  To be freed. */
uint64_t *key_of_nodes(const struct profile *p);

#endif
