/* SPDX-License-Identifier: MIT */
/*
 * report_settle.c -- the options of `seep report` together: conflicts and defaults.
 *
 * Keeps:  options that a view cannot follow are refused, not passed over.
 */
#include "cli/report.h"

#include <string.h>

#include "cli/message.h"
#include "cli/names.h"

static bool at_is(const struct report *r, const char *word)
{
        return r->at_word && strcmp(r->at_word, word) == 0;
}

/* Whether numbers come from slices. */
static bool of_slices(const struct report *r)
{
        return r->range_word || (r->at_word && !at_is(r, "end") && !at_is(r, "peak"));
}

/* The first option given that the view cannot follow; NULL: none. */
static const char *not_followed(const struct report *r)
{
        unsigned follows = report_view_follows(r);

        if (!(follows & REPORT_FOLLOWS_AT) && r->at_word && !at_is(r, "end"))
                return "--at";
        if (!(follows & REPORT_FOLLOWS_RANGE) && r->range_word)
                return "--range";
        if (!(follows & REPORT_FOLLOWS_THREADS) && filter_has(&r->filter, FILTER_THREAD))
                return "--thread";
        for (int kind = 0; kind < FILTER_THREAD; kind++)
                if (!(follows & REPORT_FOLLOWS_STACKS) &&
                    filter_has(&r->filter, (enum filter_kind)kind))
                        return "-i, -x, --module and --exclude-module";
        return NULL;
}

/* Lists of blocks and threads are those of the end. */
static bool by_list(const struct report *r)
{
        return r->group == GROUP_THREAD || r->group == GROUP_SIZE;
}

static int check_group(const struct report *r)
{
        const char *group = r->group == GROUP_SIZE ? "size" : "thread";

        if (by_list(r) && (r->range_word || (r->at_word && !at_is(r, "end"))))
                return message_usage(r->command,
                                     "--group-by %s cannot be combined with %s: its numbers are "
                                     "not known that way", group,
                                     r->range_word ? "--range" : "--at");
        if (r->group != GROUP_STACK && r->view_set && r->view != REPORT_FLAT)
                return message_usage(r->command,
                                     "--group-by makes a table: it cannot be combined with --%s",
                                     report_view_name(r));
        return 0;
}

/* Views with one cost, of which --sort is another name. */
static bool of_one_cost(const struct report *r)
{
        return r->view == REPORT_TREE || r->view == REPORT_CALLERS || r->view == REPORT_SOURCE;
}

static int check_view(const struct report *r)
{
        const char *view = report_view_name(r), *option = not_followed(r);

        if (option)
                return message_usage(r->command,
                                     "--%s cannot be combined with %s: its numbers are not known "
                                     "that way", view, option);
        if (r->range_word && r->at_word)
                return message_usage(r->command,
                                     "--at and --range contradict each other: give one of them");
        if (r->request.change && !r->range_word)
                return message_usage(r->command, "--cost change needs --range A..B");
        if (r->leaked && (r->at_word || r->range_word || r->group != GROUP_STACK ||
                          !(of_one_cost(r) || r->view == REPORT_FLAT)))
                return message_usage(r->command,
                                     "--cost leaked is for --tree, --flat, --callers and --source "
                                     "of the whole run");
        if (r->csv && r->group == GROUP_STACK && r->view != REPORT_FLAT &&
            r->view != REPORT_GROWTH && r->view != REPORT_BLOCKS && r->view != REPORT_THREADS)
                return message_usage(r->command,
                                     "--csv is for --flat, --growth, --blocks, --threads and "
                                     "--group-by, not for --%s", view);
        if (r->view == REPORT_RETAINED && (r->cost_set || r->request.depth_merge))
                return message_usage(r->command,
                                     "--retained covers the blocks not freed, one by one: --cost "
                                     "and --depth-merge do not apply");
        if (r->request.memory &&
            !(of_one_cost(r) || r->view == REPORT_FLAT || r->view == REPORT_GROWTH))
                return message_usage(r->command,
                                     "--memory is for --tree, --flat, --growth, --callers, "
                                     "--source and --group-by");
        if (r->abs && r->view != REPORT_MEMLOG)
                return message_usage(r->command, "--abs is for --memlog only");
        if (r->inverted && (r->view != REPORT_TREE || r->group != GROUP_STACK))
                return message_usage(r->command, "--inverted is for the tree only");
        return check_group(r);
}

