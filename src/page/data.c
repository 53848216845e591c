/* SPDX-License-Identifier: MIT */
/*
 * data.c -- the data of the page: everything about one recording, or two, as JSON in gzip.
 *
 * Keeps:  what does not fit is summed or thinned, a little at first, and told.
 * Cost:   100,000 call stacks of 20 frames: about a second.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/heap.h"
#include "base/json.h"
#include "page/page_parts.h"
#include "query/wrapper_learn.h"
#include "words/label.h"

enum {
        DATA_FAST_FROM = 4 << 20, /* bytes of JSON from which on time counts for more than size */
        DATA_FAST = 3,
        DATA_SMALL = 7,
        DATA_SITE_LEAST = 32 /* bytes of the page that a call stack takes at least; 85 are usual */
};

/* From everything to hardly anything; the first that fits is taken. */
static const struct page_limits data_limits[] = {
        { 0, UINT32_MAX, 2000, 400000, 5000, 4 << 20 },
        { 0.0001, 100000, 1000, 300000, 2000, 2 << 20 },
        { 0.0002, 50000, 1000, 200000, 2000, 2 << 20 },
        { 0.0005, 25000, 500, 100000, 1000, 1 << 20 },
        { 0.001, 12000, 500, 100000, 1000, 1 << 20 },
        { 0.002, 6000, 250, 50000, 500, 1 << 20 },
        { 0.005, 3000, 250, 50000, 500, 1 << 19 },
        { 0.01, 1000, 100, 20000, 200, 1 << 18 },
        { 0.05, 100, 50, 5000, 100, 1 << 16 },
        { 0.5, 1, 50, 1000, 20, 0 },
};

void page_name(struct page *g, const char *name)
{
        str_format(g->out, "%s\n\"%s\":", g->out->data[g->out->length - 1] == '{' ? "" : ",", name);
}

void page_table(struct page *g, const char *name, struct grid *t)
{
        page_name(g, name);
        grid_write(t, g->out);
        grid_free(t);
}

void page_cut(struct page *g, const char *format, ...)
{
        char sentence[256];
        va_list args;

        va_start(args, format);
        vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        if (g->cut.length)
                str_char(&g->cut, ',');
        json_text(&g->cut, sentence);
}

/* ---- one recording ---- */

static bool begin(struct page *g, const struct page_request *r, uint32_t number, struct err *e)
{
        *g = (struct page){ .r = r, .recording = &r->recordings[number] };
        g->p = g->recording->profile;
        g->s = g->recording->symbols;
        if (!page_find_sites(g, e))
                return false;
        page_find_types(g); /* it takes room that the graph of pointers needs later */
        page_find_leaks(g);
        page_find_processes(g);
        page_find_cycles(g);
        return true;
}

static void end(struct page *g)
{
        page_free_leaks(g);
        page_free_processes(g);
        page_free_types(g);
        page_free_cycles(g);
        select_free(&g->sel);
        select_free(&g->whole);
        wrappers_free(&g->wrappers);
        lookup_free(&g->passed);
}

static void write_modules(struct page *g)
{
        struct grid t;

        grid_start(&t, "path short load_ms gone_ms");
        for (uint32_t i = 0; i < g->p->module_count; i++) {
                const struct profile_module *m = &g->p->modules[i];

                GRID_ROW(&t, lexicon_of(&g->lexicon, m->path),
                         lexicon_of(&g->lexicon, label_base(m->path)), (int64_t)m->load_ms,
                         (int64_t)m->gone_ms);
        }
        page_table(g, "modules", &t);
}

static void write_recording(struct page *g, const struct page_limits *limits, struct str *out)
{
        g->limits = limits;
        g->out = out;
        g->rest[0] = g->rest[1] = GRID_NONE;
        g->row_of = heap_zero(g->p->site_count, sizeof *g->row_of);
        for (uint32_t i = 0; i < g->p->site_count; i++)
                g->row_of[i] = GRID_NONE;
        wrapper_learn(g->p, g->s);
        calls_start(&g->calls, g->p, g->s, &g->lexicon, &g->wrappers);
        str_char(out, '{');
        page_write_sites(g);
        page_write_meta(g);
        page_write_threads(g);
        page_write_course(g);
        page_write_leaks(g);
        page_write_paths(g);
        page_write_owners(g);
        page_write_holdings(g);
        page_write_errors(g);
        page_write_types(g);
        page_write_cycles(g);
        page_write_fragmentation(g);
        page_write_mappings(g);
        page_write_resources(g);
        page_write_processes(g);
        write_modules(g);
        page_write_source(g);
        page_table(g, "functions", &g->calls.functions);
        page_table(g, "frames", &g->calls.frames);
        page_table(g, "nodes", &g->calls.nodes);
        str_format(out, ",\n\"cut\":[%s]", str_get(&g->cut));
        str_text(out, ",\n\"strings\":[");
        str_bytes(out, str_get(&g->lexicon.json), g->lexicon.json.length);
        str_text(out, "]}");
        calls_free(&g->calls);
        lexicon_free(&g->lexicon);
        str_free(&g->cut);
        free(g->row_of);
        free(g->slice_of);
}

