/* SPDX-License-Identifier: MIT */
/*
 * segments.h -- address ranges in which later entries replace earlier ones.
 *
 * Keeps:  sorted, disjoint, none empty.
 */
#ifndef SEEP_SCAN_SEGMENTS_H
#define SEEP_SCAN_SEGMENTS_H

#include <stdint.h>

#include "profile/model.h"

struct segments {
        struct profile_root *at; /* with the unused room in between */
        uint32_t count, room;
        uint32_t before; /* so many are before the unused room */
};

/* Number I of COUNT, by address. */
const struct profile_root *segments_get(const struct segments *s, uint32_t i);

/* [START, END) belongs to nobody. */
void segments_erase(struct segments *s, uint64_t start, uint64_t end);

/* [R.start, R.end) is what R says, whatever it was before. */
void segments_put(struct segments *s, struct profile_root r);

/* What is said about ADDRESS: enum profile_root_kind; PROFILE_ROOT_COUNT: nothing. */
uint32_t segments_kind(const struct segments *s, uint64_t address);

void segments_free(struct segments *s);

#endif
