/* SPDX-License-Identifier: MIT */
/*
 * suppressions.h -- suppressions that the program itself contains: __lsan_default_suppressions().
 *
 * Keeps:  nothing of the program is run.  The function is found in the symbol table of
 *         its file, and its code is read: it returns the address of a text, which
 *         compilers do in one instruction.
 */
#ifndef SEEP_SCAN_SUPPRESSIONS_H
#define SEEP_SCAN_SUPPRESSIONS_H

#include "attach/freeze.h"
#include "profile/model.h"

/* Lines "leak:..."; "" when the program has none.  To be freed. */
char *suppressions_of_program(const struct freeze *f, const struct profile *p);

#endif
