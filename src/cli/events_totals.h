/* SPDX-License-Identifier: MIT */
/*
 * events_totals.h -- what a log adds up to, beside what was counted while recording (`seep events --totals`).
 *
 * Room:   outside, cli/ only.
 */
#ifndef SEEP_CLI_EVENTS_TOTALS_H
#define SEEP_CLI_EVENTS_TOTALS_H

#include "base/str.h"
#include "profile/events_log.h"
#include "profile/model.h"
#include "profile/replay.h"

struct events_totals {
        const struct profile *profile;
        const struct replay *replay; /* of the whole log */
        const struct events_log *log; /* read to its end */
};

/* Append the table; returns the exit status: 1 when the two differ, 0 when they agree or cannot be compared. */
int events_totals_write(const struct events_totals *t, struct str *out);

#endif
