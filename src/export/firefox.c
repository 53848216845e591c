/* SPDX-License-Identifier: MIT */
/*
 * firefox.c -- a profile for the Firefox Profiler: allocations with their stacks over time,
 * and the heap as a track.
 *
 * Keeps:  processed format, version 48, which later versions of the profiler convert.  One row for
 *         each event of the log, up to FIREFOX_ROWS of them; without a log a few rows for each
 *         stack and moment.  What is released has the stack of its allocation.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/order.h"
#include "export/course.h"
#include "export/log.h"
#include "export/pieces.h"
#include "export/stack_costs.h"
#include "export/strings.h"
#include "words/label.h"

#define FIREFOX_ROWS 2000000u /* some 60 MB; a browser takes no more */

/* Rows of what came and went, column by column. */
struct rows_json {
        struct str time, weight, stack, address, thread;
        uint32_t count;
};

struct firefox {
        const struct export_input *in;
        struct course_span span;
        struct stack_costs stacks;
        struct strings strings;
        struct rows_json rows;
};

/* ---- what came and went ---- */

static void put_number(struct str *column, uint32_t row, uint64_t value)
{
        if (row)
                str_char(column, ',');
        json_number(column, value);
}

/* NODE 0: no stack. */
static void put_row(struct firefox *f, uint64_t ms, bool came, uint64_t bytes, uint32_t node)
{
        struct rows_json *r = &f->rows;

        put_number(&r->time, r->count, ms);
        if (r->count)
                str_char(&r->weight, ',');
        if (!came)
                str_char(&r->weight, '-');
        json_number(&r->weight, bytes);
        if (node)
                put_number(&r->stack, r->count, node - 1u);
        else
                str_text(&r->stack, r->count ? ",null" : "null");
}

static void end_row(struct firefox *f, uint64_t address, uint64_t tid)
{
        put_number(&f->rows.address, f->rows.count, address);
        put_number(&f->rows.thread, f->rows.count, tid);
        f->rows.count++;
}

static void rows_json_free(struct rows_json *r)
{
        struct str *columns[] = { &r->time, &r->weight, &r->stack, &r->address, &r->thread };

        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
                str_free(columns[i]);
        *r = (struct rows_json){ 0 };
}

/* By site: the node of its stack; 0 none. */
static uint32_t *nodes_of_sites(const struct stack_costs *s)
{
        uint32_t *nodes = heap_zero(s->profile->site_count, sizeof *nodes);

        for (uint32_t i = 0; i < s->sel->heap.count; i++)
                nodes[s->sel->heap.rows[i].site] = s->ends[i];
        for (uint32_t i = 0; i < s->profile->site_count; i++)
                nodes[i] = nodes[s->sel->leaders[i]];
        return nodes;
}

/* false: there are too many. */
static bool rows_of_log(struct firefox *f, struct log *log)
{
        const struct profile *p = f->in->profile;
        uint32_t *nodes = nodes_of_sites(&f->stacks);
        struct log_event e;
        uint64_t ms = 0;
        bool fits = true;

        while (fits && log_next(log, &e)) {
                ms = e.ms > ms ? e.ms : ms;
                put_row(f, ms, e.came, e.size, nodes[e.site]);
                end_row(f, e.address, e.thread < p->thread_count ? p->threads[e.thread].tid : 0);
                fits = f->rows.count < FIREFOX_ROWS;
        }
        free(nodes);
        return fits;
}

/* A row that is to be: of which piece, when. */
struct moment_row {
        uint32_t slice, piece;
        bool went;
};

static int compare_rows(const void *a, const void *b)
{
        const struct moment_row *x = a, *y = b;

        if (x->slice != y->slice)
                return x->slice < y->slice ? -1 : 1;
        if (x->went != y->went)
                return x->went - y->went;
        return ORDER(x->piece, y->piece);
}

static void rows_of_moments(struct firefox *f)
{
        const struct profile *p = f->in->profile;
        struct pieces pieces;
        struct moment_row *rows;
        uint32_t count = 0;
        uint64_t ms = 0;

        pieces_make(&pieces, &f->stacks, &f->span);
        rows = heap_zero(2 * (size_t)pieces.count, sizeof *rows);
        for (uint32_t i = 0; i < pieces.count; i++) {
                if (pieces.at[i].came < f->span.first)
                        continue;
                rows[count++] = (struct moment_row){ pieces.at[i].came, i, false };
                if (pieces.at[i].went != PIECES_STAY)
                        rows[count++] = (struct moment_row){ pieces.at[i].went, i, true };
        }
        qsort(rows, count, sizeof *rows, compare_rows);
        for (uint32_t i = 0; i < count; i++) {
                const struct course_piece *piece = &pieces.at[rows[i].piece];
                uint64_t now = span_ms(&f->span, p, rows[i].slice);

                ms = now > ms ? now : ms;
                put_row(f, ms, !rows[i].went, piece->bytes, f->stacks.samples[piece->sample].node);
                end_row(f, rows[i].piece + 1ull, p->meta.pid);
        }
        free(rows);
        pieces_free(&pieces);
}

