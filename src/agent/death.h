/* SPDX-License-Identifier: MIT */
/*
 * death.h -- blocks born and freed between marks, counted per site, era of birth and era of death.
 *
 * Room:   inside; any context.
 * Cost:   nothing before the first mark; afterwards a hash look-up per release of a block younger than it.
 */
#ifndef SEEP_AGENT_DEATH_H
#define SEEP_AGENT_DEATH_H

#include <stdint.h>

/* A block of SITE with SIZE bytes, born at BIRTH_MS, is being released. */
void death_note(uint32_t site, uint32_t birth_ms, uint64_t size);

#endif
