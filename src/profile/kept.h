/* SPDX-License-Identifier: MIT */
/*
 * kept.h -- leak searches that were made while the program ran, kept in its recording.
 *
 * Keeps:  each is a whole recording of its moment (as `seep leaks PID` gets it), in sections that
 *         are no part of the model: all that shows a recording shows it.
 */
#ifndef SEEP_PROFILE_KEPT_H
#define SEEP_PROFILE_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/model.h"

struct kept_search {
        uint64_t ms;
        uint32_t when; /* enum profile_scan_when */
        uint32_t seq;  /* of the snapshot that asked for it; 0 none */
        uint64_t bytes; /* of its recording */
};

#define KEPT_MOST 256u /* searches of a file that are read */

struct kept_list {
        struct kept_search *at; /* as they are in the file */
        uint32_t count;
};

/* Append the recording in the file FD to P->kept, as S tells (but for its bytes).  false: it cannot
 * be read. */
bool kept_add(struct profile *p, int fd, const struct kept_search *s);

/* The searches that the recording PATH has; none where it cannot be read.  To be freed with
 * kept_free(). */
void kept_find(struct kept_list *l, const char *path);
void kept_free(struct kept_list *l);

/* Fill P, the caller's to free, with search NUMBER of PATH. */
bool kept_read(struct profile *p, const char *path, uint32_t number, struct err *e);

#endif
