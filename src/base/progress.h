/* SPDX-License-Identifier: MIT */
/*
 * progress.h -- how far a long step has come, for callers that show it.
 *
 * Room:   outside; any layer.  cli/progress.c shows it.
 */
#ifndef SEEP_BASE_PROGRESS_H
#define SEEP_BASE_PROGRESS_H

#include <stdint.h>

struct progress {
        void (*tell)(struct progress *p, uint64_t done, uint64_t all);
};

/* DONE of ALL parts of the step are done.  P NULL: nobody listens.  Cheap enough for loops over
 * stacks. */
static inline void progress_tell(struct progress *p, uint64_t done, uint64_t all)
{
        if (p && done % 16 == 0)
                p->tell(p, done, all);
}

#endif
