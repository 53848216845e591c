/* SPDX-License-Identifier: MIT */
/* report_views.c -- the views of `seep report`, and the function of report/ that writes each. */
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/progress.h"
#include "export/report_csv.h"
#include "export/report_json.h"
#include "query/leaks.h"
#include "query/merge.h"
#include "query/owners.h"
#include "query/survivors.h"
#include "query/why.h"
#include "report/memlog.h"
#include "report/source.h"
#include "report/summary.h"
#include "report/views.h"
#include "words/text.h"

/* What a view is written from. */
struct scene {
        const struct report *r;
        const struct profile *p;
        const char *file;
        struct symbols *s;
        struct selection *sel;
        struct moment from, to; /* of --range */
        int color;
        uint32_t columns; /* 0: no terminal */
        struct str *out;
        struct err *e;
};

static bool write_tree(struct scene *c)
{
        tree_write(c->sel, c->s,
                   &(struct tree_options){ c->r->inverted, c->r->threshold, c->r->limit, c->color,
                                           c->columns }, c->out);
        return true;
}

/* Whether the key is about leaks, and those are known. */
static bool find_leaks(struct scene *c, enum sort_key key, struct leaks *l)
{
        struct str why = { 0 };

        *l = (struct leaks){ 0 };
        if (key != SORT_LEAKED_BYTES && key != SORT_LEAKED_BLOCKS)
                return true;
        leaks_make_usual(l, c->sel, c->s);
        if (l->scan)
                return true;
        leaks_free(l);
        leaks_not_scanned(c->p, &why);
        err_set(c->e, ERR_EXIT_USAGE,
                "leaks are not known: the recording was not searched for them: %s; --cost live "
                "shows what was not freed", str_get(&why));
        str_free(&why);
        return false;
}

/* --cost leaked: what was lost, definitely or indirectly, is what counts. */
static bool count_leaks(struct scene *c)
{
        struct select_part *heap = &c->sel->heap;
        struct leaks l;

        if (!find_leaks(c, SORT_LEAKED_BYTES, &l))
                return false;
        heap->total_bytes = heap->total_count = 0;
        for (uint32_t i = 0; i < heap->count; i++) {
                struct leaks_sum of[PROFILE_LEAK_COUNT];

                leaks_of_site(&l, heap->rows[i].site, of);
                heap->rows[i].bytes = of[PROFILE_LEAK_DEFINITE].bytes +
                                      of[PROFILE_LEAK_INDIRECT].bytes;
                heap->rows[i].count = of[PROFILE_LEAK_DEFINITE].blocks +
                                      of[PROFILE_LEAK_INDIRECT].blocks;
                heap->total_bytes += heap->rows[i].bytes;
                heap->total_count += heap->rows[i].count;
        }
        c->sel->mapped.count = 0;
        snprintf(c->sel->heading, sizeof c->sel->heading, "leaked");
        leaks_free(&l);
        return true;
}

static bool write_flat(struct scene *c)
{
        struct leaks leaks;
        struct flat_options options = {
                .key = c->r->sort_set ? c->r->sort
                       : c->r->leaked ? SORT_LEAKED_BYTES
                                      : sort_key_of(c->r->request.cost),
                .growing_first = c->r->view == REPORT_GROWTH, .limit = c->r->limit,
                .color = c->color, .leaks = &leaks };

        if (c->sel->fold)
                merge_shown(c->sel, c->s);
        if (!find_leaks(c, options.key, &leaks))
                return false;
        if (c->r->csv)
                report_csv_write(c->sel, c->s, &options, c->out);
        else
                flat_write(c->sel, c->s, &options, c->out);
        leaks_free(&leaks);
        return true;
}

static bool write_callers(struct scene *c)
{
        struct tree_options options = { true, c->r->threshold, c->r->limit, c->color, c->columns };

        return callers_write(c->sel, c->s, c->r->view_value, &options, c->out, c->e);
}

static bool write_source(struct scene *c)
{
        return source_write(c->sel, c->s, c->r->view_value, &c->r->names.options, c->out, c->e);
}

static bool write_timeline(struct scene *c)
{
        bool part = c->from.type != MOMENT_NONE;
        struct timeline_options options = { .whole = !c->r->filter_words.length,
                                            .from_ms = part ? c->from.ms : 0,
                                            .to_ms = part ? c->to.ms : UINT64_MAX,
                                            .columns = c->columns,
                                            .color = c->color };

        timeline_write(c->sel, c->s, &options, c->out);
        return true;
}

static bool write_histogram(struct scene *c)
{
        struct histogram_options options = { !c->r->filter_words.length, &c->r->filter,
                                             c->columns };

        (c->r->view == REPORT_SIZES ? histogram_sizes : histogram_lifetimes)(c->sel, &options,
                                                                             c->out);
        return true;
}

static bool write_blocks(struct scene *c)
{
        struct blocks_options options = { &c->r->filter, c->r->sort_set && c->r->sort == SORT_AGE,
                                          c->r->limit, c->color, c->r->csv };

        blocks_write(c->sel, c->s, &options, c->out);
        return true;
}

