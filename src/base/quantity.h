/* SPDX-License-Identifier: MIT */
/* quantity.h -- numbers, sizes and times as people write them. */
#ifndef SEEP_BASE_QUANTITY_H
#define SEEP_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* false: not of that form.  Sizes take k M G T (1024) and kB MB GB (1000), times ms s m h (default
 * s). */
bool quantity_number(const char *text, uint64_t *out);
bool quantity_size(const char *text, uint64_t *bytes);
bool quantity_time(const char *text, uint64_t *ms);

#endif
