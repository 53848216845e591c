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

/* BLOCKS of SITE with BYTES in all, born at BIRTH_MS, are being released. */
void death_note(uint32_t site, uint32_t birth_ms, uint64_t blocks, uint64_t bytes);

#endif
