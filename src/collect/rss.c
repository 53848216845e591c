/* SPDX-License-Identifier: MIT */
/*
 * rss.c -- how much memory of a process is resident, as it would be without us.
 *
 * Room:   outside.
 */
#include "collect/rss.h"

#include <stdio.h>
#include <unistd.h>

#include "collect/process.h"

void rss_open(struct rss *s, uint32_t pid)
{
        *s = (struct rss){ .pid = pid, .statm = process_open(pid, "statm") };
}

void rss_close(struct rss *s)
{
        if (s->statm >= 0)
                close(s->statm);
        s->statm = -1;
}

static uint64_t without(uint64_t ledger_bytes, uint64_t bytes)
{
        return bytes > ledger_bytes ? bytes - ledger_bytes : 0;
}

static void raise_peak(struct rss *s, uint64_t bytes)
{
        if (bytes > s->peak_bytes)
                s->peak_bytes = bytes;
}

void rss_read(struct rss *s, const struct view *v)
{
        char text[128];
        unsigned long long pages = 0;
        ssize_t n = s->statm < 0 ? -1 : pread(s->statm, text, sizeof text - 1, 0);

        text[n > 0 ? n : 0] = 0;
        if (sscanf(text, "%*u %llu", &pages) == 1 && pages)
                s->last_bytes = without(v->present_bytes, pages * (uint64_t)sysconf(_SC_PAGESIZE));
        raise_peak(s, s->last_bytes);
}

/* How large the ledger was at that time is not known: not larger than at most. */
void rss_told(struct rss *s, const struct view *v, uint64_t bytes)
{
        raise_peak(s, without(v->most_bytes, bytes));
}

void rss_read_peak(struct rss *s, const struct view *v, uint64_t now_ms)
{
        uint64_t peak_bytes = process_peak_rss(s->pid);

        rss_read(s, v);
        rss_told(s, v, peak_bytes);
        if (peak_bytes)
                s->ms = now_ms;
}
