/* SPDX-License-Identifier: MIT */
/*
 * transactions.h -- the events of a recording in order, as text, as a table, or in the formats of
 * earlier tools.
 *
 * Keeps:  memory for each distinct stack, none for each event.
 */
#ifndef SEEP_REPORT_TRANSACTIONS_H
#define SEEP_REPORT_TRANSACTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "profile/replay.h"
#include "query/wrapper.h"

enum transactions_format { TRANSACTIONS_TEXT, TRANSACTIONS_CSV, TRANSACTIONS_MEMTRAQ,
                         TRANSACTIONS_MMLEAK };

struct transactions {
        const struct profile *profile; /* may be empty: then there are numbers in place of names */
        struct symbols *symbols;
        struct wrappers *wrappers; /* frames to hide; NULL none */
        struct fold *fold;         /* those of libraries, too; NULL not.  Is given
                                    * back by transactions_free() */
        enum transactions_format format;
        bool whole; /* each stack to its outer end */

        char **stacks; /* by node: what was written for it before */
        uint64_t *starts; /* by module: where it was loaded last so far; 0: as the profile says.
                           * NULL: nothing was loaded yet */
        uint32_t tags; /* that were written */
        struct ledger_event held; /* memtraq: the beginning of a realloc that may still be
                                   * one with its end; has_held */
        bool has_held;
        uint64_t last_us; /* memtraq: the time of the event before */
};

void transactions_free(struct transactions *t);

/* Append what stands before the first event. */
void transactions_head(struct transactions *t, struct str *out);

/* A module was loaded (LEDGER_EVENT_MODULE), perhaps elsewhere than before: also for
 * events that are not written. */
void transactions_load(struct transactions *t, const struct ledger_event *e);

/* Append event NUMBER (from 1).  BEFORE is what the events before it add up to. */
void transactions_put(struct transactions *t, const struct replay *before, uint64_t number,
                      const struct ledger_event *e, struct str *out);

/* Append what was held back. */
void transactions_end(struct transactions *t, struct str *out);

#endif
