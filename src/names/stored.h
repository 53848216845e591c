/* SPDX-License-Identifier: MIT */
/*
 * stored.h -- names stored in the recording, so that it can be read without any other file.
 */
#ifndef SEEP_NAMES_STORED_H
#define SEEP_NAMES_STORED_H

#include "names/symbol.h"
#include "profile/model.h"

/* Look up every address of the stacks of P, which S resolves.  The names found become *SYMBOLS, in
 * the order of struct profile; the caller's to put there after symbols_free(). */
uint32_t stored_collect(struct symbols *s, const struct profile *p,
                        struct profile_symbol **symbols);

/* P's names become SYMBOLS, which are moved. */
void stored_replace(struct profile *p, struct profile_symbol *symbols, uint32_t count);

/* Index of the first of the names stored for an address, and how many there are. */
uint32_t stored_find(const struct profile *p, uint32_t module, uint64_t address, uint32_t *first);

bool stored_has_lines(const struct profile *p, uint32_t module);

#endif
