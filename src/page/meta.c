/* SPDX-License-Identifier: MIT */
/* meta.c -- what was recorded and how it ended; totals; the sentences of the summary. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/signals.h"
#include "export/report_json.h"
#include "page/page_parts.h"

static void add_text(struct page *g, const char *before, const char *name, const char *text)
{
        str_format(g->out, "%s\"%s\":", before, name);
        json_text(g->out, text);
}

static void add_texts(struct page *g, char *const *texts, uint32_t count)
{
        str_char(g->out, '[');
        for (uint32_t i = 0; i < count; i++) {
                if (i)
                        str_char(g->out, ',');
                json_text(g->out, texts[i]);
        }
        str_char(g->out, ']');
}

static void write_end(struct page *g)
{
        const struct profile_meta *m = &g->p->meta;
        char signal[SIGNALS_NAME_BYTES], text[64];

        signals_name(m->exit_signal, signal);
        switch (m->end) {
        case PROFILE_END_EXIT:
                snprintf(text, sizeof text, "ended with status %" PRIu32, m->exit_code);
                break;
        case PROFILE_END_SIGNAL:
                snprintf(text, sizeof text, "killed by %s", signal);
                break;
        case PROFILE_END_EXEC:
                snprintf(text, sizeof text, "became another program");
                break;
        case PROFILE_END_GONE:
                snprintf(text, sizeof text, "ended, status unknown");
                break;
        /* Of a process without a file that nobody can look at any more, this is the last look. */
        default:
                snprintf(text, sizeof text, "%s",
                         g->r->live || g->recording->file
                                 ? "still running"
                                 : "ended, or no longer recorded: last known state");
        }
        add_text(g, ",", "end", text);
        if (m->end == PROFILE_END_EXIT)
                json_field(g->out, ",\"", "exit_code", m->exit_code);
        else
                str_text(g->out, ",\"exit_code\":null");
        add_text(g, ",", "exit_signal", m->end == PROFILE_END_SIGNAL ? signal : NULL);
}

static void write_meta(struct page *g)
{
        const struct profile_meta *m = &g->p->meta;

        page_name(g, "meta");
        add_text(g, "{", "file", g->recording->file);
        add_text(g, ",", "program", m->program);
        add_text(g, ",", "exe", m->exe);
        str_text(g->out, ",\"args\":");
        add_texts(g, m->args, m->arg_count);
        add_text(g, ",", "cwd", m->cwd);
        add_text(g, ",", "host", m->host);
        add_text(g, ",", "engine", m->engine);
        add_text(g, ",", "version", m->version);
        json_field(g->out, ",\"", "pid", m->pid);
        json_field(g->out, ",\"", "ppid", m->ppid);
        json_field(g->out, ",\"", "start_unix_ms", m->start_realtime_ns / 1000000);
        json_field(g->out, ",\"", "duration_ms", m->duration_ms);
        json_field(g->out, ",\"", "word_bytes", m->word_bytes);
        str_format(g->out, ",\"complete\":%s,\"running\":%s", m->complete ? "true" : "false",
                   g->r->live && m->end == PROFILE_END_UNKNOWN ? "true" : "false");
        json_field(g->out, ",\"", "sampled",
                   g->p->totals.sample_bytes ? g->p->totals.sample_bytes : g->p->totals.thin_bytes);
        write_end(g);
        str_char(g->out, '}');
        page_name(g, "warnings");
        add_texts(g, m->warnings, m->warning_count);
}

/* ---- totals ---- */

static void write_classes(struct page *g, const char *name, const uint64_t *classes, uint32_t count)
{
        page_name(g, name);
        grid_list((const int64_t *)classes, count, 1, g->out);
}

/* Class 0 is 0, class k is 2^(k-1) to 2^k - 1. */
static void write_bounds(struct page *g, const char *name, uint32_t count)
{
        page_name(g, name);
        str_text(g->out, "[0");
        for (uint32_t i = 0; i < count; i++)
                str_format(g->out, ",%" PRIu64, UINT64_C(1) << i);
        str_char(g->out, ']');
}

static void write_totals(struct page *g)
{
        const struct profile_totals *t = &g->p->totals;

        page_name(g, "totals");
        str_char(g->out, '{');
        report_json_total_numbers(g->p, g->out);
        str_format(g->out, ",\"mostly_mapped\":%s,\"stack_bytes\":%" PRIu64,
                   profile_is_mostly_mapped(g->p) ? "true" : "false", profile_stack_bytes(g->p));
        write_classes(g, "size_classes", t->sizes, LEDGER_SIZE_CLASSES);
        write_classes(g, "lifetime_classes", t->lifetimes, LEDGER_LIFETIME_CLASSES);
        str_char(g->out, '}');
        write_bounds(g, "size_bounds", LEDGER_SIZE_CLASSES);
        write_bounds(g, "lifetime_bounds", LEDGER_LIFETIME_CLASSES);
}

/* ---- verdicts ---- */

/* The page of the viewer that tells more. */
static const char *const topic_pages[SUMMARY_TOPIC_COUNT] = {
        [SUMMARY_ABOUT_RECORDING] = "help",    [SUMMARY_ABOUT_LEAKS] = "leaks",
        [SUMMARY_ABOUT_GROWTH] = "leaks",      [SUMMARY_ABOUT_ERRORS] = "leaks",
        [SUMMARY_ABOUT_RESOURCES] = "threads", [SUMMARY_ABOUT_PEAK] = "flame",
        [SUMMARY_ABOUT_CALLS] = "temporaries", [SUMMARY_ABOUT_RSS] = "mappings",
        [SUMMARY_ABOUT_NAMES] = "source",
};

static void write_verdicts(struct page *g)
{
        static const char *const levels[] = { [SUMMARY_BAD] = "bad", [SUMMARY_WARN] = "warn",
                                              [SUMMARY_GOOD] = "good", [SUMMARY_INFO] = "info" };

        page_name(g, "verdicts");
        str_char(g->out, '[');
        for (uint32_t i = 0; i < g->verdicts.count; i++) {
                const struct summary_verdict *v = &g->verdicts.list[i];
                int64_t row = page_row(g, v->site);

                add_text(g, i ? ",{" : "{", "level", levels[v->level]);
                add_text(g, ",", "text", v->text);
                add_text(g, ",", "page", topic_pages[v->topic]);
                str_format(g->out, ",\"site\":%" PRId64 "}", row == g->rest[1] ? GRID_NONE : row);
        }
        str_char(g->out, ']');
}

void page_write_meta(struct page *g)
{
        write_meta(g);
        write_totals(g);
        write_verdicts(g);
}