static bool can_sort(const struct report *r)
{
        if (r->view == REPORT_BLOCKS)
                return r->sort == SORT_AGE || r->sort == SORT_LIVE_BYTES;
        return of_one_cost(r) || r->view == REPORT_FLAT || r->view == REPORT_GROWTH;
}

/* Slices tell what was live and how often was allocated, nothing else. */
static int check_sort(const struct report *r)
{
        bool known = r->sort == SORT_LIVE_BYTES || r->sort == SORT_LIVE_BLOCKS ||
                     r->sort == SORT_ALLOC_BYTES || r->sort == SORT_ALLOCS ||
                     r->sort == SORT_AVERAGE;

        if (r->sort_set && !known && of_slices(r))
                return message_usage(r->command,
                                     "that --sort key is known for the whole run only, not for "
                                     "--at TIME or --range");
        if (r->sort_set && !can_sort(r))
                return message_usage(r->command,
                                     "--%s has its own order%s; --sort is for --flat, --growth and "
                                     "--tree", report_view_name(r),
                                     r->view == REPORT_BLOCKS ? ", live-bytes or age" : "");
        return 0;
}

/* Between marks it may yet become SELECT_LIVE (report_views.c). */
static enum select_cost default_cost(const struct report *r)
{
        if (r->view == REPORT_BLOCKS || r->view == REPORT_MEMLOG || r->view == REPORT_RESOURCES ||
            r->view == REPORT_GROWTH || r->view == REPORT_TIMELINE)
                return SELECT_LIVE;
        if (r->range_word)
                return SELECT_TOTAL;
        if ((r->at_word && !at_is(r, "peak")) || by_list(r) ||
            filter_has(&r->filter, FILTER_THREAD))
                return SELECT_LIVE;
        if ((r->view == REPORT_SIZES || r->view == REPORT_LIFETIMES) && !r->at_word)
                return SELECT_TOTAL;
        return SELECT_PEAK;
}

/* Where frames are marked, where the user names a function that may be a wrapper, and
 * where no stack is shown. */
static bool keeps_wrappers(const struct report *r)
{
        return r->view == REPORT_JSON || r->view == REPORT_CALLERS || r->view == REPORT_SOURCE ||
               r->view == REPORT_TIMELINE || r->view == REPORT_SIZES || r->view == REPORT_LIFETIMES;
}

void report_hide(struct report *r, bool marked)
{
        r->request.wrappers = r->all_frames ? NULL : &r->wrappers;
        r->request.marked = marked;
        r->request.fold = !r->csv && r->view != REPORT_MEMLOG;
        r->request.recursion = r->recursion;
}

int report_settle(struct report *r)
{
        int status;

        if ((r->sort_set || r->csv || r->by_stack) && !r->view_set && r->group == GROUP_STACK)
                r->view = REPORT_FLAT;
        status = check_view(r);
        if (!status)
                status = check_sort(r);
        if (status)
                return status;
        if (r->sort_set && of_one_cost(r)) {
                for (int i = 0; i < SELECT_COST_COUNT && !r->cost_set; i++)
                        if (sort_key_of((enum select_cost)i) == r->sort) {
                                r->request.cost = (enum select_cost)i;
                                r->cost_set = true;
                        }
                if (!r->cost_set)
                        return message_usage(r->command, "only --flat can be ordered by that key");
        }
        if (!r->cost_set)
                r->request.cost = default_cost(r);
        if (by_list(r) && r->request.cost == SELECT_PEAK)
                return message_usage(r->command,
                                     "--group-by thread and size do not know the peak; use --cost "
                                     "live");
        if (r->group == GROUP_SIZE && r->request.cost != SELECT_LIVE)
                return message_usage(
                        r->command, "--group-by size knows only blocks not freed: use --cost live");
        r->request.each_site = r->view == REPORT_BLOCKS || r->view == REPORT_TYPES;
        r->request.resources = r->view == REPORT_RESOURCES;
        r->request.filter = &r->filter;
        report_hide(r, keeps_wrappers(r));
        names_settle(&r->names, r->quiet);
        return 0;
}
