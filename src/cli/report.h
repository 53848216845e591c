/* SPDX-License-Identifier: MIT */
/*
 * report.h -- the options of `seep report`.
 *
 * Room:   outside, cli/ only.  report_options.c fills it from the command line, report_settle.c
 *         makes it whole, report_views.c writes the view, cmd_report.c is the frame around them.
 */
#ifndef SEEP_CLI_REPORT_H
#define SEEP_CLI_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/names.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/select.h"
#include "report/flat.h"
#include "report/group.h"

#define REPORT_OPTIONS(X)                                                                          \
        X(REPORT_HEAD_VIEW, NULL, 0, NULL, "views:")                                               \
        X(REPORT_TREE, "tree", 0, NULL, "call tree with shares (default)")                         \
        X(REPORT_FLAT, "flat", 0, NULL, "one entry per call stack, with all costs")                \
        X(REPORT_GROWTH, "growth", 0, NULL, "stacks whose memory keeps growing come first")        \
        X(REPORT_CALLERS, "callers", 0, "FUNCTION",                                                \
          "callers of a function, with what is allocated through it")                              \
        X(REPORT_SOURCE, "source", 0, "FILE",                                                      \
          "lines of a source file with their cost in the margin")                                  \
        X(REPORT_TIMELINE, "timeline", 0, NULL, "a plot of live memory, with tags and snapshots")  \
        X(REPORT_SIZES, "sizes", 0, NULL, "histogram of allocation sizes")                         \
        X(REPORT_LIFETIMES, "lifetimes", 0, NULL, "histogram of the lifetimes of freed blocks")    \
        X(REPORT_BLOCKS, "blocks", 0, NULL, "each block not freed: address, size, time, stack")    \
        X(REPORT_MEMLOG, "memlog", 0, NULL,                                                        \
          "signed bytes and stacks, innermost frame first, as MTrace writes them")                 \
        X(REPORT_THREADS, "threads", 0, NULL, "a table of the threads")                            \
        X(REPORT_MODULES, "modules", 0, NULL, "a table of the programs and libraries")             \
        X(REPORT_RESOURCES, "resources", 0, NULL,                                                  \
          "file descriptors and other resources, by type and stack")                               \
        X(REPORT_ERRORS, "errors", 0, NULL, "double frees and other invalid frees, with stacks")   \
        X(REPORT_RETAINED, "retained", 0, "[BY]",                                                  \
          "the heap by what keeps it alive: owners (variables, stacks, ...), or by call stack: "   \
          "sites", "owners|sites")                                                                 \
        X(REPORT_TYPES, "types", 0, "[TYPE]",                                                      \
          "bytes and blocks by C, C++ and Rust type; of one TYPE: its call stacks")                \
        X(REPORT_FRAGMENTATION, "fragmentation", 0, NULL,                                          \
          "the heap as a map: blocks, holes, and what keeps free memory from the system")          \
        X(REPORT_SUMMARY, "summary", 0, NULL, "the summary printed after a recording")             \
        X(REPORT_JSON, "json", 0, NULL, "everything, as JSON")                                     \
        X(REPORT_HEAD_WHAT, NULL, 0, NULL, "what to count:")                                       \
        X(REPORT_COST, "cost", 0, "COST",                                                          \
          "peak (default), live (not freed), total (all bytes ever), allocs (calls), "             \
          "temporary, leaked; with --range also "                                                  \
          "change (how much more is live)",                                                        \
          "peak|live|total|allocs|temporary|leaked|change|...")                                    \
        X(REPORT_MEMORY, "memory", 0, "KIND",                                                      \
          "heap, mmap, or both as one sum (default: one below the other)", "heap|mmap|both")       \
        X(REPORT_AT, "at", 0, "WHEN",                                                              \
          "the moment: peak, end, a time like 1.5s, a snapshot's number, or a label (LABEL:2 "     \
          "is its second)",                                                                        \
          "peak|end|...")                                                                          \
        X(REPORT_RANGE, "range", 0, "A..B",                                                        \
          "what happened between two moments: 2s..5s, ..5s, startup..; between marks: what "       \
          "survived")                                                                              \
        FILTER_OPTIONS(X, REPORT)                                                                  \
        THREAD_OPTION(X, REPORT)                                                                   \
        X(REPORT_HEAD_SHAPE, NULL, 0, NULL, "how it is shown:")                                    \
        X(REPORT_INVERTED, "inverted", 0, NULL,                                                    \
          "invert the tree: from the callers of malloc instead of from main")                      \
        X(REPORT_THRESHOLD, "threshold", 0, "PCT",                                                 \
          "summarize what is below this share of the total (1)")                                   \
        X(REPORT_LIMIT, "limit", 'n', "N", "at most N entries")                                    \
        X(REPORT_SORT, "sort", 's', "KEY",                                                         \
          "order of --flat: live-bytes live-blocks peak-bytes alloc-bytes allocs temporary "       \
          "leaked-bytes leaked-blocks "                                                            \
          "average age last largest bad-frees mismatched; may be abbreviated",                     \
          "live-bytes|live-blocks|peak-bytes|alloc-bytes|allocs|temporary|leaked-bytes|"           \
          "leaked-blocks|average|age|"                                                             \
          "last|largest|bad-frees|mismatched")                                                     \
        X(REPORT_LONG, "long", 'L', NULL,                                                          \
          "show the program or library of every frame, and full names")                            \
        X(REPORT_ABS, "abs", 0, NULL, "sort --memlog by absolute size, not by growth")             \
        WRAPPER_OPTIONS(X, REPORT)                                                                 \
        RECURSION_OPTION(X, REPORT)                                                                \
        X(REPORT_DEPTH_MERGE, "depth-merge", 0, "N",                                               \
          "merge stacks with the same N innermost frames")                                         \
        X(REPORT_GROUP_BY, "group-by", 0, "KIND",                                                  \
          "a table by stack, function, file, module, thread or size",                              \
          "stack|function|file|module|thread|size")                                                \
        NAMES_OPTIONS(X, REPORT)                                                                   \
        X(REPORT_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                            \
        X(REPORT_CSV, "csv", 0, NULL, "CSV: of --flat (default), --blocks, --threads, --group-by") \
        FILE_OPTIONS(X, REPORT)                                                                    \
        COLOR_OPTION(X, REPORT)                                                                    \
        X(REPORT_NO_PAGER, "no-pager", 0, NULL, "do not use a pager")                              \
        X(REPORT_QUIET, "quiet", 'q', NULL, "no warnings")                                         \
        LAST_OPTIONS(X, REPORT)

enum { REPORT_OPTIONS(OPTION_ENUM) REPORT_COUNT };

struct report {
        const char *command; /* for messages: "report", "diff", "export" */
        int view; /* REPORT_TREE ... REPORT_JSON */
        const char *view_value; /* of --callers, --source, --types, --retained */
        bool json; /* another view than --json, for programs */
        bool view_set, cost_set, all_frames, recursion, by_stack, sort_set, force, no_pager, quiet,
                inverted, csv, abs, leaked; /* --cost leaked */
        struct select_request request;
        const char *at_word, *range_word; /* NULL: not given */
        const char *kept_word; /* --at of a view of blocks: of which search; NULL: of the end */
        struct filter filter;
        struct wrappers wrappers;
        struct str filter_words; /* as given: " -i RE --thread RE" */
        enum sort_key sort;
        enum group_kind group;
        double threshold;
        uint32_t limit;
        struct names names;
        const char *output;
        enum pager_color color;
};

/* The option of that long name, for commands that share it. */
int report_option(const char *name);

/* Take the option WHICH of report_options with its VALUE.  0, or the exit status after a
 * message. */
int report_take(void *report, int which, const char *value);

/* What was left open follows from what was said; what contradicts itself is
 * refused.  0, or the exit status. */
int report_settle(struct report *r);

/* Stacks are without wrappers, and for people without library code, unless all frames were asked
 * for.  MARKED: they stay, and are told by a mark. */
void report_hide(struct report *r, bool marked);

void report_free(struct report *r);

/* What a view can follow. */
enum {
        REPORT_FOLLOWS_AT = 1,
        REPORT_FOLLOWS_RANGE = 2,
        REPORT_FOLLOWS_STACKS = 4, /* -i -x --module --exclude-module */
        REPORT_FOLLOWS_THREADS = 8
};

/* The word of the chosen view, and what it follows. */
const char *report_view_name(const struct report *r);
unsigned report_view_follows(const struct report *r);

/* Whether the end of the file that is missing held all that the view shows. */
bool report_view_lost(const struct report *r, const struct profile *p);

/* Words for moments mean something only together with a recording: find them in P. */
bool report_resolve(struct report *r, const struct profile *p, struct err *e);

/* An empty result is said to be one. */
void report_remark(const struct report *r, const struct selection *sel);

/* Append the view of P, which came from FILE. */
bool report_view_write(struct report *r, const struct profile *p, const char *file, int color,
                       struct str *out, struct err *e);

#endif
