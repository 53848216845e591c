/* SPDX-License-Identifier: MIT */
#include "report/rises.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/lookup.h"
#include "base/table.h"
#include "report/stack_line.h"
#include "words/text.h"

enum {
        RISES_LARGE = 20,       /* this part of the highest point counts as a change */
        RISES_STILL = 10,       /* this part of the time without a step ends a rise ... */
        RISES_STILL_POINTS = 3, /* ... if it was looked at often enough */
        RISES_COLUMNS = 4096
};

/* The way through a curve. */
struct climb {
        const struct rises_curve *c;
        uint64_t least, long_ms;
        int64_t low, high, step; /* step: the last point clearly higher than the step before */
        struct rise *rises;
        uint32_t count;
};

static uint64_t climb_value(const struct climb *m, int64_t i)
{
        return i < 0 ? 0 : m->c->values[i];
}

/* Keeps the list sorted: largest first, the earlier of equal ones. */
static void climb_add(struct climb *m, const struct rise *r)
{
        uint32_t at = m->count;

        while (at > 0 && m->rises[at - 1].more < r->more)
                at--;
        if (at == RISES_MOST)
                return;
        if (m->count < RISES_MOST)
                m->count++;
        memmove(&m->rises[at + 1], &m->rises[at], (m->count - 1 - at) * sizeof *m->rises);
        m->rises[at] = *r;
}

/* What rose until now ends; the next rise begins at I. */
static void climb_begin(struct climb *m, int64_t i)
{
        uint64_t more = climb_value(m, m->high) - climb_value(m, m->low);

        if (more >= m->least)
                climb_add(m, &(struct rise){ m->low, m->high, more });
        m->low = m->high = m->step = i;
}

static void climb_point(struct climb *m, int64_t i)
{
        uint64_t value = climb_value(m, i), top, bottom, since;
        bool fell, still;

        if (value > climb_value(m, m->high))
                m->high = i;
        if (value >= climb_value(m, m->step) + (m->least + 1) / 2)
                m->step = i;
        top = climb_value(m, m->high);
        bottom = climb_value(m, m->low);
        since = m->c->ms[i] - m->c->ms[m->step < 0 ? m->c->first : m->step];
        fell = top - value >= m->least || (value < bottom && top - bottom < m->least);
        still = i - m->step >= RISES_STILL_POINTS && since > m->long_ms;
        if (fell || still)
                climb_begin(m, i);
}

uint32_t rises_find(const struct rises_curve *c, struct rise rises[RISES_MOST])
{
        struct climb m = { .c = c, .rises = rises, .low = RISES_BEFORE };
        uint64_t most = 0;

        for (uint32_t i = c->first; i <= c->last; i++)
                if (c->values[i] > most)
                        most = c->values[i];
        m.least = most / RISES_LARGE ? most / RISES_LARGE : 1;
        m.long_ms = (c->ms[c->last] - c->ms[c->first]) / RISES_STILL;
        /* What was there before the part that is shown did not rise in it. */
        m.low = m.high = m.step = c->first ? (int64_t)c->first : RISES_BEFORE;
        for (uint32_t i = c->first; i <= c->last; i++)
                climb_point(&m, i);
        climb_begin(&m, RISES_BEFORE);
        return m.count;
}

/* ---- names ---- */

/* What each site holds behind the first slice at or after TO that tells of sites: some have only
 * the totals.  -1: nothing. */
static void live_at(const struct profile *p, int64_t to, bool next, int64_t *live)
{
        memset(live, 0, p->site_count * sizeof *live);
        for (int64_t i = 0; i < p->slice_count; i++) {
                const struct profile_slice *s = &p->slices[i];

                if (i > to && !next)
                        return;
                for (uint32_t k = 0; k < s->change_count; k++) {
                        const struct profile_change *c = &p->changes[s->change_first + k];

                        if (c->site < p->site_count)
                                live[c->site] = (int64_t)c->live_bytes;
                }
                if (i >= to && s->change_count)
                        return;
        }
}

/* The slice that tells of sites and is nearest to where R begins: the last one may be long ago. */
static int64_t told_near(const struct profile *p, const struct rise *r)
{
        const struct profile_slice *s = p->slices;
        int64_t last = r->from, next = r->from;
        uint64_t ago_ms;

        while (last >= 0 && !s[last].change_count)
                last--;
        while (next < r->to && !s[next].change_count)
                next++;
        ago_ms = s[r->from].ms - (last < 0 ? 0 : s[last].ms);
        return next < r->to && s[next].ms - s[r->from].ms < ago_ms ? next : r->from;
}

