/* SPDX-License-Identifier: MIT */
#include "collect/warnings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/collect.h"
#include "collect/counters.h"
#include "collect/marks.h"
#include "profile/unseen.h"
#include "wire/hello.h"

static uint64_t apart(uint64_t a, uint64_t b)
{
        return a > b ? a - b : b - a;
}

/* Two books kept independently: the counters, and the blocks in the shadow.  Each thread may have
 * died between the two entries of one event; more than that is a mistake of ours, and is told. */
void warnings_books(const struct view *v, struct profile *p)
{
        const struct profile_totals *t = &p->totals;
        uint64_t expected = t->live_blocks > t->untracked_blocks
                                    ? t->live_blocks - t->untracked_blocks
                                    : 0;
        uint64_t allowed = counters_slots(v) + t->untracked_blocks + t->lost_events;

        if (apart(expected, p->block_count) <= allowed)
                return;
        if (v->head.parent_start_monotonic_ns && v->head.several)
                collect_warn(p,
                             "forked by a program with several threads: what the others did during "
                             "the fork is only partly recorded");
        else
                collect_warn(p,
                             "the counters say %" PRIu64 " live blocks, the table of blocks has %"
                             PRIu64 ": a bug in seep, please report it", t->live_blocks,
                             p->block_count);
}

static void warn_about_limit(const struct ledger_head *h, struct profile *p)
{
        char beyond[64];

        snprintf(beyond, sizeof beyond, "%u allocation%s beyond it", h->limit_hits,
                 h->limit_hits == 1 ? "" : "s");
        if (!h->limit_hits)
                return;
        if (h->flags & WIRE_F_LIMIT_ENOMEM)
                collect_warn(p,
                             "the heap reached its limit of %" PRIu64 " bytes (--limit-heap): %s "
                             "failed, as if there were no memory", h->limit_bytes, beyond);
        else if (h->flags & WIRE_F_LIMIT_SNAPSHOT)
                collect_warn(p,
                             "the heap passed its limit of %" PRIu64 " bytes (--limit-heap): %s, "
                             "the program continued", h->limit_bytes, beyond);
        else
                collect_warn(p,
                             "the heap reached its limit of %" PRIu64 " bytes (--limit-heap): the "
                             "program was ended", h->limit_bytes);
}

static bool was_switched_on(const struct profile *p)
{
        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].type == LEDGER_MARK_ENABLE)
                        return true;
        return false;
}

static void warn_about_unseen(struct profile *p)
{
        struct str text = { 0 };

        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++) {
                str_clear(&text);
                if (unseen_say(p, reason, &text))
                        collect_warn(p, "%s", str_get(&text));
        }
        for (enum unseen_table table = 0; table < UNSEEN_TABLE_COUNT; table++) {
                str_clear(&text);
                if (unseen_say_full(p, table, &text))
                        collect_warn(p, "%s", str_get(&text));
        }
        str_free(&text);
}

static void warn_about_deepbind(const struct view *v, struct profile *p)
{
        char *name = marks_text(v, v->head.deepbind_name, 256);
        uint32_t others = v->head.deepbind_taken - 1;

        collect_warn(p,
                     "dlopen was asked for RTLD_DEEPBIND for %s%s: removed, so that its "
                     "allocations are seen; --deepbind keeps it", *name ? name : "a library",
                     others ? " and others" : "");
        free(name);
}

/* It was asked for, so it is no fault; but whoever reads the numbers should know. */
static void tell_omitted(const struct view *v, struct profile *p)
{
        const struct profile_totals *t = &p->totals;
        char *expression = marks_text(v, v->head.omit, REGEX_MAX), maps[96] = "";

        if (t->omitted_maps)
                snprintf(maps, sizeof maps, ", %" PRIu64 " mapping%s of %" PRIu64 " bytes",
                         t->omitted_maps, t->omitted_maps == 1 ? "" : "s", t->omitted_map_bytes);
        if (t->omitted || t->omitted_maps)
                collect_warn(p,
                             "left out, as asked (--omit '%s'): %" PRIu64 " allocation%s of %"
                             PRIu64 " bytes%s", expression, t->omitted, t->omitted == 1 ? "" : "s",
                             t->omitted_bytes, maps);
        else
                collect_warn(p,
                             "nothing was left out: no program or library whose path matches "
                             "--omit '%s' allocated anything", expression);
        free(expression);
}

void warnings_ledger(const struct view *v, uint64_t senseless, struct profile *p)
{
        const struct ledger_head *h = &v->head;

        warn_about_unseen(p);
        if (h->deepbind_taken)
                warn_about_deepbind(v, p);
        if (h->omit)
                tell_omitted(v, p);
        if (h->held_back)
                collect_warn(p,
                             "%" PRIu64 " invalid free%s not passed on, so that the program could "
                             "continue (--no-keep-going passes them on)", h->held_back,
                             h->held_back == 1 ? " was" : "s were");
        if (senseless && !(h->parent_start_monotonic_ns && h->several))
                collect_warn(p,
                             "%" PRIu64 " block entries were damaged and left out (the program "
                             "overwrote them?)", senseless);
        if (h->verify_differences)
                collect_warn(p, "%" PRIu64 " of %" PRIu64 " stacks differ from a full unwind",
                             h->verify_differences, h->verify_captures);
        if (h->verify_backtrace_differences)
                collect_warn(p, "%" PRIu64 " of %" PRIu64 " stacks differ from backtrace()",
                             h->verify_backtrace_differences, h->verify_backtraces);
        warn_about_limit(h, p);
        if (h->off && h->flags & WIRE_F_START_OFF && !was_switched_on(p))
                collect_warn(p,
                             "--start-off was given, and the program did not call SEEP_ENABLE() "
                             "(see 'man seep.h')");
}

void warnings_starved(struct profile *p)
{
        collect_warn(p,
                     "the kernel killed it for lack of memory; %" PRIu64 " MiB of what it had were "
                     "the recording's (--limit-ledger bounds that)", p->totals.ledger_bytes >> 20);
}

void warnings_marks(uint64_t lost, struct profile *p)
{
        if (lost)
                collect_warn(p,
                             "%" PRIu64 " of %" PRIu64 " tags and snapshots were dropped, evenly "
                             "spread, because what changed between them took too much memory", lost,
                             lost + p->mark_count);
}
