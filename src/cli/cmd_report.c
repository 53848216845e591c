/* SPDX-License-Identifier: MIT */
/*
 * cmd_report.c -- `seep report`: the views of a recording.
 *
 * Room:   outside, cli/ only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "profile/file.h"
#include "report/blocks.h"
#include "report/errors.h"
#include "report/flat.h"
#include "report/group.h"
#include "report/json.h"
#include "report/select.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/threads.h"
#include "report/tree.h"

#define REPORT_OPTIONS(X)                                                                                              \
        X(REPORT_HEAD_VIEW, NULL, 0, NULL, "views:")                                                                   \
        X(REPORT_TREE, "tree", 0, NULL, "calls as a tree, with shares (default)")                                      \
        X(REPORT_FLAT, "flat", 0, NULL, "one entry per call stack, with all costs")                                    \
        X(REPORT_BLOCKS, "blocks", 0, NULL, "each block not freed: address, size, age, thread, stack")                 \
        X(REPORT_THREADS, "threads", 0, NULL, "a table of the threads")                                                \
        X(REPORT_ERRORS, "errors", 0, NULL, "double frees and other bad releases, with stacks")                        \
        X(REPORT_SUMMARY, "summary", 0, NULL, "the screen that ends a recording")                                      \
        X(REPORT_JSON, "json", 0, NULL, "everything, for programs")                                                    \
        X(REPORT_HEAD_WHAT, NULL, 0, NULL, "what is counted:")                                                         \
        X(REPORT_COST, "cost", 0, "COST",                                                                              \
          "peak (default), live (not freed), total (all bytes ever), allocs (calls), temporary",                      \
          "peak|live|total|allocs|temporary|...")                                                                      \
        X(REPORT_AT, "at", 0, "WHEN", "the moment: peak, end, or a time like 1.5s or 200ms", "peak|end|...")           \
        X(REPORT_RANGE, "range", 0, "A..B", "what happened between two times: 2s..5s, ..5s, 2s..")                     \
        X(REPORT_HEAD_FILTER, NULL, 0, NULL,                                                                           \
          "which stacks (extended regular expressions; -i and -x may be repeated):")                                   \
        X(REPORT_INCLUDE, "include", 'i', "RE", "only stacks with such a function")                                    \
        X(REPORT_EXCLUDE, "exclude", 'x', "RE",                                                                        \
          "no stacks with such a function; from the inside, the first frame that matches decides")                    \
        X(REPORT_MODULE, "module", 0, "RE", "only stacks through such a library or program")                           \
        X(REPORT_THREAD, "thread", 0, "RE", "only what threads of such a name or number did")                          \
        X(REPORT_HEAD_SHAPE, NULL, 0, NULL, "how it is shown:")                                                        \
        X(REPORT_INVERTED, "inverted", 0, NULL, "tree from the callers of malloc instead of from main")                \
        X(REPORT_THRESHOLD, "threshold", 0, "PCT", "sum up what is below this share of the whole (1)")                 \
        X(REPORT_LIMIT, "limit", 'n', "N", "at most N entries")                                                        \
        X(REPORT_SORT, "sort", 's', "KEY",                                                                             \
          "order of --flat: live-bytes live-blocks peak-bytes alloc-bytes allocs temporary average age bad-frees "    \
          "mismatched",                                                                                                \
          "live-bytes|live-blocks|peak-bytes|alloc-bytes|allocs|temporary|average|age|bad-frees|mismatched")           \
        X(REPORT_DEPTH_MERGE, "depth-merge", 0, "N", "stacks equal in their N innermost frames are one")               \
        X(REPORT_GROUP_BY, "group-by", 0, "KIND", "a table by stack, function, file, module, thread or size",          \
          "stack|function|file|module|thread|size")                                                                    \
        X(REPORT_HEAD_NAMES, NULL, 0, NULL, "where names come from:")                                                  \
        X(REPORT_SYSROOT, "sysroot", 0, "DIR", "the recorded machine's files are below DIR")                           \
        X(REPORT_DEBUG_PATH, "debug-path", 0, "DIR", "unstripped or debug files are in DIR (may be repeated)")         \
        X(REPORT_NO_DEBUGINFOD, "no-debuginfod", 0, NULL, "do not ask the servers of DEBUGINFOD_URLS")                 \
        X(REPORT_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                                                \
        X(REPORT_OUTPUT, "output", 'o', "FILE", "write to FILE instead of stdout")                                     \
        X(REPORT_FORCE, "force", 'f', NULL, "replace an existing FILE")                                                \
        X(REPORT_COLOR, "color", 0, "WHEN", "auto (default), always, never", "auto|always|never")                      \
        X(REPORT_NO_PAGER, "no-pager", 0, NULL, "no pager, also on a terminal")                                        \
        X(REPORT_QUIET, "quiet", 'q', NULL, "no warnings")                                                             \
        X(REPORT_HELP, "help", 'h', NULL, "this text")

enum { REPORT_OPTIONS(OPTION_ENUM) REPORT_COUNT };
const struct option_entry report_options[] = { REPORT_OPTIONS(OPTION_ENTRY) OPTION_END };

enum { REPORT_DEBUG_PATHS = 32 };

struct report {
        int view; /* REPORT_TREE ... REPORT_JSON */
        bool view_set, cost_set, sort_set, at_end, force, no_pager, quiet, inverted;
        struct select_request request;
        struct filter filter;
        struct str filter_words; /* as given: " -i RE --thread RE" */
        enum flat_key sort;
        enum group_kind group;
        double threshold;
        uint32_t limit;
        struct symbol_options names;
        const char *debug_paths[REPORT_DEBUG_PATHS];
        const char *output;
        enum pager_color color;
};

