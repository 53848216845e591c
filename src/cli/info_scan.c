/* SPDX-License-Identifier: MIT */
/*
 * info_scan.c -- what `seep info` says about the leak search.
 *
 * Keeps:  numbers as the search found them; `seep leaks` subtracts what is suppressed.
 */
#include "cli/info.h"

#include "profile/packed.h"
#include "query/leaks.h"
#include "words/text.h"

void info_sum_classes(const struct profile *p, struct info_class sums[PROFILE_LEAK_COUNT])
{
        struct packed_walk w;

        for (uint32_t leak = 0; leak < PROFILE_LEAK_COUNT; leak++)
                sums[leak] = (struct info_class){ 0 };
        packed_open(&w, p);
        while (packed_next(&w) && w.verdict) {
                sums[w.verdict->leak].blocks++;
                sums[w.verdict->leak].bytes += w.block->size;
        }
        packed_close(&w);
}

/* "1.5 ms", "250 us" */
static void put_microseconds(struct str *out, uint64_t us)
{
        if (us < 1000)
                str_format(out, "%u us", (unsigned)us);
        else if (us < 100000)
                str_format(out, "%.1f ms", (double)us / 1e3);
        else
                text_time(out, us / 1000);
}

static void put_line_start(struct str *out)
{
        str_format(out, "%*s", INFO_COLUMN, "");
}

static void put_effort(struct str *out, const struct profile_scan *s)
{
        put_line_start(out);
        text_size(out, (int64_t)s->heap_bytes);
        str_text(out, " of blocks and ");
        text_size(out, (int64_t)s->root_bytes);
        str_text(out, " of roots in ");
        put_microseconds(out, s->scan_us);
        if (s->flags & PROFILE_SCAN_UNALIGNED)
                str_text(out, ", pointers at every byte");
        str_char(out, '\n');
        put_line_start(out);
        str_text(out, "the program was paused for ");
        put_microseconds(out, s->pause_us);
        str_text(out, s->flags & PROFILE_SCAN_COPY ? "; a copy of it was searched\n" : "\n");
}

static void put_classes(struct str *out, const struct profile *p)
{
        struct info_class sums[PROFILE_LEAK_COUNT];

        info_sum_classes(p, sums);
        for (uint32_t leak = PROFILE_LEAK_COUNT; leak-- > 0;) {
                size_t start = out->length;

                if (!sums[leak].blocks && leak == PROFILE_LEAK_UNKNOWN)
                        continue;
                put_line_start(out);
                str_text(out, profile_leak_text(leak));
                text_pad(out, start, INFO_COLUMN + 18);
                text_size(out, (int64_t)sums[leak].bytes);
                str_text(out, " in ");
                text_count(out, (int64_t)sums[leak].blocks, "block");
                str_char(out, '\n');
        }
}

void info_scan_text(const struct profile *p, struct str *out)
{
        const struct profile_scan *scan = profile_scanned(p);

        if (!scan) {
                str_text(out, "not made: ");
                leaks_not_scanned(p, out);
                str_char(out, '\n');
                return;
        }
        leaks_when(scan, out);
        str_char(out, '\n');
        put_effort(out, scan);
        put_classes(out, p);
        put_line_start(out);
        if (p->scans[0].flags & PROFILE_SCAN_GRAPH)
                str_text(out, "all pointers are kept: `seep why` can show what holds a block\n");
        else if (p->truncated)
                str_text(out, "some pointers are missing: `seep why` does not work\n");
        else
                str_format(out,
                           "pointers were not kept; for `seep why`, record with --keep-graph\n");
}
