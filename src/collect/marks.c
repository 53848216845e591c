/* SPDX-License-Identifier: MIT */
#include "collect/marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define MARKS_DEATHS_AT_ONCE 2048u /* entries read in one go */

/* ---- marks ---- */

char *marks_text(const struct view *v, uint32_t at, uint32_t most)
{
        uint32_t bytes = view_count(v, LEDGER_STRINGS, v->head.string_bytes, 1);
        uint32_t length = at < bytes ? bytes - at : 0;
        char *text;

        if (length > most)
                length = most;
        text = heap_zero((size_t)length + 1, 1);
        view_read(v, LEDGER_STRINGS, at, text, length);
        return text;
}

static uint32_t marks_type(uint32_t type)
{
        return type < LEDGER_MARK_OUTSIDE ? type : LEDGER_MARK_NONE;
}

bool marks_read(const struct view *v, uint32_t index, struct profile_mark *out)
{
        struct ledger_mark raw;

        if (index >= LEDGER_MARKS_MAX ||
            index >= view_count(v, LEDGER_MARKS, v->head.mark_count, sizeof raw))
                return false;
        view_read(v, LEDGER_MARKS, index * (uint64_t)sizeof raw, &raw, sizeof raw);
        if (raw.ready != 1)
                return false;
        *out = (struct profile_mark){
                .type = marks_type(raw.type),
                .thread = raw.thread,
                .flags = raw.flags,
                .era = index + 1,
                .ms = raw.ms,
                .label = marks_text(v, raw.label, MARKS_LABEL_BYTES),
        };
        return true;
}

/* ---- deaths ---- */

/* Sites that became one give equal keys. */
static void merge_deaths(struct profile *p)
{
        uint32_t kept = 0;

        qsort(p->deaths, p->death_count, sizeof *p->deaths, profile_compare_deaths);
        for (uint32_t i = 0; i < p->death_count; i++) {
                struct profile_death *to = kept ? &p->deaths[kept - 1] : NULL, one = p->deaths[i];

                if (!to || profile_compare_deaths(to, &one) != 0) {
                        p->deaths[kept++] = one;
                        continue;
                }
                to->blocks += one.blocks;
                to->bytes += one.bytes;
        }
        p->death_count = kept;
}

struct deaths {
        const uint32_t *site_map;
        uint32_t site_count;
        struct profile *p;
};

static void take_death(struct deaths *d, const struct ledger_death *raw)
{
        struct profile *p = d->p;
        uint32_t site = LEDGER_DEATH_SITE(raw->key), birth = LEDGER_DEATH_BIRTH(raw->key);

        site = site < d->site_count ? d->site_map[site] : 0;
        if (!site || !birth || birth > LEDGER_DEATH_DEATH(raw->key) || !raw->blocks)
                return;
        p->deaths = heap_next(p->deaths, p->death_count, sizeof *p->deaths);
        p->deaths[p->death_count++] = (struct profile_death){
                .site = site,
                .birth = birth,
                .death = LEDGER_DEATH_DEATH(raw->key),
                .blocks = raw->blocks,
                .bytes = raw->bytes,
        };
}

/* Entries that touch bytes [AT, END) of the table. */
static void take_stretch(struct deaths *d, const struct view *v, uint64_t at, uint64_t end)
{
        struct ledger_death *raw = heap_zero(MARKS_DEATHS_AT_ONCE, sizeof *raw);

        at -= at % sizeof *raw;
        while (at < end) {
                uint64_t count = (end - at + sizeof *raw - 1) / sizeof *raw;

                if (count > MARKS_DEATHS_AT_ONCE)
                        count = MARKS_DEATHS_AT_ONCE;
                view_read(v, LEDGER_DEATHS, at, raw, count * sizeof *raw);
                for (uint64_t i = 0; i < count; i++)
                        if (raw[i].key)
                                take_death(d, &raw[i]);
                at += count * sizeof *raw;
        }
        free(raw);
}

/* A sparse hash table: most of it was never touched. */
void marks_deaths(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                  struct profile *p)
{
        uint64_t most = LEDGER_DEATHS_MAX * (uint64_t)sizeof(struct ledger_death), at = 0, done = 0,
                 end;
        struct deaths d = { .site_map = site_map, .site_count = site_count, .p = p };

        while ((end = view_data(v, LEDGER_DEATHS, &at, most)) != 0) {
                take_stretch(&d, v, at > done ? at : done, end);
                done = end + (sizeof(struct ledger_death) - end % sizeof(struct ledger_death)) %
                                     sizeof(struct ledger_death);
                at = end;
        }
        if (p->death_count)
                merge_deaths(p);
}