static int say_help(void)
{
        struct str out = { 0 };

        str_text(&out, "usage: seep report [OPTIONS] [FILE]\n\n"
                       "Tell where the memory of a recording went.\nFILE defaults to the newest *.seep here.\n");
        option_help(report_options, &out);
        str_text(&out, "\nexamples:\n"
                       "  seep report                          what the peak was made of\n"
                       "  seep report --cost live --inverted   who allocated what was not freed\n"
                       "  seep report --flat -s allocs -n 10   the ten stacks that allocate most often\n"
                       "  seep report --at 1.5s -x '^init_'    live at 1.5 s, without initialisation\n"
                       "\nExit status: 0 fine, 2 wrong use, 4 the file cannot be read.\n");
        pager_show(&out, true);
        str_free(&out);
        return 0;
}

/* ---- options ---- */

static int wrong(const char *option, const char *value, const char *expected)
{
        return message_usage("report", "--%s '%s': %s", option, value, expected);
}

/* Costs by their own words, or by the sort key that means the same. */
static bool cost_named(const char *word, enum select_cost *cost)
{
        enum flat_key key;

        if (select_cost_named(word, cost))
                return true;
        if (!flat_key_named(word, &key))
                return false;
        for (int i = 0; i < SELECT_COST_COUNT; i++)
                if (flat_key_of((enum select_cost)i) == key) {
                        *cost = (enum select_cost)i;
                        return true;
                }
        return false;
}

static int take_at(struct report *r, const char *value)
{
        r->at_end = strcmp(value, "end") == 0;
        r->request.at_peak = strcmp(value, "peak") == 0;
        r->request.at_set = !r->at_end && !r->request.at_peak;
        if (r->request.at_set && !option_time(value, &r->request.at_ms))
                return wrong("at", value, "'peak', 'end' or a time like 1.5s or 200ms is expected");
        return 0;
}

static int take_range(struct report *r, const char *value)
{
        const char *dots = strstr(value, "..");
        struct str from = { 0 };
        bool good = dots != NULL;

        r->request.range_set = true;
        r->request.from_ms = 0;
        r->request.to_ms = UINT64_MAX;
        if (good && dots > value) {
                str_bytes(&from, value, (size_t)(dots - value));
                good = option_time(str_get(&from), &r->request.from_ms);
        }
        if (good && dots[2])
                good = option_time(dots + 2, &r->request.to_ms);
        str_free(&from);
        if (!good)
                return wrong("range", value, "two times are expected, like 2s..5s");
        if (r->request.from_ms > r->request.to_ms)
                return wrong("range", value, "the end lies before the start");
        return 0;
}

