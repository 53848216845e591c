/* SPDX-License-Identifier: MIT */
/* breakpoint_none.c -- in place of all the others in a build for another processor, or on x86-64
 * without Zydis. */
#include "breakpoint/breakpoint.h"

bool breakpoint_start(struct worker *w, const struct breakpoint_wishes *wishes, struct err *e)
{
        (void)w;
        (void)wishes;
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "this seep was built without breakpoints, which need x86-64 and libzydis, "
                       "or aarch64");
}

bool breakpoint_trace(struct worker *w, pid_t pid, struct err *e)
{
        (void)w;
        (void)pid;
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "no engine");
}

void breakpoint_end(struct worker *w)
{
        worker_close(w);
}
