/* SPDX-License-Identifier: MIT */
/*
 * mark.h -- named moments: tags, snapshots, the signal, the exit.
 *
 * Room:   inside; any context, signal handlers too.
 * Keeps:  the marks themselves are the book's (book/era.h); waiting for who serves them is here.
 */
#ifndef SEEP_AGENT_MARK_H
#define SEEP_AGENT_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "book/era.h"

/* Add a mark of TYPE with LABEL (NULL none) and LEDGER_MARK_WAITED or 0 in FLAGS; its index, or
 * ERA_NO_MARK when there is no room. */
uint32_t mark_add(enum ledger_mark_type type, const char *label, uint32_t flags);

/* Wait until the observer has served MARK: its numbers are taken, its report is written.  Gives up
 * when nobody observes any more. */
void mark_wait(uint32_t mark);

/* Knock at the observer's door and wait until *WORD, which it raises, is above PASSED; false:
 * nobody observes any more. */
bool mark_wait_word(uint32_t *word, uint32_t passed);

/* Whether waiting for tags has cost little enough so far that one more may wait. */
bool mark_may_wait(void);

#endif
