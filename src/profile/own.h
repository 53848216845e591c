/* SPDX-License-Identifier: MIT */
/*
 * own.h -- memory of a process that belongs to seep and is there for the recording only
 *
 * Room:   outside.  The ledger, and the agent with its zeroed data, which have no name and lie
 *         behind the rest of it.
 */
#ifndef SEEP_PROFILE_OWN_H
#define SEEP_PROFILE_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* Whether M, of the mappings of P, is. */
bool own_mapping(const struct profile *p, const struct profile_mapping *m);

/* What was resident at the last look at the mappings, without those. */
uint64_t own_resident_beside(const struct profile *p);

#endif
