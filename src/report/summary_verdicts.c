/* SPDX-License-Identifier: MIT */
/*
 * summary_verdicts.c -- the sentences of the summary, for pages that arrange them in their own way.
 *
 * Keeps:  the words are those of the summary's own lines, without its columns.
 */
#include "report/summary_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/unseen.h"
#include "report/views.h"

/* Append LINES as one sentence: "  peak heap   12.0 KiB  at 1 s" becomes "peak heap: 12.0 KiB, at 1
 *                                              s".  Columns are two spaces apart at least. */
static void one_sentence(const char *lines, struct str *out)
{
        uint32_t columns = 0;

        while (*lines) {
                size_t gap = strspn(lines, " "), length = strcspn(lines + gap, " \n");
                bool column = gap > 1;

                if (out->length && length)
                        str_text(out, column ? (columns++ ? ", " : ": ") : " ");
                str_bytes(out, lines + gap, length);
                lines += gap + length;
                if (*lines == '\n') {
                        lines += strspn(lines, " \n");
                        columns = 0;
                        str_text(out, *lines && *lines != '(' ? ";" : "");
                }
        }
}

/* What was written to m->out since the verdict before, if anything, becomes one. */
static void add_verdict(struct summary_verdicts *v, struct summary *m,
                        struct summary_verdict verdict)
{
        struct str text = { 0 };

        one_sentence(str_get(m->out), &text);
        str_clear(m->out);
        if (text.length) {
                v->list = heap_grow(v->list, v->count + 1, sizeof *v->list);
                verdict.text = heap_text(text.data);
                v->list[v->count++] = verdict;
        }
        str_free(&text);
}

/* "    1.   12.0 KiB       3 blocks  grows: f" becomes "12.0 KiB in 3 blocks, grows: f". */
static void add_stack(const char *line, struct str *out)
{
        uint32_t words = 0;

        line = strchr(line, '.') + 1;
        for (size_t gap; *line; line += gap, words++) {
                gap = strspn(line, " ");
                if (gap && out->length)
                        str_text(out, words == 2 ? " in " : words == 4 ? ", " : " ");
                gap += strcspn(line + gap, " ");
                str_bytes(out, line + strspn(line, " "), gap - strspn(line, " "));
        }
}

static enum summary_level warn_unless_little(const struct summary *m, uint64_t bytes)
{
        return summary_is_little(m, bytes) ? SUMMARY_INFO : SUMMARY_WARN;
}

static void add_left(struct summary_verdicts *v, struct summary *m)
{
        const struct leaks *l = &m->leaks;
        /* A warning says what is missing. */
        enum summary_level fine = unseen_any(m->p) ? SUMMARY_WARN : SUMMARY_GOOD;
        enum summary_level level;

        if (!m->p->totals.live_blocks) {
                summary_all_freed(m);
                add_verdict(v, m, (struct summary_verdict){ fine, SUMMARY_ABOUT_LEAKS, 0, NULL });
                return;
        }
        if (m->lost)
                summary_lost(m);
        else
                summary_not_freed(m);
        if (m->lost)
                level = summary_lost_little(m) ? SUMMARY_WARN : SUMMARY_BAD;
        else
                level = l->scan ? fine : SUMMARY_INFO;
        add_verdict(v, m,
                    (struct summary_verdict){ level, SUMMARY_ABOUT_LEAKS,
                                              m->top_count ? m->top[0].site : 0, NULL });
        for (uint32_t i = 0; i < m->top_count; i++) {
                struct str line = { 0 }, *out = m->out;

                if (m->growth[m->top[i].site].class != GROWTH_GROWS)
                        continue;
                m->out = &line;
                summary_site(m, i);
                m->out = out;
                add_stack(str_get(&line), m->out);
                add_verdict(v, m,
                            (struct summary_verdict){ SUMMARY_WARN, SUMMARY_ABOUT_GROWTH,
                                                      m->top[i].site, NULL });
                str_free(&line);
        }
}

static void add_amount(struct summary_verdicts *v, struct summary *m, const char *what,
                       const struct leaks_sum *sum, enum summary_level level)
{
        if (sum->blocks)
                summary_amount(m, what, sum, "");
        add_verdict(v, m, (struct summary_verdict){ level, SUMMARY_ABOUT_LEAKS, 0, NULL });
}

