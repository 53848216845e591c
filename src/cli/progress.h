/* SPDX-License-Identifier: MIT */
/*
 * progress.h -- one line on a terminal that shows the progress of a long step.
 *
 * Keeps:  nothing is shown in the first second, or when stderr is no terminal; the
 *         line is gone afterwards.
 */
#ifndef SEEP_CLI_PROGRESS_H
#define SEEP_CLI_PROGRESS_H

#include <stdbool.h>

#include "base/progress.h"

struct progress_line {
        struct progress progress; /* what the step is given */
        const char *what;         /* "finding names" */
        double start_s, last_s;   /* of the command; when it was shown last */
        uint64_t last_done;       /* less than this: another step has begun */
        double step_s;            /* when it did */
        bool terminal, shown;
};

void progress_start(struct progress_line *l, const char *what, bool quiet);

/* Take the line away. */
void progress_end(struct progress_line *l);

#endif
