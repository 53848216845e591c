/* SPDX-License-Identifier: MIT */
/* errors.h -- invalid frees: what happened, and to which block. */
#ifndef SEEP_QUERY_ERRORS_H
#define SEEP_QUERY_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/model.h"

/* Append "double free", "memory of new released by free or realloc". */
void errors_what(const struct profile *p, const struct profile_error *error, struct str *out);

/* The live block that an address, which is no block's, was in when it was released; site 0: there
 * is none. */
struct errors_block {
        uint64_t address, size;
        uint32_t site;
};

struct errors_block errors_around(const struct profile *p, const struct profile_error *error);

/* Whether the site that allocated what was released is known. */
bool errors_is_known(const struct profile *p, const struct profile_error *error);

/* The site that allocated what was released, or the block that an unknown address is in the
 * middle of; 0: it is not known. */
uint32_t errors_origin(const struct profile *p, const struct profile_error *error);

/* "double-free", "mismatched", "unknown-free"; NULL for what is none. */
const char *errors_word(uint32_t type);

#endif