static int take_filter(struct report *r, enum filter_kind kind, const char *value)
{
        static const char *const words[] = { [FILTER_INCLUDE] = "-i",
                                             [FILTER_EXCLUDE] = "-x",
                                             [FILTER_MODULE] = "--module",
                                             [FILTER_THREAD] = "--thread" };
        struct err e = { 0 };

        if (!filter_add(&r->filter, kind, value, &e))
                return message_usage("report", "%s", e.text);
        str_format(&r->filter_words, " %s '%s'", words[kind], value);
        return 0;
}

static int take_number(const char *option, const char *value, uint32_t *out)
{
        uint64_t number;

        if (!option_number(value, &number) || number > UINT32_MAX)
                return wrong(option, value, "a number is expected");
        *out = (uint32_t)number;
        return 0;
}

static int take_threshold(struct report *r, const char *value)
{
        char *end;

        r->threshold = strtod(value, &end);
        if (end == value || (*end && strcmp(end, "%") != 0) || !(r->threshold >= 0 && r->threshold <= 100))
                return wrong("threshold", value, "per cent are expected, 0 to 100");
        return 0;
}

static int take_sort(struct report *r, const char *value)
{
        r->sort_set = true;
        if (flat_key_named(value, &r->sort))
                return 0;
        if (strcmp(value, "leaked-bytes") == 0 || strcmp(value, "leaked-blocks") == 0)
                return wrong("sort", value,
                             "the recording was not scanned for leaks; live-bytes orders by what was not freed");
        return wrong("sort", value, "there is no such key ('seep help report' lists them)");
}

static int take_debug_path(struct report *r, const char *value)
{
        if (r->names.debug_path_count == REPORT_DEBUG_PATHS)
                return message_usage("report", "more than %d times --debug-path", REPORT_DEBUG_PATHS);
        r->debug_paths[r->names.debug_path_count++] = value;
        return 0;
}

/* What is counted, and which stacks. */
static int take_choice(struct report *r, int which, const char *value)
{
        switch (which) {
        case REPORT_COST:
                r->cost_set = true;
                if (!cost_named(value, &r->request.cost))
                        return wrong("cost", value, "one of peak, live, total, allocs, temporary is expected");
                return 0;
        case REPORT_AT:
                return take_at(r, value);
        case REPORT_RANGE:
                return take_range(r, value);
        case REPORT_INCLUDE:
                return take_filter(r, FILTER_INCLUDE, value);
        case REPORT_EXCLUDE:
                return take_filter(r, FILTER_EXCLUDE, value);
        case REPORT_MODULE:
                return take_filter(r, FILTER_MODULE, value);
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
                return take_number("limit", value, &r->limit);
        case REPORT_SORT:
                return take_sort(r, value);
        case REPORT_DEPTH_MERGE:
                return take_number("depth-merge", value, &r->request.depth_merge);
        case REPORT_GROUP_BY:
                return group_kind_named(value, &r->group)
                               ? 0
                               : wrong("group-by", value,
                                       "one of stack, function, file, module, thread, size is expected");
        case REPORT_SYSROOT:
                r->names.sysroot = value;
                return 0;
        case REPORT_DEBUG_PATH:
                return take_debug_path(r, value);
        case REPORT_OUTPUT:
                r->output = value;
                return 0;
        case REPORT_COLOR:
                return pager_color_named(value, &r->color) ? 0
                                                           : wrong("color", value, "auto, always or never is expected");
        default:
                r->names.no_debuginfod |= which == REPORT_NO_DEBUGINFOD;
                r->force |= which == REPORT_FORCE;
                r->no_pager |= which == REPORT_NO_PAGER;
                r->quiet |= which == REPORT_QUIET;
                return 0;
        }
}

static int take(struct report *r, int which, const char *value)
{
        if (which >= REPORT_TREE && which <= REPORT_JSON) {
                if (r->view_set && r->view != which)
                        return message_usage("report", "--%s and --%s are two views: give one of them",
                                             report_options[r->view].name, report_options[which].name);
                r->view = which;
                r->view_set = true;
                return 0;
        }
        if (which >= REPORT_COST && which <= REPORT_THREAD)
                return take_choice(r, which, value);
        return take_shape(r, which, value);
}

