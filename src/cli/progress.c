/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static const double progress_silence_s = 1, progress_interval_s = 0.1;

static double now_s(void)
{
        return (double)clock_now_ns() / 1e9;
}

static void progress_show(struct progress *p, uint64_t done, uint64_t all)
{
        struct progress_line *l = (struct progress_line *)p;
        double now = now_s(), elapsed = now - l->step_s;

        if (done < l->last_done)
                l->step_s = now;
        l->last_done = done;
        if (now - l->start_s < progress_silence_s || now - l->last_s < progress_interval_s || !all)
                return;
        l->last_s = now;
        l->shown = true;
        fprintf(stderr, "\r\033[Kseep: %s: %d %%", l->what,
                (int)(100 * (double)done / (double)all));
        if (done && elapsed > progress_interval_s)
                fprintf(stderr, ", %.0f s left", elapsed * (double)(all - done) / (double)done);
}

void progress_start(struct progress_line *l, const char *what, bool quiet)
{
        *l = (struct progress_line){ .progress.tell = progress_show, .what = what,
                                     .start_s = now_s() };
        l->step_s = l->start_s;
        l->terminal = !quiet && isatty(STDERR_FILENO);
}

void progress_end(struct progress_line *l)
{
        if (l->shown)
                fputs("\r\033[K", stderr);
        l->shown = false;
}
