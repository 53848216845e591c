/* SPDX-License-Identifier: MIT */
/*
 * summary_end.c -- what was left when the program ended: leaks, what is still reachable,
 * or all that was not freed.
 */
#include "report/summary_parts.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/ledger.h"
#include "profile/unseen.h"
#include "report/views.h"
#include "words/text.h"

enum { SUMMARY_REASON = 2 }; /* lines that tell why there was no search */

/* ---- which stacks ---- */

/* Lines that name the same are one. */
static void summary_find_lost(struct summary *m)
{
        const struct leaks_options options = { .show = 1u << PROFILE_LEAK_DEFINITE, .lines = true };
        uint32_t count;
        struct leaks_row *rows = leaks_places(&m->leaks, m->symbols, &options, &count);

        for (uint32_t i = 0; i < count && i < SUMMARY_TOP; i++)
                m->top[m->top_count++] = (struct summary_top){ rows[i].stack->site, rows[i].own,
                                                               rows[i].hanging };
        free(rows);
}

void summary_find_top(struct summary *m)
{
        struct summary_top peak[SUMMARY_TOP], mapped[SUMMARY_TOP];

        m->lost = m->leaks.sums[PROFILE_LEAK_DEFINITE].blocks != 0;
        if (m->lost)
                summary_find_lost(m);
        else
                m->top_count = summary_places(m, SUMMARY_AT_END, m->top);
        if (summary_places(m, SUMMARY_AT_PEAK, peak) && peak[0].left.bytes)
                m->peak = peak[0];
        if (profile_is_mostly_mapped(m->p) && summary_places(m, SUMMARY_MAPPED, mapped))
                m->mapped = mapped[0];
        for (uint32_t i = 1; i < m->p->site_count; i++) {
                if (!PROFILE_KIND_IS_COUNTED(m->p->sites[i].kind))
                        continue;
                if (growth_was_freed(m->p, i, &m->growth[i])) {
                        m->grown_more += m->grown != 0;
                        m->grown = m->grown && m->growth[m->grown].bytes_per_s >=
                                                           m->growth[i].bytes_per_s
                                           ? m->grown
                                           : i;
                }
        }
}

bool summary_grows(const struct summary *m)
{
        if (m->grown)
                return true;
        for (uint32_t i = 0; i < m->top_count; i++)
                if (m->growth[m->top[i].site].class == GROWTH_GROWS)
                        return true;
        return false;
}

/* ---- lines ---- */

/* " (60 B/s)", " (bounded)", " (once)", " (+40.2 KiB, once)", " (older than the recording)", or
 * nothing. */
static void summary_course(const struct summary_top *top, const struct growth *growth, bool older,
                           struct str *text)
{
        struct str words = { 0 }, word = { 0 };

        if (top->hanging.blocks) {
                str_char(&words, '+');
                text_size(&words, (int64_t)top->hanging.bytes);
        }
        growth_write(growth, &word);
        if (older)
                str_format(&words, "%s" PROFILE_KIND_OLDER_TEXT, words.length ? ", " : "");
        if (word.length)
                str_format(&words, "%s%s", words.length ? ", " : "",
                           str_get(&word) + (growth->class == GROWTH_GROWS ? strlen("grows ") : 0));
        if (words.length)
                str_format(text, " (%s)", str_get(&words));
        str_free(&words);
        str_free(&word);
}

static void summary_count(struct summary *m, uint32_t number)
{
        const struct summary_top *top = &m->top[number];
        struct str size = { 0 }, count = { 0 };

        text_size(&size, (int64_t)top->left.bytes);
        text_number(&count, (int64_t)top->left.blocks);
        str_format(m->out, "    %u. %10s %7s %-6s  ", number + 1, str_get(&size), str_get(&count),
                   top->left.blocks == 1 ? "block" : "blocks");
        str_free(&size);
        str_free(&count);
}

/* What hangs on a site stays whatever the stack takes: it decides the order.  For it and for the
 * line of the source "grows: " is left out, and how fast. */
void summary_site(struct summary *m, uint32_t number)
{
        const struct summary_top *top = &m->top[number];
        const struct growth *judged = &m->growth[top->site];
        struct growth growth = m->lost ? leaks_growth(judged) : *judged;
        struct str course = { 0 }, hanging = { 0 };
        bool grows = growth.class == GROWTH_GROWS;
        size_t start = m->out->length, begin;

        summary_count(m, number);
        begin = m->out->length;
        summary_course(top, &growth, profile_is_older(m->p, top->site), &course);
        if (top->hanging.blocks)
                summary_course(top, &(struct growth){ 0 }, false, &hanging);
        for (;; grows = false) {
                m->out->length = begin;
                str_text(m->out, grows ? "grows: " : "");
                summary_stack(m, m->p->sites[top->site].node, start,
                              growth.class == GROWTH_GROWS || hanging.length ? course.length : 0,
                              hanging.length);
                if (!grows || m->out->length - start + hanging.length <= SUMMARY_COLUMNS)
                        break;
        }
        text_cut(m->out, start, SUMMARY_COLUMNS - hanging.length);
        if (m->out->length - start + course.length <= SUMMARY_COLUMNS)
                str_text(m->out, str_get(&course));
        else
                str_text(m->out, str_get(&hanging));
        str_char(m->out, '\n');
        str_free(&course);
        str_free(&hanging);
}