/* The log where there is one; false: without one, what single threads did over time is not
 * known. */
static bool make_rows(struct firefox *f, struct err *e)
{
        struct log log;
        bool good = log_open(&log, f->in, e) && rows_of_log(f, &log);

        if (good && !log.ended)
                export_remark_cut(f->in, log.events);
        else if (!good && log.events && f->in->remarks)
                str_format(f->in->remarks,
                           "the event log has more than %u rows for the Firefox Profiler: what "
                           "each stack did from moment to moment is exported instead (-i, -x, "
                           "--module and --thread select less)\n", FIREFOX_ROWS);
        if (!good && f->in->sel->moment != SELECT_OF_RUN)
                err_set(e, ERR_EXIT_USAGE,
                        "--thread: what single threads did over time is in the event log only: "
                        "'seep record --events' keeps one%s",
                        log.events ? ", and this one is too long for the Firefox Profiler" : "");
        else if (!good) {
                *e = (struct err){ 0 };
                rows_json_free(&f->rows);
                rows_of_moments(f);
        }
        log_close(&log);
        return !e->exit_code;
}

static void put_rows(const struct firefox *f, struct str *out)
{
        const struct rows_json *r = &f->rows;
        const struct {
                const char *name;
                const struct str *column;
        } columns[] = { { "time", &r->time },
                        { "weight", &r->weight },
                        { "stack", &r->stack },
                        { "memoryAddress", &r->address },
                        { "threadId", &r->thread } };

        str_text(out, ",\n  \"nativeAllocations\": {\"weightType\": \"bytes\"");
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
                str_format(out, ",\n   \"%s\": [", columns[i].name);
                str_bytes(out, str_get(columns[i].column), columns[i].column->length);
                str_char(out, ']');
        }
        json_field(out, ",\n   \"", "length", r->count);
        str_char(out, '}');
}

/* ---- stacks ---- */

/* COUNT times TEXT as the list NAME. */
static void put_same(struct str *out, const char *name, const char *text, uint32_t count)
{
        str_format(out, ",\n   \"%s\": [", name);
        for (uint32_t i = 0; i < count; i++) {
                if (i)
                        str_char(out, ',');
                str_text(out, text);
        }
        str_char(out, ']');
}

/* Append ", NAME: [...]" of VALUES; UINT32_MAX is null. */
static void put_list(struct str *out, const char *name, const uint32_t *values, uint32_t count)
{
        str_format(out, ",\n   \"%s\": [", name);
        for (uint32_t i = 0; i < count; i++) {
                if (i)
                        str_char(out, ',');
                if (values[i] == UINT32_MAX)
                        str_text(out, "null");
                else
                        json_number(out, values[i]);
        }
        str_char(out, ']');
}

static void put_stack_table(const struct stack_costs *s, struct str *out)
{
        uint32_t count = s->node_count - 1, *frame = heap_zero(count, sizeof *frame),
                 *prefix = heap_zero(count, sizeof *prefix);

        for (uint32_t i = 0; i < count; i++) {
                frame[i] = s->nodes[i + 1].frame;
                prefix[i] = s->nodes[i + 1].parent ? s->nodes[i + 1].parent - 1 : UINT32_MAX;
        }
        str_text(out, ",\n  \"stackTable\": {");
        json_field(out, "\"", "length", count);
        put_list(out, "frame", frame, count);
        put_list(out, "prefix", prefix, count);
        put_same(out, "category", "0", count);
        put_same(out, "subcategory", "0", count);
        str_char(out, '}');
        free(frame);
        free(prefix);
}

/* Functions, from frames: equal in name, file and module.  By frame: its function. */
struct functions {
        uint32_t *of_frame, *name, *file, *resource;
        uint32_t count;
        struct strings keys, modules;
};

