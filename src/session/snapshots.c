/* SPDX-License-Identifier: MIT */
#include "session/snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "collect/marks.h"

#define SNAPSHOTS_AT_ONCE 256u
/* A mark is written in a microsecond, unless its thread was killed or stopped meanwhile. */
#define SNAPSHOTS_UNREADY_MS 500u

/* What a mark of each type gets. */
static const struct {
        bool snapshot, report;
} wants[LEDGER_MARK_OUTSIDE + 1] = {
        [LEDGER_MARK_SNAPSHOT] = { true, true }, [LEDGER_MARK_SIGNAL] = { true, true },
        [LEDGER_MARK_LIMIT] = { true, true },    [LEDGER_MARK_HEAP] = { true, false },
        [LEDGER_MARK_EXIT] = { true, true },     [LEDGER_MARK_OUTSIDE] = { true, false },
};

void snapshots_free(struct snapshots *s)
{
        free(s->due);
        *s = (struct snapshots){ 0 };
}

static void add_due(struct snapshots *s, const struct profile_mark *m, int asker)
{
        s->due = heap_grow(s->due, s->due_count + 1, sizeof *s->due);
        s->due[s->due_count++] = (struct snapshots_due){
                .order = { m->seq, s->reported_seq },
                .type = m->type,
                .era = m->era,
                .asker = asker,
        };
        s->reported_seq = m->seq;
}

static void number(struct snapshots *s, struct profile_mark *m)
{
        if (wants[m->type].snapshot)
                m->seq = ++s->seq;
        if (wants[m->type].report)
                add_due(s, m, SNAPSHOTS_NOBODY);
        s->exit_seen = s->exit_seen || m->type == LEDGER_MARK_EXIT;
}

/* Cut the slice of MARKS; the reports that they want begin at FIRST_DUE. */
static void cut(struct snapshots *s, const struct snapshots_moment *now, struct profile_mark *marks,
                uint32_t count, uint32_t first_due)
{
        const struct profile_slice *slice;

        slices_mark(now->slices, now->view, now->ms, now->rss_bytes, marks, count);
        slice = &now->slices->slice[now->slices->slice_count - 1];
        for (uint32_t i = first_due; i < s->due_count; i++) {
                s->due[i].live_bytes = slice->live_bytes;
                s->due[i].live_blocks = slice->live_blocks;
        }
}

static bool pass_over(struct snapshots *s, const struct snapshots_moment *now)
{
        bool over;

        if (!s->unready_ms)
                s->unready_ms = now->ms ? now->ms : 1;
        over = now->ended || now->ms > s->unready_ms + SNAPSHOTS_UNREADY_MS;
        s->seen += over;
        s->unready_ms = over ? 0 : s->unready_ms;
        return over;
}

/* At most SNAPSHOTS_AT_ONCE marks.  false: there are no more. */
static bool look_once(struct snapshots *s, const struct snapshots_moment *now, uint32_t total)
{
        struct profile_mark marks[SNAPSHOTS_AT_ONCE];
        uint32_t count = 0, first_due = s->due_count;

        while (s->seen < total && count < SNAPSHOTS_AT_ONCE) {
                if (!marks_read(now->view, s->seen, &marks[count])) {
                        if (pass_over(s, now))
                                continue;
                        break;
                }
                s->unready_ms = 0;
                s->seen++;
                number(s, &marks[count++]);
        }
        if (count)
                cut(s, now, marks, count, first_due);
        return count == SNAPSHOTS_AT_ONCE;
}

void snapshots_look(struct snapshots *s, const struct snapshots_moment *now)
{
        uint32_t total = view_count(now->view, LEDGER_MARKS, now->view->head.mark_count,
                                    sizeof(struct ledger_mark));

        if (total > LEDGER_MARKS_MAX)
                total = LEDGER_MARKS_MAX;
        while (look_once(s, now, total))
                ;
}

void snapshots_take(struct snapshots *s, const struct snapshots_moment *now,
                    enum ledger_mark_type type, const char *label, bool report, int asker)
{
        struct profile_mark m = { .type = type, .ms = now->ms, .label = heap_text(label) };
        uint32_t first_due = s->due_count;

        if (type != LEDGER_MARK_TAG)
                m.seq = ++s->seq;
        if (report)
                add_due(s, &m, asker);
        cut(s, now, &m, 1, first_due);
}

void snapshots_forget(struct snapshots *s, uint32_t count)
{
        s->due_count -= count;
        if (s->due_count)
                memmove(s->due, s->due + count, s->due_count * sizeof *s->due);
}

uint32_t snapshots_served(const struct snapshots *s)
{
        for (uint32_t i = 0; i < s->due_count; i++)
                if (s->due[i].era)
                        return s->due[i].era - 1;
        return s->seen;
}