/* "grew 1.4 MiB/s until 24.8 s, freed at exit: parse a.c:10 <- main" */
void summary_grown(struct summary *m)
{
        size_t start = m->out->length;

        if (!m->grown)
                return;
        str_text(m->out, "  grew ");
        growth_rate(m->growth[m->grown].bytes_per_s, m->out);
        str_text(m->out, " until ");
        text_time(m->out, m->growth[m->grown].until_ms);
        str_text(m->out, ", freed at exit");
        if (m->grown_more)
                str_format(m->out, " (and %u more)", m->grown_more);
        str_text(m->out, ": ");
        summary_stack(m, m->p->sites[m->grown].node, start, 0, 0);
        text_cut(m->out, start, SUMMARY_COLUMNS);
        str_char(m->out, '\n');
}

void summary_amount(struct summary *m, const char *before, const struct leaks_sum *sum,
                    const char *behind)
{
        str_text(m->out, before);
        text_size(m->out, (int64_t)sum->bytes);
        str_text(m->out, " in ");
        text_count(m->out, (int64_t)sum->blocks, "block");
        str_text(m->out, behind);
}

/* Lines behind the stacks. */
static uint32_t summary_rest_lines(const struct summary *m)
{
        const struct leaks *l = &m->leaks;

        if (!l->scan)
                return SUMMARY_REASON;
        return (l->sums[PROFILE_LEAK_POSSIBLE].blocks || l->suppressed.blocks) +
               (m->lost && l->sums[PROFILE_LEAK_REACHABLE].blocks);
}

static void summary_rest(struct summary *m)
{
        const struct leaks *l = &m->leaks;
        const struct leaks_sum *possible = &l->sums[PROFILE_LEAK_POSSIBLE];
        struct str reason = { 0 };

        if (!l->scan) {
                leaks_not_scanned(m->p, &reason);
                summary_fold(m, "  not searched for leaks: ", str_get(&reason), SUMMARY_REASON);
                str_free(&reason);
                return;
        }
        if (possible->blocks)
                summary_amount(m, "  possibly lost ", possible, l->suppressed.blocks ? "; " : "\n");
        if (l->suppressed.blocks)
                summary_amount(m, possible->blocks ? "suppressed " : "  suppressed ",
                               &l->suppressed, "\n");
        if (m->lost && l->sums[PROFILE_LEAK_REACHABLE].blocks)
                summary_amount(m, "  still reachable ", &l->sums[PROFILE_LEAK_REACHABLE],
                               " (not an error)\n");
}

bool summary_is_little(const struct summary *m, uint64_t bytes)
{
        return bytes < (m->p->totals.peak_bytes + profile_mapped_bytes(m->p)) / SUMMARY_LITTLE_PART;
}

bool summary_lost_little(const struct summary *m)
{
        const struct leaks_sum *sums = m->leaks.sums;

        for (uint32_t i = 0; i < m->top_count; i++)
                if (m->growth[m->top[i].site].class == GROWTH_GROWS)
                        return false;
        return summary_is_little(m, sums[PROFILE_LEAK_DEFINITE].bytes +
                                            sums[PROFILE_LEAK_INDIRECT].bytes);
}

/* "LEAKS: 12.0 KiB in 3 blocks definitely lost, 40.2 KiB indirectly lost" */
void summary_lost(struct summary *m)
{
        const struct leaks_sum *definite = &m->leaks.sums[PROFILE_LEAK_DEFINITE],
                               *indirect = &m->leaks.sums[PROFILE_LEAK_INDIRECT];

        text_color(m->out, m->options->color, summary_lost_little(m) ? TEXT_YELLOW : TEXT_RED);
        summary_amount(m, "  LEAKS: ", definite, " definitely lost");
        text_plain(m->out, m->options->color);
        if (indirect->blocks) {
                str_text(m->out, ", ");
                text_size(m->out, (int64_t)indirect->bytes);
                str_text(m->out, " indirectly lost");
        }
        str_char(m->out, '\n');
}

void summary_not_freed(struct summary *m)
{
        struct leaks_sum live = { m->p->totals.live_blocks, m->p->totals.live_bytes };
        bool running = m->p->meta.end == PROFILE_END_UNKNOWN;

        text_color(m->out, m->options->color, TEXT_BOLD);
        if (m->leaks.scan)
                str_text(m->out, unseen_any(m->p) ? "  NO LEAKS SEEN," : "  NO LEAKS,");
        summary_amount(m, m->leaks.scan ? " NOT FREED: " : "  NOT FREED: ", &live, "");
        text_plain(m->out, m->options->color);
        str_text(m->out, running ? " so far\n" : " at the end\n");
}

void summary_all_freed(struct summary *m)
{
        if (!m->p->totals.sample_bytes) {
                str_format(m->out, "everything %s was freed",
                           unseen_any(m->p) ? "that was seen" : "on the heap");
                return;
        }
        str_text(m->out, "every sampled block was freed; less than about ");
        text_size(m->out, (int64_t)m->p->totals.sample_bytes);
        str_text(m->out, " may be left");
}

/* Lines left for stacks when everything else has its place. */
static uint32_t summary_room(const struct summary *m, uint32_t below)
{
        uint32_t used = 1 + summary_rest_lines(m) + (m->grown != 0) + below; /* the heading */

        for (size_t i = m->start; i < m->out->length; i++)
                used += m->out->data[i] == '\n';
        return used < SUMMARY_LINES ? SUMMARY_LINES - used : 1;
}

void summary_end(struct summary *m, uint32_t below)
{
        uint32_t room = summary_room(m, below);

        if (!m->p->totals.live_blocks) {
                str_text(m->out, "  ");
                summary_all_freed(m);
                str_char(m->out, '\n');
                summary_grown(m);
                return;
        }
        if (m->lost)
                summary_lost(m);
        else
                summary_not_freed(m);
        for (uint32_t i = 0; i < m->top_count && i < room; i++)
                summary_site(m, i);
        summary_grown(m);
        summary_rest(m);
}