static void make_functions(struct firefox *f, struct functions *functions)
{
        const struct stack_costs *s = &f->stacks;
        struct str name = { 0 }, key = { 0 };
        size_t room = (size_t)s->frame_count;

        *functions = (struct functions){ heap_zero(room, sizeof(uint32_t)),
                                         heap_zero(room, sizeof(uint32_t)),
                                         heap_zero(room, sizeof(uint32_t)),
                                         heap_zero(room, sizeof(uint32_t)), 0, { 0 }, { 0 } };
        for (uint32_t i = 0; i < s->frame_count; i++) {
                const char *file = s->frames[i].names->file, *module = stack_costs_module(s, i);
                uint32_t number;

                str_clear(&name);
                str_clear(&key);
                stack_costs_name(s, i, &name);
                str_format(&key, "%s\n%s\n%s", str_get(&name), file ? file : "",
                           module ? module : "");
                number = strings_number(&functions->keys, str_get(&key));
                functions->of_frame[i] = number;
                if (number < functions->count)
                        continue;
                functions->count++;
                functions->name[number] = strings_number(&f->strings, str_get(&name));
                functions->file[number] = file ? strings_number(&f->strings, file) : UINT32_MAX;
                functions->resource[number] = strings_number(&functions->modules,
                                                             module ? label_base(module) : "?");
        }
        str_free(&name);
        str_free(&key);
}

static void put_frame_table(const struct stack_costs *s, const struct functions *functions,
                            struct str *out)
{
        uint32_t count = s->frame_count, *line = heap_zero(count, sizeof *line);

        for (uint32_t i = 0; i < count; i++)
                line[i] = s->frames[i].names->line ? s->frames[i].names->line : UINT32_MAX;
        str_text(out, ",\n  \"frameTable\": {");
        json_field(out, "\"", "length", count);
        put_list(out, "func", functions->of_frame, count);
        put_list(out, "line", line, count);
        put_same(out, "address", "-1", count);
        put_same(out, "inlineDepth", "0", count);
        put_same(out, "category", "0", count);
        put_same(out, "subcategory", "0", count);
        put_same(out, "nativeSymbol", "null", count);
        put_same(out, "innerWindowID", "null", count);
        put_same(out, "implementation", "null", count);
        put_same(out, "column", "null", count);
        str_char(out, '}');
        free(line);
}

static void put_function_table(struct firefox *f, const struct functions *functions,
                               struct str *out)
{
        uint32_t count = functions->count,
                 *names = heap_zero(functions->modules.count, sizeof *names);

        str_text(out, ",\n  \"funcTable\": {");
        json_field(out, "\"", "length", count);
        put_list(out, "name", functions->name, count);
        put_list(out, "fileName", functions->file, count);
        put_list(out, "resource", functions->resource, count);
        put_same(out, "isJS", "false", count);
        put_same(out, "relevantForJS", "false", count);
        put_same(out, "lineNumber", "null", count);
        put_same(out, "columnNumber", "null", count);
        for (uint32_t i = 0; i < functions->modules.count; i++)
                names[i] = strings_number(&f->strings, functions->modules.at[i]);
        str_text(out, "},\n  \"resourceTable\": {");
        json_field(out, "\"", "length", functions->modules.count);
        put_list(out, "name", names, functions->modules.count);
        put_same(out, "lib", "null", functions->modules.count);
        put_same(out, "host", "null", functions->modules.count);
        put_same(out, "type", "1", functions->modules.count); /* a library */
        str_char(out, '}');
        free(names);
}

static void put_stacks(struct firefox *f, struct str *out)
{
        struct functions functions;

        make_functions(f, &functions);
        put_stack_table(&f->stacks, out);
        put_frame_table(&f->stacks, &functions, out);
        put_function_table(f, &functions, out);
        free(functions.of_frame);
        free(functions.name);
        free(functions.file);
        free(functions.resource);
        strings_free(&functions.keys);
        strings_free(&functions.modules);
}

/* ---- the rest ---- */

/* Tags and snapshots. */
static void put_markers(struct firefox *f, struct str *out)
{
        const struct profile *p = f->in->profile;
        uint32_t count = 0, *name = heap_zero(p->mark_count, sizeof *name),
                 *ms = heap_zero(p->mark_count, sizeof *ms);

        for (uint32_t i = 0; i < p->mark_count; i++) {
                struct str label = { 0 };

                if (p->marks[i].slice + 1ull < f->span.first ||
                    (!f->span.to_end && p->marks[i].slice >= f->span.last))
                        continue;
                str_format(&label, "%s %s", profile_mark_word(p->marks[i].type), p->marks[i].label);
                name[count] = strings_number(&f->strings, str_get(&label));
                ms[count++] = (uint32_t)p->marks[i].ms;
                str_free(&label);
        }
        str_text(out, ",\n  \"markers\": {");
        json_field(out, "\"", "length", count);
        put_list(out, "name", name, count);
        put_list(out, "startTime", ms, count);
        put_same(out, "endTime", "null", count);
        put_same(out, "phase", "0", count); /* a moment */
        put_same(out, "category", "0", count);
        put_same(out, "data", "null", count);
        str_char(out, '}');
        free(name);
        free(ms);
}

