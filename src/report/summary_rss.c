/* SPDX-License-Identifier: MIT */
/* summary_rss.c -- the summary's lines about memory beside the heap: what was mapped, what was
 * resident, and where that is. */
#include "report/summary_parts.h"

#include <string.h>

#include "profile/own.h"
#include "query/residence.h"
#include "report/views.h"
#include "words/text.h"

#define SUMMARY_SAME_MS 100u /* numbers that are so far apart are of one moment */

static bool is_module(const struct profile *p, const struct profile_mapping *mapping)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (p->modules[i].path && mapping->name &&
                    strcmp(p->modules[i].path, mapping->name) == 0)
                        return true;
        return false;
}

/* Resident code and data of the program and of its libraries, at the last look. */
static uint64_t library_bytes(const struct profile *p)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < p->mapping_count; i++)
                if (is_module(p, &p->mappings[i]) && !own_mapping(p, &p->mappings[i]))
                        sum += p->mappings[i].rss_bytes;
        return sum;
}

static void summary_rss_above(struct summary *m, uint64_t above)
{
        uint64_t mapped = profile_mapped_bytes(m->p), code = library_bytes(m->p);

        text_size(m->out, (int64_t)above);
        if (mapped < above / 16 && above > m->p->totals.peak_bytes && code > above / 2 &&
            code <= above) {
                str_text(m->out, " above the heap, ");
                text_size(m->out, (int64_t)code);
                str_text(m->out, " of it libraries\n");
                return;
        }
        if (mapped < above / 16 || !mapped) {
                str_text(m->out, " more than the heap: see 'seep help rss'\n");
                return;
        }
        str_text(m->out, " above the heap, ");
        if (mapped > above)
                str_text(m->out, "some"); /* the rest was not resident */
        else
                text_size(m->out, (int64_t)mapped);
        str_text(m->out, " of it by mmap\n");
}

bool summary_maps_stacks_only(const struct summary *m)
{
        uint64_t mapped = m->p->totals.mmap_live_bytes;

        return profile_stack_bytes(m->p) >= mapped - mapped / 16;
}

void summary_mapped(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;
        uint64_t stacks = profile_stack_bytes(m->p);

        if (!t->mmap_live_bytes)
                return;
        summary_size(m, "mapped", t->mmap_live_bytes);
        str_text(m->out, "  by mmap at the end (");
        text_count(m->out, (int64_t)t->mmap_calls, "call");
        str_char(m->out, ')');
        if (stacks) {
                str_text(m->out, ", stacks ");
                text_size(m->out, (int64_t)stacks);
        }
        str_char(m->out, '\n');
        if (!summary_maps_stacks_only(m))
                summary_most(m, &m->mapped, t->mmap_live_bytes - stacks,
                             stacks ? "the rest" : "it");
}

void summary_rss(struct summary *m)
{
        const struct profile_totals *t = &m->p->totals;

        if (!t->rss_peak_bytes)
                return;
        summary_size(m, "peak RSS", t->rss_peak_bytes);
        str_text(m->out, "  ");
        if (t->rss_peak_bytes >= t->peak_bytes) {
                summary_rss_above(m, t->rss_peak_bytes - t->peak_bytes);
                return;
        }
        text_size(m->out, (int64_t)(t->peak_bytes - t->rss_peak_bytes));
        str_text(m->out, " less than the heap: see 'seep help rss'\n");
}

/* Most of what was resident at the last look is free memory of the allocator. */
void summary_free(struct summary *m, uint32_t lines)
{
        /* At exit the mappings are looked at, too. */
        const struct profile_scan *scan = profile_scanned(m->p);
        bool ended = scan && PROFILE_SCAN_IS_LAST(scan->when);
        const struct residence_part *most;
        struct str first = { 0 }, text = { 0 }, *out = m->out;
        struct residence_sums sums;

        residence_sum(m->p, &sums);
        most = residence_wasted(&sums);
        if (!most)
                return;
        m->out = &first;
        summary_size(m, ended ? "end RSS" : "last RSS", sums.rss_bytes);
        m->out = out;
        str_text(&first, "  ");
        if (!ended && m->p->totals.mappings_ms &&
            m->p->totals.mappings_ms + SUMMARY_SAME_MS < profile_end_ms(m->p)) {
                str_text(&text, "at ");
                text_time(&text, m->p->totals.mappings_ms);
                str_text(&text, ", ");
        }
        text_size(&text, (int64_t)most->free_bytes);
        str_format(&text, " of it free in %s", profile_keeper_word(most->keeper));
        if (lines != 1) {
                str_text(&text, ": ");
                residence_advice(most, &text);
        }
        if (lines)
                summary_fold(m, str_get(&first), str_get(&text), lines);
        else
                str_format(m->out, "%s%s\n", str_get(&first), str_get(&text));
        str_free(&first);
        str_free(&text);
}