/* Whether what is known of the sites explains most of the rise: where only totals were recorded
 * around it, another place may have grown and shrunk unseen. */
static bool is_explained(const struct rise *r, const int64_t *more, uint32_t sites)
{
        int64_t sum = 0;

        for (uint32_t i = 0; i < sites; i++)
                sum += more[i];
        return sum > 0 && (uint64_t)sum >= r->more / 2;
}

/* Stacks that one line names, with how much more they hold. */
struct grown {
        char *line;
        uint32_t site; /* one of them */
        int64_t more;
};

/* The place that grew the most; more is 0 where none did. */
static struct grown rise_place(const struct selection *sel, struct symbols *s, const int64_t *more)
{
        const struct profile *p = sel->profile;
        struct lookup known = { 0 };
        struct table table = { 0 };
        struct str text = { 0 };
        struct grown *list = NULL, best = { 0 };
        struct stack_line line = { .profile = p, .symbols = s, .out = &text,
                                           .columns = RISES_COLUMNS, .known = &known };

        for (uint32_t site = 0; site < p->site_count; site++) {
                uint32_t count = table.count, n;

                if (!more[site])
                        continue;
                str_clear(&text);
                stack_line_stack(&line, p->sites[site].node, 0);
                n = TABLE_NUMBER(&table, table_hash_text(str_get(&text)), i,
                                 strcmp(list[i].line, str_get(&text)) == 0);
                if (n == count) {
                        list = heap_next(list, count, sizeof *list);
                        list[n] = (struct grown){ heap_text(str_get(&text)), site, 0 };
                }
                list[n].more += more[site];
        }
        for (uint32_t i = 0; i < table.count; i++) {
                if (list[i].more > best.more)
                        best = (struct grown){ NULL, list[i].site, list[i].more };
                free(list[i].line);
        }
        free(list);
        table_free(&table);
        lookup_free(&known);
        str_free(&text);
        return best;
}

/* How much more each of SEL's sites holds behind the rise; nothing where that is not known. */
static int64_t *rise_growth(const struct selection *sel, const struct rise *r)
{
        const struct profile *p = sel->profile;
        uint8_t *chosen = select_sites(sel, &sel->heap);
        int64_t *more = heap_zero(p->site_count, sizeof *more),
                *before = heap_zero(p->site_count, sizeof *before);

        live_at(p, r->to, true, more);
        if (r->from >= 0)
                live_at(p, told_near(p, r), false, before);
        for (uint32_t i = 0; i < p->site_count; i++)
                more[i] = chosen[i] ? more[i] - before[i] : 0;
        if (!is_explained(r, more, p->site_count))
                memset(more, 0, p->site_count * sizeof *more);
        free(before);
        free(chosen);
        return more;
}

static void rise_write(const struct selection *sel, struct symbols *s, const struct rises_curve *c,
                       const struct rise *r, struct stack_line *line)
{
        int64_t *more = rise_growth(sel, r);
        struct grown place = rise_place(sel, s, more);
        struct str when = { 0 }, size = { 0 };
        size_t start = line->out->length;

        text_time(&when, r->from < 0 ? 0 : c->ms[r->from]);
        str_text(&when, " to ");
        text_time(&when, c->ms[r->to]);
        str_char(&size, '+');
        text_size(&size, (int64_t)r->more);
        str_format(line->out, "%12s  %-18s", str_get(&size), str_get(&when));
        str_clear(&size);
        str_char(&size, '+');
        text_size(&size, place.more);
        if (place.more) {
                str_format(line->out, "  %s ", str_get(&size));
                stack_line_stack(line, sel->profile->sites[place.site].node, start);
        }
        text_cut(line->out, start, line->columns);
        while (line->out->data[line->out->length - 1] == ' ')
                line->out->length--;
        str_char(line->out, '\n');
        str_free(&when);
        str_free(&size);
        free(more);
}

void rises_write(const struct selection *sel, struct symbols *s, const struct rises_curve *c,
                 uint32_t columns, struct str *out)
{
        struct stack_line line = { .profile = sel->profile, .symbols = s, .out = out,
                                           .columns = columns };
        struct rise rises[RISES_MOST];
        uint32_t count = rises_find(c, rises);

        if (count)
                str_text(out, count > 1 ? "\nlargest rises:\n" : "\nlargest rise:\n");
        for (uint32_t i = 0; i < count; i++)
                rise_write(sel, s, c, &rises[i], &line);
}