static bool write_memlog(struct scene *c)
{
        memlog_selection(c->sel, c->s, &(struct memlog_options){ c->r->limit, c->r->abs }, c->out);
        return true;
}

static bool write_threads(struct scene *c)
{
        threads_write(c->p, &(struct threads_options){ &c->r->filter, c->r->limit, c->r->csv },
                      c->out);
        return true;
}

static bool write_modules(struct scene *c)
{
        modules_write(c->sel, c->r->limit, c->out);
        return true;
}

static bool write_resources(struct scene *c)
{
        resources_write(c->sel, c->s, c->r->limit, c->out);
        return true;
}

static bool write_errors(struct scene *c)
{
        errors_write(c->sel, c->s, &(struct errors_options){ .limit = c->r->limit }, c->out);
        return true;
}

static bool write_retained(struct scene *c)
{
        const struct report *r = c->r;
        struct owners_options options = { r->view_value && strcmp(r->view_value, "sites") == 0,
                                          r->limit, r->json, c->color, c->columns };

        if (!why_possible(c->p, c->file, c->e))
                return false;
        owners_write(c->p, c->s, &options, c->out);
        return true;
}

static bool write_types(struct scene *c)
{
        struct types_options options = { c->r->view_value, c->r->limit, c->color, c->columns };
        struct types t;
        bool good = true;

        types_make(&t, c->sel, c->s);
        if (c->r->json)
                types_json(&t, c->out);
        else
                good = types_write(&t, c->s, &options, c->out, c->e);
        types_free(&t);
        return good;
}

static bool write_fragmentation(struct scene *c)
{
        struct fragmentation_options options = { c->r->limit, c->columns };
        struct fragmentation f;

        if (!fragmentation_make(&f, c->p, c->r->limit, c->e))
                return false;
        if (c->r->json)
                fragmentation_json(&f, c->s, c->r->limit, c->out);
        else
                fragmentation_write(&f, c->s, &options, c->out);
        fragmentation_free(&f);
        return true;
}

static bool write_summary(struct scene *c)
{
        summary_write(c->p, c->s, &(struct summary_options){ .file = c->file, .color = c->color },
                      c->out);
        return true;
}

static bool write_json(struct scene *c)
{
        struct select_request request = c->r->request;
        struct selection resources;
        struct err unused;

        request.resources = true;
        select_make(&resources, c->p, c->s, &request, &unused); /* possible, as it was for SEL */
        report_json_write(c->sel, &resources, c->s, c->out);
        select_free(&resources);
        return true;
}

enum {
        FOLLOWS_STACKS = REPORT_FOLLOWS_STACKS,
        FOLLOWS_END = REPORT_FOLLOWS_STACKS | REPORT_FOLLOWS_THREADS,
        FOLLOWS_ALL = FOLLOWS_END | REPORT_FOLLOWS_AT | REPORT_FOLLOWS_RANGE
};

static const struct {
        int option;
        unsigned follows;
        bool names; /* shows functions */
        bool (*write)(struct scene *c);
} views[] = {
        { REPORT_TREE, FOLLOWS_ALL, true, write_tree },
        { REPORT_FLAT, FOLLOWS_ALL, true, write_flat },
        { REPORT_GROWTH, FOLLOWS_STACKS | REPORT_FOLLOWS_AT | REPORT_FOLLOWS_RANGE, true,
          write_flat },
        { REPORT_CALLERS, FOLLOWS_ALL, true, write_callers },
        { REPORT_SOURCE, FOLLOWS_ALL, true, write_source },
        { REPORT_TIMELINE, FOLLOWS_STACKS | REPORT_FOLLOWS_RANGE, false, write_timeline },
        { REPORT_SIZES, FOLLOWS_ALL, false, write_histogram },
        { REPORT_LIFETIMES, FOLLOWS_STACKS, false, write_histogram },
        { REPORT_BLOCKS, FOLLOWS_END, true, write_blocks },
        { REPORT_MEMLOG, FOLLOWS_ALL, true, write_memlog },
        { REPORT_THREADS, REPORT_FOLLOWS_THREADS, false, write_threads },
        { REPORT_MODULES, FOLLOWS_ALL, false, write_modules },
        { REPORT_RESOURCES, FOLLOWS_ALL, true, write_resources },
        { REPORT_ERRORS, 0, true, write_errors },
        { REPORT_RETAINED, 0, true, write_retained },
        { REPORT_TYPES, FOLLOWS_STACKS | REPORT_FOLLOWS_AT | REPORT_FOLLOWS_RANGE, true,
          write_types },
        { REPORT_FRAGMENTATION, 0, true, write_fragmentation },
        { REPORT_SUMMARY, 0, true, write_summary },
        { REPORT_JSON, FOLLOWS_ALL, false, write_json },
};

static size_t view_index(const struct report *r)
{
        size_t i = 0;

        while (views[i].option != r->view)
                i++;
        return i;
}

