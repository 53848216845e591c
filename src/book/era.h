/* SPDX-License-Identifier: MIT */
/*
 * era.h -- marks, and blocks born and freed between them: counted per site, era of birth and era of
 * death.
 *
 * Room:   both sides; any context, signal handlers too.
 * Keeps:  a mark raises the clock, so that no block born before it has the birth time of one born
 *         after it.
 * Cost:   nothing before the first mark; then a hash look-up per release of a younger block.
 */
#ifndef SEEP_BOOK_ERA_H
#define SEEP_BOOK_ERA_H

#include "book/book.h"

#define ERA_NO_MARK UINT32_MAX

/* Add mark M at NOW_MS, or a little later; its index, or ERA_NO_MARK when there is no room for its
 * type. */
uint32_t era_mark(struct book *k, const struct ledger_mark *m, uint32_t now_ms);

/* The era of a block born at BIRTH_MS, and the present one. */
uint32_t era_of(const struct book *k, uint32_t birth_ms);
uint32_t era_now(const struct book *k);

/* BLOCKS, each like B, are being released. */
void era_death(struct book *k, const struct ledger_block *b, uint64_t blocks);

#endif