/* Options that a view cannot follow are refused, not passed over. */
static int check_view(const struct report *r)
{
        const char *view = report_options[r->view].name;
        bool of_moment = r->request.at_set || r->request.at_peak || r->request.range_set;
        bool of_end = r->view == REPORT_BLOCKS || r->view == REPORT_THREADS;

        if ((of_end || r->view == REPORT_ERRORS || r->view == REPORT_SUMMARY) && of_moment)
                return message_usage("report",
                                     "--%s cannot be combined with --at and --range: %s known for the %s only", view,
                                     r->view == REPORT_SUMMARY ? "it is" : "they are", of_end ? "end" : "whole run");
        if (r->request.range_set && (r->request.at_set || r->request.at_peak || r->at_end))
                return message_usage("report", "--at and --range contradict each other: give one of them");
        if (r->group != GROUP_STACK && r->view_set && r->view != REPORT_FLAT)
                return message_usage("report", "--group-by makes a table: it cannot be combined with --%s", view);
        if (r->inverted && (r->view != REPORT_TREE || r->group != GROUP_STACK))
                return message_usage("report", "--inverted is for the tree only");
        return 0;
}

/* Slices tell what was live and how often was allocated, nothing else. */
static int check_sort(const struct report *r)
{
        bool known = r->sort == FLAT_LIVE_BYTES || r->sort == FLAT_LIVE_BLOCKS || r->sort == FLAT_ALLOC_BYTES ||
                     r->sort == FLAT_ALLOCS || r->sort == FLAT_AVERAGE;

        if (r->sort_set && !known && (r->request.at_set || r->request.range_set))
                return message_usage("report", "that --sort key is known for the whole run only, not for --at TIME or "
                                               "--range");
        return 0;
}

/* What was left open follows from what was said. */
static int settle(struct report *r)
{
        bool by_list = r->group == GROUP_THREAD || r->group == GROUP_SIZE;
        int status;

        if (r->sort_set && !r->view_set && r->group == GROUP_STACK)
                r->view = REPORT_FLAT;
        status = check_view(r);
        if (!status)
                status = check_sort(r);
        if (status)
                return status;
        if (r->sort_set && r->view == REPORT_TREE) {
                for (int i = 0; i < SELECT_COST_COUNT && !r->cost_set; i++)
                        if (flat_key_of((enum select_cost)i) == r->sort) {
                                r->request.cost = (enum select_cost)i;
                                r->cost_set = true;
                        }
                if (!r->cost_set)
                        return message_usage("report", "a tree cannot be ordered by that key; use --flat");
        }
        if (!r->cost_set) {
                bool not_peak = r->at_end || r->request.at_set || by_list || r->filter.count[FILTER_THREAD] ||
                                r->view == REPORT_BLOCKS;

                r->request.cost = r->request.range_set ? SELECT_TOTAL : not_peak ? SELECT_LIVE : SELECT_PEAK;
        }
        if (by_list && r->request.cost == SELECT_PEAK)
                return message_usage("report", "--group-by thread and size do not know the peak; use --cost live");
        if (r->group == GROUP_SIZE && r->request.cost != SELECT_LIVE)
                return message_usage("report", "--group-by size knows the blocks not freed only: --cost live");
        if (r->view == REPORT_BLOCKS)
                r->request.depth_merge = 0;
        r->request.filter = &r->filter;
        r->names.debug_paths = r->debug_paths;
        return 0;
}

/* ---- output ---- */

static void write_selected(const struct report *r, const struct selection *sel, struct symbols *s, int color,
                           struct str *out)
{
        if (r->group != GROUP_STACK && r->view != REPORT_JSON)
                group_write(sel, s, &(struct group_options){ r->group, r->threshold, r->limit, color }, out);
        else if (r->view == REPORT_JSON)
                json_write(sel, s, out);
        else if (r->view == REPORT_ERRORS)
                errors_write(sel, s, r->limit, out);
        else if (r->view == REPORT_BLOCKS)
                blocks_write(
                        sel, s,
                        &(struct blocks_options){ &r->filter, r->sort_set && r->sort == FLAT_AGE, r->limit, color },
                        out);
        else if (r->view == REPORT_FLAT)
                flat_write(
                        sel, s,
                        &(struct flat_options){ r->sort_set ? r->sort : flat_key_of(r->request.cost), r->limit, color },
                        out);
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
        uint64_t asked = r->request.at_set ? r->request.at_ms : r->request.range_set ? r->request.from_ms : 0;
        struct str time = { 0 };