const char *report_view_name(const struct report *r)
{
        return report_options[r->view].name;
}

unsigned report_view_follows(const struct report *r)
{
        return views[view_index(r)].follows;
}

static bool write_selected(struct scene *c)
{
        const struct report *r = c->r;

        if (r->group == GROUP_STACK || r->view == REPORT_JSON)
                return views[view_index(r)].write(c);
        group_write(c->sel, c->s,
                    &(struct group_options){ r->group, r->threshold, r->limit, c->color, r->csv },
                    c->out);
        return true;
}

/* Call stacks are looked at less often than totals where there are very many. */
static void remark_stacks(const struct selection *sel, const struct moment *m)
{
        struct moment known = moment_stacks(sel->profile, m);
        struct str asked = { 0 }, then = { 0 };

        if (m->type != MOMENT_TIME || known.ms == m->ms || m->ms > sel->profile->meta.duration_ms)
                return;
        text_time(&asked, m->ms);
        text_time(&then, known.ms);
        if (strcmp(str_get(&asked), str_get(&then)) == 0) { /* both are rounded */
                str_clear(&asked);
                str_clear(&then);
                str_format(&asked, "%" PRIu64 " ms", m->ms);
                str_format(&then, "%" PRIu64 " ms", known.ms);
        }
        message("at %s only totals were recorded; call stacks are shown as of %s", str_get(&asked),
                str_get(&then));
        str_free(&asked);
        str_free(&then);
}

void report_remark(const struct report *r, const struct selection *sel)
{
        uint64_t end = sel->profile->meta.duration_ms;
        bool range = r->request.from.type != MOMENT_NONE;
        uint64_t asked = range                               ? r->request.from.ms
                         : r->request.at.type == MOMENT_TIME ? r->request.at.ms
                                                             : 0;
        struct str time = { 0 };

        if (r->quiet)
                return;
        text_time(&time, end);
        if (asked > end)
                message("the recording ends at %s; %s", str_get(&time),
                        range ? "nothing happened after that" : "showing the end");
        else if (!sel->heap.count && !sel->mapped.count && r->filter_words.length)
                message("no stack matches%s", str_get(&r->filter_words));
        str_free(&time);
        remark_stacks(sel, range ? &r->request.from : &r->request.at);
        if (range)
                remark_stacks(sel, &r->request.to);
}

bool report_resolve(struct report *r, const struct profile *p, struct err *e)
{
        struct select_request *request = &r->request;

        if (r->at_word && !moment_find(p, r->at_word, &request->at, e))
                return err_context(e, "--at");
        if (!r->range_word)
                return true;
        if (!moment_range(p, r->range_word, &request->from, &request->to, e))
                return err_context(e, "--range");
        if (!r->cost_set && survivors_known(p, &request->from, &request->to))
                request->cost = SELECT_LIVE;
        return true;
}

/* A timeline is not of a range: it is drawn for one. */
static void timeline_range(struct report *r, struct scene *c)
{
        if (r->view != REPORT_TIMELINE)
                return;
        c->from = r->request.from;
        c->to = r->request.to;
        r->request.from = r->request.to = (struct moment){ 0 };
        r->request.cost = SELECT_LIVE;
}

bool report_view_write(struct report *r, const struct profile *p, const char *file, int color,
                       struct str *out, struct err *e)
{
        struct progress_line line;
        struct selection sel;
        struct scene c = { .r = r, .p = p, .file = file, .sel = &sel, .color = color, .out = out,
                           .e = e };
        bool good;

        if (!report_resolve(r, p, e))
                return false;
        timeline_range(r, &c);
        c.columns = r->request.columns = r->output ? 0 : pager_columns();
        c.s = symbols_new(p, &r->names.options);
        progress_start(&line, "resolving names", r->quiet);
        r->request.progress = line.terminal ? &line.progress : NULL;
        good = select_make(&sel, p, c.s, &r->request, e);
        if (good) {
                report_remark(r, &sel);
                good = (!r->leaked || count_leaks(&c)) && write_selected(&c);
        }
        progress_end(&line);
        select_free(&sel);
        if (good && !r->quiet && views[view_index(r)].names)
                names_hint(c.s, p);
        symbols_free(c.s);
        return good;
}

/* Whether the end of the file that is missing held all that the view shows. */
bool report_view_lost(const struct report *r, const struct profile *p)
{
        const struct profile_totals *t = &p->totals;

        if (!p->truncated)
                return false;
        switch (r->view) {
        case REPORT_SUMMARY:
                return !t->allocations && !t->mmap_calls && p->site_count <= 1;
        case REPORT_THREADS:
                return !p->thread_count;
        case REPORT_ERRORS:
                return !p->error_count &&
                       (!t->allocations || t->double_frees || t->mismatched || t->unknown_frees);
        case REPORT_BLOCKS:
                return !p->block_count && (!t->allocations || t->live_blocks);
        case REPORT_JSON:
                return !t->allocations && p->site_count <= 1;
        default:
                return p->site_count <= 1;
        }
}
