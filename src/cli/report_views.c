/* SPDX-License-Identifier: MIT */
/*
 * report_views.c -- the views of `seep report`: which room of report/ writes which.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/report.h"

#include "cli/command.h"
#include "cli/message.h"
#include "cli/names.h"
#include "report/blocks.h"
#include "report/csv.h"
#include "report/errors.h"
#include "report/json.h"
#include "report/memlog.h"
#include "report/resources.h"
#include "report/summary.h"
#include "report/survivors.h"
#include "report/text.h"
#include "report/threads.h"
#include "report/tree.h"

const char *report_view_name(const struct report *r)
{
        return report_options[r->view].name;
}

static void write_json(const struct report *r, const struct selection *sel, struct symbols *s, struct str *out)
{
        struct select_request request = r->request;
        struct selection resources;
        struct err unused;

        request.resources = true;
        select_make(&resources, sel->profile, s, &request, &unused); /* possible, as it was for SEL */
        json_write(sel, &resources, s, out);
        select_free(&resources);
}

static void write_flat(const struct report *r, const struct selection *sel, struct symbols *s, int color,
                       struct str *out)
{
        struct flat_options options = { .key = r->sort_set ? r->sort : flat_key_of(r->request.cost),
                                        .limit = r->limit,
                                        .color = color };

        if (r->csv)
                csv_write(sel, s, &options, out);
        else
                flat_write(sel, s, &options, out);
}

static void write_selected(const struct report *r, const struct selection *sel, struct symbols *s, int color,
                           struct str *out)
{
        if (r->group != GROUP_STACK && r->view != REPORT_JSON)
                group_write(sel, s, &(struct group_options){ r->group, r->threshold, r->limit, color }, out);
        else if (r->view == REPORT_JSON)
                write_json(r, sel, s, out);
        else if (r->view == REPORT_MEMLOG)
                memlog_selection(sel, s, r->limit, out);
        else if (r->view == REPORT_RESOURCES)
                resources_write(sel, s, r->limit, out);
        else if (r->view == REPORT_ERRORS)
                errors_write(sel, s, r->limit, out);
        else if (r->view == REPORT_BLOCKS)
                blocks_write(
                        sel, s,
                        &(struct blocks_options){ &r->filter, r->sort_set && r->sort == FLAT_AGE, r->limit, color },
                        out);
        else if (r->view == REPORT_FLAT)
                write_flat(r, sel, s, color, out);
        else
                tree_write(sel, s,
                           &(struct tree_options){ r->inverted, r->threshold, r->limit, color,
                                                   r->output ? 0 : pager_columns() },
                           out);
}

/* An empty result is said to be one. */
static void remark(const struct report *r, const struct selection *sel)
{
        uint64_t end = sel->profile->meta.duration_ms;
        bool range = r->request.from.type != MOMENT_NONE;
        uint64_t asked = range ? r->request.from.ms : r->request.at.type == MOMENT_TIME ? r->request.at.ms : 0;
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
}

/* Words for moments mean something only together with a recording. */
static bool resolve(struct report *r, const struct profile *p, struct err *e)
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

bool report_view_write(struct report *r, const struct profile *p, const char *file, int color, struct str *out,
                       struct err *e)
{
        struct symbols *s;
        struct selection sel;
        bool good = true;

        if (!resolve(r, p, e))
                return false;
        if (r->view == REPORT_THREADS) {
                threads_write(p, &(struct threads_options){ &r->filter, r->limit }, out);
                return true;
        }
        s = symbols_new(p, &r->names);
        if (r->view == REPORT_SUMMARY) {
                summary_write(p, s, file, color, out);
        } else {
                good = select_make(&sel, p, s, &r->request, e);
                if (good) {
                        remark(r, &sel);
                        write_selected(r, &sel, s, color, out);
                }
                select_free(&sel);
        }
        if (good && !r->quiet && r->view != REPORT_JSON)
                names_hint(s, p);
        symbols_free(s);
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
                return !p->error_count && (!t->allocations || t->double_frees || t->mismatched || t->unknown_frees);
        case REPORT_BLOCKS:
                return !p->block_count && (!t->allocations || t->live_blocks);
        case REPORT_JSON:
                return !t->allocations && p->site_count <= 1;
        default:
                return p->site_count <= 1;
        }
}