static void add_rest(struct summary_verdicts *v, struct summary *m)
{
        const struct leaks *l = &m->leaks;

        if (!l->scan && m->p->totals.live_blocks) {
                str_text(m->out, "not searched for leaks: ");
                leaks_not_scanned(m->p, m->out);
                add_verdict(v, m,
                            (struct summary_verdict){ SUMMARY_INFO, SUMMARY_ABOUT_LEAKS, 0, NULL });
        }
        add_amount(v, m, "possibly lost ", &l->sums[PROFILE_LEAK_POSSIBLE],
                   warn_unless_little(m, l->sums[PROFILE_LEAK_POSSIBLE].bytes));
        add_amount(v, m, "suppressed ", &l->suppressed, SUMMARY_INFO);
        if (m->lost)
                add_amount(v, m, "not an error: still reachable ", &l->sums[PROFILE_LEAK_REACHABLE],
                           SUMMARY_INFO);
}

static void add_resources(struct summary_verdicts *v, struct summary *m)
{
        struct str held = { 0 };

        if (resources_held(m->p, &held))
                str_format(m->out, "RESOURCES NOT RELEASED: %s", str_get(&held));
        str_free(&held);
        add_verdict(v, m,
                    (struct summary_verdict){ SUMMARY_WARN, SUMMARY_ABOUT_RESOURCES, 0, NULL });
}

/* Invalid frees come first: they end programs, and what follows from them may be told of below. */
static void add_all(struct summary_verdicts *v, struct summary *m)
{
        const struct growth *grown = &m->growth[m->grown];
        enum summary_level level;

        summary_errors(m);
        add_verdict(v, m, (struct summary_verdict){ SUMMARY_BAD, SUMMARY_ABOUT_ERRORS, 0, NULL });
        add_left(v, m);
        summary_grown(m);
        level = warn_unless_little(m, (uint64_t)(grown->bytes_per_s * (double)grown->until_ms) /
                                              1000);
        add_verdict(v, m, (struct summary_verdict){ level, SUMMARY_ABOUT_GROWTH, m->grown, NULL });
        add_rest(v, m);
        summary_peak(m);
        add_verdict(v, m,
                    (struct summary_verdict){ SUMMARY_INFO, SUMMARY_ABOUT_PEAK, m->peak.site,
                                              NULL });
        summary_calls(m);
        add_verdict(v, m, (struct summary_verdict){ SUMMARY_INFO, SUMMARY_ABOUT_CALLS, 0, NULL });
        /* Stacks are mapped with their whole size, of which little is resident. */
        if (!summary_maps_stacks_only(m))
                summary_mapped(m);
        summary_rss(m);
        add_verdict(v, m, (struct summary_verdict){ SUMMARY_INFO, SUMMARY_ABOUT_RSS, 0, NULL });
        summary_free(m, 0);
        add_verdict(v, m, (struct summary_verdict){ SUMMARY_WARN, SUMMARY_ABOUT_RSS, 0, NULL });
        summary_modules(m);
        add_verdict(v, m, (struct summary_verdict){ SUMMARY_INFO, SUMMARY_ABOUT_NAMES, 0, NULL });
        summary_scripts(m);
        add_verdict(v, m, (struct summary_verdict){ SUMMARY_INFO, SUMMARY_ABOUT_NAMES, 0, NULL });
}

/* Those of one level stay in their order. */
static void sort(struct summary_verdicts *v)
{
        for (uint32_t i = 1; i < v->count; i++) {
                struct summary_verdict moved = v->list[i];
                uint32_t at = i;

                for (; at && v->list[at - 1].level > moved.level; at--)
                        v->list[at] = v->list[at - 1];
                v->list[at] = moved;
        }
}

void summary_verdicts_make(struct summary_verdicts *v, const struct profile *p, struct symbols *s)
{
        const struct summary_options options = { 0 };
        struct str out = { 0 };
        struct summary m = { .p = p, .symbols = s, .options = &options, .out = &out };

        *v = (struct summary_verdicts){ 0 };
        add_resources(v, &m);
        if (!p->totals.allocations && !p->totals.mmap_calls) {
                summary_nothing(&m);
                add_verdict(v, &m,
                            (struct summary_verdict){ SUMMARY_WARN, SUMMARY_ABOUT_RECORDING, 0,
                                                      NULL });
        } else {
                m.growth = growth_judge(p, NULL);
                summary_search(&m);
                summary_find_top(&m);
                add_all(v, &m);
                leaks_free(&m.leaks);
                select_free(&m.sel);
                free(m.growth);
        }
        sort(v);
        str_free(&out);
}

void summary_verdicts_free(struct summary_verdicts *v)
{
        for (uint32_t i = 0; i < v->count; i++)
                free(v->list[i].text);
        free(v->list);
        *v = (struct summary_verdicts){ 0 };
}
