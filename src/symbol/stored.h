/* SPDX-License-Identifier: MIT */
/*
 * stored.h -- names put into the recording itself, so that it can be read without any other file.
 *
 * Room:   outside.  Called by cli/cmd_symbolize.c.
 */
#ifndef SEEP_SYMBOL_STORED_H
#define SEEP_SYMBOL_STORED_H

#include "profile/model.h"
#include "symbol/symbol.h"

/* Look up every address of the stacks of P, which S resolves.  The names found become *SYMBOLS, in the order of
 * struct profile; the caller's to put there after symbols_free(). */
uint32_t stored_collect(struct symbols *s, const struct profile *p, struct profile_symbol **symbols);

/* P's names become SYMBOLS, which are moved. */
void stored_replace(struct profile *p, struct profile_symbol *symbols, uint32_t count);

#endif
