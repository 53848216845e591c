/* SPDX-License-Identifier: MIT */
#include "session/departed.h"

#include <stdlib.h>

#include "base/heap.h"

bool departed_add(struct departed *d, struct recording *r, const struct recording_end *end)
{
        /* After an exec the next recording of the process takes the name of this one, which
         * must have been written then. */
        if (end->end == PROFILE_END_UNKNOWN || end->end == PROFILE_END_EXEC ||
            !scanner_is_busy(&r->scanner))
                return false;
        r->departed = true;
        d->at = heap_grow(d->at, d->count + 1, sizeof *d->at);
        d->at[d->count++] = (struct departed_one){ r, *end };
        return true;
}

void departed_child_ended(struct departed *d, pid_t pid, int status, uint64_t cpu_ns)
{
        for (uint32_t i = 0; i < d->count; i++)
                recording_child_ended(d->at[i].recording, pid, status, cpu_ns);
}

struct recording *departed_take(struct departed *d, bool any, struct recording_end *end)
{
        for (uint32_t i = 0; i < d->count; i++) {
                struct recording *r = d->at[i].recording;

                if (!any && scanner_is_busy(&r->scanner))
                        continue;
                *end = d->at[i].end;
                d->at[i] = d->at[--d->count];
                return r;
        }
        return NULL;
}

void departed_stop(const struct departed *d)
{
        for (uint32_t i = 0; i < d->count; i++)
                scanner_stop(&d->at[i].recording->scanner);
}
