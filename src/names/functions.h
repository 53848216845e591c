/* SPDX-License-Identifier: MIT */
/*
 * functions.h -- the names of all functions of a module, called or not.
 *
 * Room:   outside.
 * Keeps:  functions that were inlined everywhere are not among them: symbol tables do not have them.
 */
#ifndef SEEP_NAMES_FUNCTIONS_H
#define SEEP_NAMES_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"

/* Who looks for a function. */
struct functions_wish {
        void *context;
        bool (*fits)(void *context, const char *name);
        uint64_t seen; /* names that were looked at */
};

/* Whether a function of MODULE fits. */
bool functions_have(struct symbols *s, uint32_t module, struct functions_wish *w);

#endif
