/* SPDX-License-Identifier: MIT */
/* signals.h -- signals by name: USR1, SIGUSR1, RTMIN+3, 10. */
#ifndef SEEP_BASE_SIGNALS_H
#define SEEP_BASE_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SIGNALS_NAME_BYTES 24u

/* The signal that TEXT names, as one that may ask for a snapshot; 0 for "none".  false with E
 * filled: there is no such signal, or it cannot serve for that. */
bool signals_parse(const char *text, uint32_t *out, struct err *e);

/* "SIGUSR1" for 10; OUT has SIGNALS_NAME_BYTES. */
void signals_name(uint32_t number, char *out);

#endif
