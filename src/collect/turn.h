/* SPDX-License-Identifier: MIT */
/*
 * turn.h -- the numbers of a ledger from a machine of the other byte order.
 *
 * A ledger has the byte order of its program.  Everything that is read of it passes through
 * collect/view.h, which turns it here; everything that is written to it is turned as well.
 */
#ifndef SEEP_COLLECT_TURN_H
#define SEEP_COLLECT_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

/* BYTES that lie (or shall lie) at AT of PART: from the one order to the other.  Both ends are
 * boundaries of fields. */
void turn_part(enum ledger_part part, uint64_t at, void *bytes, size_t count);

static inline uint32_t turn_32(bool turned, uint32_t word)
{
        return turned ? __builtin_bswap32(word) : word;
}

static inline uint64_t turn_64(bool turned, uint64_t word)
{
        return turned ? __builtin_bswap64(word) : word;
}

#endif