/* ---- the whole ---- */

static void add_word(struct str *out, const char *name, const char *word)
{
        str_format(out, "\"%s\":", name);
        json_text(out, word);
}

/* On-demand data are of one view only. */
static void write_view(const struct page_request *r, struct str *out)
{
        str_text(out, ",\"view\":");
        if (!r->at && !r->range && !r->filter_text) {
                str_text(out, "null");
                return;
        }
        str_char(out, '{');
        add_word(out, "at", r->at);
        str_char(out, ',');
        add_word(out, "range", r->range);
        str_char(out, ',');
        add_word(out, "filter", r->filter_text);
        str_char(out, '}');
}

static bool write_compared(const struct page_request *r, bool once, struct str *out, struct err *e)
{
        str_text(out, ",\"compare\":");
        if (r->count < 2 || r->together) {
                str_text(out, "null");
                return true;
        }
        for (uint32_t i = 0; i < 2; i++) {
                const struct page_recording *recording = &r->recordings[i];
                const char *word = recording->moment ? recording->moment : "end";
                struct moment m;

                if (!moment_find(recording->profile, word, &m, e))
                        return err_context(e, "%s", recording->file);
                str_format(out, "%s:{\"recording\":%u,", i ? ",\"new\"" : "{\"old\"", once ? 0 : i);
                str_format(out, "\"mark\":%d,", m.type == MOMENT_MARK ? (int)m.mark : GRID_NONE);
                str_format(out, "\"ms\":%" PRIu64 ",",
                           m.type == MOMENT_PEAK  ? profile_peak_ms(recording->profile)
                           : m.type == MOMENT_END ? recording->profile->meta.duration_ms
                                                  : m.ms);
                add_word(out, "word", word);
                str_char(out, '}');
        }
        str_char(out, '}');
        return true;
}

static bool write_all(const struct page_request *r, struct page *pages, uint32_t count,
                      const struct page_limits *limits, struct str *out, struct err *e)
{
        str_clear(out);
        str_format(out, "{\"seep_page\":1,\"live\":%s,\"together\":%s", r->live ? "true" : "false",
                   r->together ? "true" : "false");
        write_view(r, out);
        if (!write_compared(r, count < r->count, out, e))
                return false;
        str_text(out, ",\"recordings\":[");
        for (uint32_t i = 0; i < count; i++) {
                str_text(out, i ? ",\n" : "\n");
                write_recording(&pages[i], limits, out);
        }
        str_text(out, "]}\n");
        return true;
}

/* What the data will take in the page, where they are base64. */
static size_t size_in_page(size_t packed)
{
        return (packed + 2) / 3 * 4;
}

/* Whether so many call stacks are far more than fit, however well they pack: then nobody tries. */
static bool is_hopeless(const struct page *pages, uint32_t count, const struct page_limits *limits,
                        size_t most)
{
        for (uint32_t i = 0; i < count; i++) {
                uint32_t sites = pages[i].sel.heap.count + pages[i].sel.mapped.count;

                if ((sites < limits->sites ? sites : limits->sites) > most / DATA_SITE_LEAST)
                        return true;
        }
        return false;
}

static bool fit(const struct page_request *r, struct page *pages, uint32_t count, struct str *out,
                struct err *e)
{
        const size_t most = r->data_max ? r->data_max : PAGE_DATA_MAX, start = out->length;
        struct str json = { 0 };
        bool fits = false, good = true;

        for (size_t i = 0; good && !fits && i < sizeof data_limits / sizeof data_limits[0]; i++) {
                if (is_hopeless(pages, count, &data_limits[i], most))
                        continue;
                good = write_all(r, pages, count, &data_limits[i], &json, e);
                if (!good)
                        continue;
                out->length = start;
                gzip_pack(json.data, json.length,
                          json.length < DATA_FAST_FROM ? DATA_SMALL : DATA_FAST, out);
                fits = size_in_page(out->length - start) <= most;
        }
        str_free(&json);
        if (good && !fits)
                return err_set(e, ERR_EXIT_FINDINGS,
                               "the data of the page need more than %zu bytes, however much is cut",
                               most);
        return good;
}

bool page_data(const struct page_request *r, struct str *out, struct err *e)
{
        bool one = r->count == 2 && r->recordings[0].profile == r->recordings[1].profile;
        uint32_t count = one ? 1 : r->count, made = 0;
        struct page *pages = heap_zero(count, sizeof *pages);
        bool good = true;

        for (; good && made < count; made++)
                good = begin(&pages[made], r, made, e);
        good = good && fit(r, pages, count, out, e);
        while (made--)
                end(&pages[made]);
        free(pages);
        return good;
}
