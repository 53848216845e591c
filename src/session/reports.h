/* SPDX-License-Identifier: MIT */
/*
 * reports.h -- the reports of snapshots: PROGRAM-PID-SEQ.memlog.
 *
 * Room:   outside, mostly in a process of its own: names of functions may take seconds to find.
 * Keeps:  no file that was there before is replaced: the next free number is taken.  A report
 *         appears whole or not at all, where the file system can do that.
 */
#ifndef SEEP_SESSION_REPORTS_H
#define SEEP_SESSION_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "profile/model.h"

#define REPORTS_FROM_START UINT32_MAX

/* Who turns numbers into text.  FROM and TO are slices of P; FROM may be REPORTS_FROM_START. */
struct reports_author {
        void *context;
        void (*write)(void *context, const struct profile *p, uint32_t from, uint32_t to,
                      struct str *out);
};

/* Whose report, and where it should go. */
struct reports_place {
        char *directory;
        int folder; /* the same, held open */
        const char *program;
        uint32_t pid;
};

/* What is to be told: the change from the snapshot FROM_SEQ (0: from the start) to SEQ. */
struct reports_order {
        uint32_t seq, from_seq;
};

/* What became of an order; passed from process to process. */
struct reports_result {
        uint32_t seq;
        uint8_t written, elsewhere; /* elsewhere: not in the directory where it
                                     * should be; WHY tells why */
        char path[1022];            /* full name */
        char why[512];
};

/* Put TEXT into a file of its own.  *PATH, its full name, is the caller's to free(). */
bool reports_store(const struct reports_place *place, uint32_t seq, const struct str *text,
                   char **path, struct err *e);

/* Carry out ORDER with the marks and slices of P. */
void reports_write(const struct reports_author *author, const struct reports_place *place,
                   const struct profile *p, const struct reports_order *order,
                   struct reports_result *out);

#endif