        if (r->quiet)
                return;
        text_time(&time, end);
        if (asked > end)
                message("the recording ends at %s; %s", str_get(&time),
                        r->request.at_set ? "showing the end" : "nothing happened after that");
        else if (!sel->heap.count && !sel->mapped.count && r->filter_words.length)
                message("no stack matches%s", str_get(&r->filter_words));
        str_free(&time);
}

static bool write_view(struct report *r, const struct profile *p, const char *file, int color, struct str *out,
                       struct err *e)
{
        struct symbols *s;
        struct selection sel;
        bool good = true;

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
        symbols_free(s);
        return good;
}

static bool save(const struct report *r, const struct str *out, struct err *e)
{
        int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (r->force ? O_TRUNC : O_EXCL);
        int fd = open(r->output, flags, 0666);
        bool good;

        if (fd < 0 && errno == EEXIST)
                return err_set(e, ERR_EXIT_USAGE, "%s exists already: -f replaces it", r->output);
        if (fd < 0)
                return err_sys(e, ERR_EXIT_USAGE, "cannot write %s", r->output);
        good = io_write(fd, str_get(out), out->length);
        if (close(fd) != 0)
                good = false;
        return good || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s", r->output);
}

static bool deliver(const struct report *r, const struct str *out, struct err *e)
{
        if (r->output && strcmp(r->output, "-") != 0)
                return save(r, out, e);
        if (pager_show(out, r->no_pager || r->view == REPORT_JSON))
                return true;
        return err_sys(e, ERR_EXIT_FINDINGS, "cannot write the result");
}

/* Whether the end of the file that is missing held all that the view shows. */
static bool view_is_lost(const struct report *r, const struct profile *p)
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

static int show(struct report *r, const char *file)
{
        struct profile p = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        bool to_file = r->output && strcmp(r->output, "-") != 0;
        bool color = to_file ? r->color == PAGER_COLOR_ALWAYS : pager_color(r->color, STDOUT_FILENO);
        int status = 0;

        if (!file_read(&p, file, &e))
                return message_error(&e);
        if (p.truncated && !r->quiet)
                message("%s ends early: shown is what is whole ('seep info %s' tells what is missing)", file, file);
        if (view_is_lost(r, &p))
                err_set(&e, ERR_EXIT_BAD_FILE, "%s: nothing of this view is in the part that can be read%s", file,
                        p.totals.allocations ? "; --summary shows the totals" : "");
        if (e.exit_code || !write_view(r, &p, file, color, &out, &e) || !deliver(r, &out, &e))
                status = message_error(&e);
        str_free(&out);
        profile_free(&p);
        return status;
}

static int run(struct report *r, const char *file)
{
        struct err e = { 0 };
        char *newest = NULL;
        int status = settle(r);

        if (status)
                return status;
        if (!file && !newest_recording(&newest, &e))
                return message_error(&e);
        status = show(r, file ? file : newest);
        free(newest);
        return status;
}

int cmd_report(int argc, char **argv)
{
        struct report r = { .view = REPORT_TREE, .threshold = 1 };
        struct option_parser parser;
        int which, status = 0;

        option_start(&parser, "report", report_options, argc, argv);
        while (!status && (which = option_next(&parser)) >= 0) {
                if (which == REPORT_HELP) {
                        filter_free(&r.filter);
                        str_free(&r.filter_words);
                        return say_help();
                }
                status = take(&r, which, parser.value);
        }
        if (!status && which == OPTION_WRONG)
                status = ERR_EXIT_USAGE;
        if (!status && argc - parser.first_operand > 1)
                status = message_usage("report", "one recording at a time, not also '%s'",
                                       argv[parser.first_operand + 1]);
        if (!status)
                status = run(&r, argv[parser.first_operand]);
        filter_free(&r.filter);
        str_free(&r.filter_words);
        return status;
}
