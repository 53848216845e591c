/* SPDX-License-Identifier: MIT */
/* report_options.c -- the options of `seep report`, parsed one by one. */
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/message.h"
#include "words/label.h"

const struct option_entry report_options[] = { REPORT_OPTIONS(OPTION_ENTRY) OPTION_END };

/* Of options that list all their values, option_next() lets no others through. */
static int wrong(const struct report *r, const char *option, const char *value,
                 const char *expected)
{
        return message_usage(r->command, "--%s '%s': %s", option, value, expected);
}

/* Costs by their own words, or by the sort key that means the same. */
static bool cost_named(const char *word, enum select_cost *cost)
{
        enum sort_key key;

        if (select_cost_named(word, cost))
                return true;
        if (!sort_key_named(word, &key))
                return false;
        for (int i = 0; i < SELECT_COST_COUNT; i++)
                if (sort_key_of((enum select_cost)i) == key) {
                        *cost = (enum select_cost)i;
                        return true;
                }
        return false;
}

static int take_cost(struct report *r, const char *value)
{
        r->cost_set = true;
        r->request.cost = SELECT_LIVE;
        r->request.change = strcmp(value, "change") == 0;
        r->leaked = strcmp(r->command, "report") == 0 &&
                    (strcmp(value, "leaked") == 0 || strcmp(value, "leaked-bytes") == 0);
        if (!r->request.change && !r->leaked && !cost_named(value, &r->request.cost))
                return wrong(r, "cost", value,
                             "one of peak, live, total, allocs, temporary, leaked, change is "
                             "expected");
        return 0;
}

static int take_filter(struct report *r, enum filter_kind kind, const char *value)
{
        static const char *const words[] = { [FILTER_INCLUDE] = "-i",
                                             [FILTER_EXCLUDE] = "-x",
                                             [FILTER_MODULE] = "--module",
                                             [FILTER_NOT_MODULE] = "--exclude-module",
                                             [FILTER_THREAD] = "--thread" };
        struct err e = { 0 };

        if (!filter_add(&r->filter, kind, value, &e))
                return message_usage(r->command, "%s: %s", words[kind], e.text);
        str_format(&r->filter_words, " %s '%s'", words[kind], value);
        return 0;
}

static int take_hidden(struct report *r, const char *value)
{
        struct err e = { 0 };

        if (!wrappers_add(&r->wrappers, value, &e))
                return message_usage(r->command, "--hide: %s", e.text);
        return 0;
}

static int take_number(const struct report *r, const char *option, const char *value, uint32_t *out)
{
        uint64_t number;

        if (!quantity_number(value, &number) || number > UINT32_MAX)
                return wrong(r, option, value, "a number is expected");
        *out = (uint32_t)number;
        return 0;
}

static int take_threshold(struct report *r, const char *value)
{
        char *end;

        r->threshold = strtod(value, &end);
        if (end == value || (*end && strcmp(end, "%") != 0) ||
            !(r->threshold >= 0 && r->threshold <= 100))
                return wrong(r, "threshold", value, "a percentage is expected, 0 to 100");
        return 0;
}

/* What is counted, and which stacks. */
static int take_choice(struct report *r, int which, const char *value)
{
        switch (which) {
        case REPORT_COST:
                return take_cost(r, value);
        case REPORT_MEMORY:
                select_memory_named(value, &r->request.memory); /* the table has no other words */
                return 0;
        case REPORT_AT:
                r->at_word = value;
                return 0;
        case REPORT_RANGE:
                r->range_word = value;
                return 0;
        case REPORT_INCLUDE:
                return take_filter(r, FILTER_INCLUDE, value);
        case REPORT_EXCLUDE:
                return take_filter(r, FILTER_EXCLUDE, value);
        case REPORT_MODULE:
                return take_filter(r, FILTER_MODULE, value);
        case REPORT_NOT_MODULE:
                return take_filter(r, FILTER_NOT_MODULE, value);
        default:
                return take_filter(r, FILTER_THREAD, value);
        }
}

/* How it is shown, and where to. */
static int take_shape(struct report *r, int which, const char *value)
{
        switch (which) {
        case REPORT_INVERTED:
                r->inverted = true;
                return 0;
        case REPORT_THRESHOLD:
                return take_threshold(r, value);
        case REPORT_LIMIT:
                return take_number(r, "limit", value, &r->limit);
        case REPORT_SORT:
                r->sort_set = sort_key_named(value, &r->sort);
                return 0;
        case REPORT_HIDE:
                return take_hidden(r, value);
        case REPORT_DEPTH_MERGE:
                return take_number(r, "depth-merge", value, &r->request.depth_merge);
        case REPORT_GROUP_BY:
                group_kind_named(value, &r->group);
                r->by_stack = r->group == GROUP_STACK;
                return 0;
        case REPORT_OUTPUT:
                r->output = value;
                return 0;
        case REPORT_COLOR:
                r->color = (enum pager_color)option_choice(PAGER_COLORS, value);
                return 0;
        case REPORT_LONG:
                label_with_objects();
                return 0;
        default:
                r->all_frames |= which == REPORT_ALL_FRAMES;
                r->names.options.all_frames = r->all_frames;
                r->recursion |= which == REPORT_RECURSION;
                r->csv |= which == REPORT_CSV;
                r->abs |= which == REPORT_ABS;
                r->force |= which == REPORT_FORCE;
                r->no_pager |= which == REPORT_NO_PAGER;
                r->quiet |= which == REPORT_QUIET;
                return 0;
        }
}

int report_option(const char *name)
{
        int which = 0;

        while (which < REPORT_COUNT &&
               (!report_options[which].name || strcmp(report_options[which].name, name) != 0))
                which++;
        return which;
}

/* Views that have a format of their own for programs. */
static bool has_json(int view)
{
        return view == REPORT_RETAINED || view == REPORT_TYPES || view == REPORT_FRAGMENTATION;
}

/* --json alone is a view. */
static bool take_json(struct report *r, int which)
{
        if (!r->view_set || !((which == REPORT_JSON && has_json(r->view)) ||
                              (has_json(which) && r->view == REPORT_JSON)))
                return false;
        r->json = true;
        return true;
}

int report_take(void *to, int which, const char *value)
{
        struct report *r = to;
        int status;

        if (names_take(&r->names, r->command, report_options[which].name, value, &status))
                return status;
        if (which >= REPORT_TREE && which <= REPORT_JSON) {
                if (take_json(r, which) && which == REPORT_JSON)
                        return 0;
                if (r->view_set && r->view != which && !r->json)
                        return message_usage(r->command,
                                             "--%s and --%s are two views: give one of them",
                                             report_options[r->view].name,
                                             report_options[which].name);
                r->view = which;
                r->view_value = value;
                r->view_set = true;
                return 0;
        }
        if (which >= REPORT_COST && which <= REPORT_THREAD)
                return take_choice(r, which, value);
        return take_shape(r, which, value);
}

void report_free(struct report *r)
{
        filter_free(&r->filter);
        wrappers_free(&r->wrappers);
        str_free(&r->filter_words);
}
