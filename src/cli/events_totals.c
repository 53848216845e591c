/* SPDX-License-Identifier: MIT */
/*
 * events_totals.c -- what a log adds up to, beside what was counted while recording.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/events_totals.h"

#include <stddef.h>

#include "base/err.h"
#include "words/text.h"

/* The totals that both sides have: label, member, how far apart they may be.  A whole log gives the recording its peak (collect/journal.c);
 * older recordings by several threads have one that is known to some bytes only. */
#define TOTALS_ROWS(X)                                                         \
        X("allocations", allocations, 0)                                       \
        X("frees", frees, 0)                                                   \
        X("bytes allocated", bytes_allocated, 0)                               \
        X("live blocks", live_blocks, 0)                                       \
        X("live bytes", live_bytes, 0)                                         \
        X("peak bytes", peak_bytes, ledger->peak_error_bytes)                  \
        X("unknown frees", unknown_frees, 0)                                   \
        X("double frees", double_frees, 0)                                     \
        X("mismatched frees", mismatched, 0)                                   \
        X("mmap calls", mmap_calls, 0)                                         \
        X("mmap bytes", mmap_bytes, 0)                                         \
        X("mmap live bytes", mmap_live_bytes, 0)

struct row {
        const char *label;
        uint64_t log, ledger, allowed;
};

/* Why there is nothing to compare with; NULL: there is. */
static const char *not_comparable(const struct events_totals *t)
{
        if (!t->profile->site_count)
                return "the file has no totals of its own";
        if (events_log_first(t->log))
                return "the process was forked, and what its parent did before is not in its log";
        if (events_log_headless(t->log))
                return "its first events are no longer in the log (--max-files)";
        if (events_log_why(t->log))
                return "the log ends before the recording";
        return t->profile->meta.complete ? NULL : "the recording is not complete";
}

static bool put_row(const struct row *r, bool compared, struct str *out)
{
        uint64_t apart = r->log > r->ledger ? r->log - r->ledger : r->ledger - r->log;
        bool same = apart <= r->allowed;
        size_t start = out->length;

        str_format(out, "  %s", r->label);
        text_pad(out, start, 24);
        text_cell(out, 20, r->log, text_number);
        if (compared) {
                text_cell(out, 20, r->ledger, text_number);
                if (!same)
                        str_text(out, "  differs");
                else if (apart) {
                        str_text(out, "  no difference: it is known to ");
                        text_number(out, (int64_t)r->allowed);
                        str_text(out, " B");
                }
        }
        str_char(out, '\n');
        return same;
}

/* Sites at which the two counted differently. */
static uint64_t sites_apart(const struct events_totals *t)
{
        uint64_t apart = 0;

        for (uint32_t i = 1; i < t->profile->site_count; i++) {
                const struct profile_site *s = &t->profile->sites[i];
                struct replay_site r = replay_site(t->replay, i);

                if (LEDGER_KIND_IS_HEAP(s->kind))
                        apart += r.allocs != s->allocs || r.alloc_bytes != s->alloc_bytes || r.frees != s->frees;
        }
        return apart;
}

/* Live blocks of the ledger that the log has not, or with other contents; the numbers of both are compared besides. */
static uint64_t blocks_apart(const struct events_totals *t)
{
        uint64_t apart = 0;

        for (uint64_t i = 0; i < t->profile->block_count; i++) {
                const struct profile_block *b = &t->profile->blocks[i];
                uint32_t kind = b->site < t->profile->site_count ? t->profile->sites[b->site].kind : LEDGER_KIND_NONE;
                const struct replay_block *r = replay_find(t->replay, b->address, kind);

                apart += !r || r->size != b->size || r->site != b->site;
        }
        return apart;
}

int events_totals_write(const struct events_totals *t, struct str *out)
{
        const struct replay_totals *log = replay_totals(t->replay);
        const struct profile_totals *ledger = &t->profile->totals;
        const char *why = not_comparable(t);
        const struct row rows[] = {
#define TOTALS_ROW(label, member, allowed) { label, log->member, ledger->member, allowed },
                TOTALS_ROWS(TOTALS_ROW)
#undef TOTALS_ROW
                { "sites that differ", why ? 0 : sites_apart(t), 0, 0 },
                { "blocks that differ", why ? 0 : blocks_apart(t), 0, 0 },
        };
        struct events_log_size size = events_log_size(t->log);
        bool same = true;

        str_format(out, "  %-22s", "events");
        text_cell(out, 20, log->events, text_number);
        str_format(out, "%s\n", why ? "" : "            recorded");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                same &= put_row(&rows[i], !why, out);
        str_format(out, "  %-22s", "bytes of log");
        text_cell(out, 20, size.bytes, text_number);
        str_format(out, "  %.2f for each event\n", log->events ? (double)size.bytes / (double)log->events : 0);
        if (why)
                str_format(out, "  Not compared with what was counted while recording: %s.\n", why);
        return why || same ? 0 : ERR_EXIT_FINDINGS;
}