/* What is live in the whole heap as differences, with the peak at its place. */
struct track {
        struct str time, count, number;
        uint32_t length;
        uint64_t ms, bytes, events;
};

static void track_add(struct track *t, uint64_t ms, uint64_t bytes, uint64_t events)
{
        t->ms = ms > t->ms ? ms : t->ms;
        put_number(&t->time, t->length, t->ms);
        if (t->length)
                str_char(&t->count, ',');
        str_format(&t->count, "%" PRId64, (int64_t)(bytes - t->bytes));
        put_number(&t->number, t->length, events > t->events ? events - t->events : 0);
        t->bytes = bytes;
        t->events = events > t->events ? events : t->events;
        t->length++;
}

static void put_counter(const struct firefox *f, struct str *out)
{
        const struct profile *p = f->in->profile;
        const struct course_span *span = &f->span;
        struct track t = { 0 };

        if (!span->first)
                track_add(&t, 0, 0, 0);
        for (uint32_t i = span->first ? span->first - 1 : 0; i <= span->last; i++) {
                const struct profile_slice *s = i < span->last ? &p->slices[i] : NULL;

                if (i == span->peak && span->has_peak)
                        track_add(&t, profile_peak_ms(p), p->totals.peak_bytes, t.events);
                if (s)
                        track_add(&t, s->ms, s->live_bytes, s->allocs + s->frees);
        }
        if (span->to_end)
                track_add(&t, span->to_ms, p->totals.live_bytes,
                          p->totals.allocations + p->totals.frees);
        str_text(out,
                 "\"counters\": [{\"name\": \"malloc\", \"category\": \"Memory\", \"description\": "
                 "\"live heap memory\",");
        str_format(out,
                   " \"pid\": \"%u\", \"mainThreadIndex\": 0, \"samples\": {\"length\": %u,\n   "
                   "\"time\": [%s],\n   \"count\": [%s],\n   \"number\": [%s]}}],\n", p->meta.pid,
                   t.length, str_get(&t.time), str_get(&t.count), str_get(&t.number));
        str_free(&t.time);
        str_free(&t.count);
        str_free(&t.number);
}

static void put_thread(struct firefox *f, struct str *out)
{
        const struct profile *p = f->in->profile;

        str_text(out,
                 " \"threads\": [{\"name\": \"heap\", \"isMainThread\": true, \"processType\": "
                 "\"default\", \"processName\": ");
        json_text(out, p->meta.program);
        str_format(out,
                   ", \"pid\": \"%u\", \"tid\": %u, \"processStartupTime\": 0, "
                   "\"processShutdownTime\": null, \"registerTime\": 0, \"unregisterTime\": null,\n"
                   "  \"pausedRanges\": [], \"nativeSymbols\": {\"length\": 0, \"libIndex\": [], "
                   "\"address\": [], \"name\": [], \"functionSize\": []},\n"
                   "  \"samples\": {\"length\": 2, \"stack\": [null,null], \"time\": [%" PRIu64
                   ",%" PRIu64 "], \"weight\": null, \"weightType\": \"samples\"}",
                   p->meta.pid, p->meta.pid, f->span.from_ms, f->span.to_ms);
        put_rows(f, out);
        put_stacks(f, out);
        put_markers(f, out);
        str_text(out, ",\n  \"stringArray\": [");
        for (uint32_t i = 0; i < f->strings.count; i++) {
                str_text(out, i ? ",\n   " : "\n   ");
                json_text(out, f->strings.at[i]);
        }
        str_text(out, "]}]}\n");
}

bool export_firefox(const struct export_input *in, struct str *out, struct err *e)
{
        struct firefox f = { .in = in };
        bool good;

        if (!span_make(&f.span, in, e))
                return false;
        stack_costs_make(&f.stacks, in, CALLTREE_BY_LINE);
        good = make_rows(&f, e);
        if (good) {
                str_text(out,
                         "{\"meta\": {\"interval\": 1, \"processType\": 0, \"stackwalk\": 1, "
                         "\"version\": 28, \"preprocessedProfileVersion\": 48,\n"
                         "  \"categories\": [{\"name\": \"Other\", \"color\": \"grey\", "
                         "\"subcategories\": [\"Other\"]}], \"markerSchema\": [],\n"
                         "  \"symbolicated\": true, \"importedFrom\": \"seep\", \"product\": ");
                json_text(out, in->profile->meta.program);
                json_field(out, ", \"", "startTime", in->profile->meta.start_realtime_ns / 1000000);
                str_text(out, "},\n \"libs\": [], \"pages\": [], ");
                put_counter(&f, out);
                put_thread(&f, out);
        }
        rows_json_free(&f.rows);
        strings_free(&f.strings);
        stack_costs_free(&f.stacks);
        return good;
}
