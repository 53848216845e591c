/* SPDX-License-Identifier: MIT */
/*
 * cmd_diff.c -- `seep diff`: what changed between two recordings, or two moments of one.
 *
 * Keeps:  options that `seep report` has too mean the same here: they are handed to it by name.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/report.h"
#include "export/report_json.h"
#include "profile/file.h"
#include "query/diff.h"
#include "query/moment.h"
#include "query/wrapper_learn.h"
#include "query/types_diff.h"
#include "report/views.h"
#include "words/label.h"

#define DIFF_OPTIONS(X)                                                                          \
        X(DIFF_HEAD_VIEW, NULL, 0, NULL, "views:")                                               \
        X(DIFF_TYPES, "types", 0, NULL,                                                          \
          "what changed by C, C++ and Rust type, instead of by call stack")                      \
        X(DIFF_MEMLOG, "memlog", 0, NULL,                                                        \
          "signed bytes and stacks, innermost frame first, as MTrace writes them")               \
        X(DIFF_JSON, "json", 0, NULL, "JSON: the fields of report --json as signed differences") \
        X(DIFF_CSV, "csv", 0, NULL, "CSV")                                                       \
        X(DIFF_HEAD_WHAT, NULL, 0, NULL, "what to count:")                                       \
        X(DIFF_COST, "cost", 0, "COST",                                                          \
          "live (default), peak, total (all bytes ever), allocs (calls)",                        \
          "live|peak|total|allocs")                                                              \
        FILTER_OPTIONS(X, DIFF)                                                                  \
        X(DIFF_HEAD_SHAPE, NULL, 0, NULL, "how it is shown:")                                    \
        X(DIFF_LIMIT, "limit", 'n', "N", "at most N stacks")                                     \
        X(DIFF_SORT, "sort", 's', "KEY",                                                         \
          "sort by change, largest first: live-bytes live-blocks peak-bytes alloc-bytes allocs", \
          "live-bytes|live-blocks|peak-bytes|alloc-bytes|allocs")                                \
        X(DIFF_LONG, "long", 'L', NULL,                                                          \
          "show the program or library of every frame, and full names")                          \
        X(DIFF_ABS, "abs", 0, NULL, "sort --memlog by absolute size, not by growth")             \
        WRAPPER_OPTIONS(X, DIFF)                                                                 \
        RECURSION_OPTION(X, DIFF)                                                                \
        X(DIFF_DEPTH_MERGE, "depth-merge", 0, "N",                                               \
          "merge stacks with the same N innermost frames")                                       \
        NAMES_OPTIONS(X, DIFF)                                                                   \
        X(DIFF_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                            \
        FILE_OPTIONS(X, DIFF)                                                                    \
        COLOR_OPTION(X, DIFF)                                                                    \
        X(DIFF_NO_PAGER, "no-pager", 0, NULL, "do not use a pager")                              \
        X(DIFF_QUIET, "quiet", 'q', NULL, "no warnings")                                         \
        LAST_OPTIONS(X, DIFF)

enum { DIFF_OPTIONS(OPTION_ENUM) DIFF_COUNT };
const struct option_entry diff_options[] = { DIFF_OPTIONS(OPTION_ENTRY) OPTION_END };

/* One of the two.  Filters remember the names of one recording: each side has its own. */
struct side {
        const char *operand;
        struct report asked;
        char *file;
        const char *word; /* for the moment */
        struct profile own;
        const struct profile *profile; /* own, or that of the other side when both are one file */
        struct symbols *symbols;
        struct selection sel;
};

static int say_help(void)
{
        return command_help(COMMAND_diff,
                "Show what changed between two recordings, or two moments of one, by call stack.\n"
                "Each is FILE (its end), or FILE@WHEN: a snapshot's number, the label of a tag or\n"
                "snapshot, a time like 1.5s, start, peak or end. @WHEN alone means the other's\n"
                "file, or the newest here. A process that is being recorded (PID) is a recording,\n"
                "too, up to now.\n",
                "\nexamples:\n"
                "  seep diff old.seep new.seep              two runs\n"
                "  seep diff run.seep@1 @2                  two snapshots of one\n"
                "  seep diff run.seep@startup run.seep      from a tag to the end\n"
                "  seep diff --types run.seep@1 run.seep    which types came since a snapshot\n"
                "  seep diff 4711@1 4711                    since a snapshot of a process\n"
                "\nExit status: 0 success, 2 usage error, 3 a process is not recorded, 4 a file\n"
                "cannot be read.\n");
}

/* ---- words ---- */

static int take(void *to, int which, const char *value)
{
        struct side *sides = to;
        int status = 0;

        for (int i = 0; !status && i < MATCH_SIDES; i++)
                status = report_take(&sides[i].asked, report_option(diff_options[which].name),
                                     value);
        return status;
}

static int settle(struct side *side)
{
        struct report *r = &side->asked;

        if (!r->cost_set)
                r->request.cost = SELECT_LIVE;
        if (r->view == REPORT_TYPES && r->csv)
                return message_usage("diff", "--types is a table for people, or --json");
        r->request.each_site = r->view == REPORT_TYPES;
        if (r->abs && r->view != REPORT_MEMLOG)
                return message_usage("diff", "--abs is for --memlog only");
        r->request.filter = &r->filter;
        report_hide(r, r->view == REPORT_JSON);
        names_settle(&r->names, r->quiet);
        r->names.options.raw = r->view == REPORT_JSON;
        return 0;
}

/* ---- recordings ---- */

/* Whether it is asked for all that happened until its end. */
static bool is_end(const struct side *side)
{
        return strcmp(side->word, "end") == 0 && side->asked.view != REPORT_TYPES &&
               !filter_has(&side->asked.filter, FILTER_THREAD);
}

static bool read_side(struct side sides[MATCH_SIDES], enum match_side which, struct err *e)
{
        struct side *side = &sides[which];
        const struct side *other = which == MATCH_NEW ? &sides[MATCH_OLD] : NULL;
        const struct report *r = &side->asked;

        side->profile = &side->own;
        if (other && strcmp(other->file, side->file) == 0) {
                side->profile = other->profile;
                side->symbols = other->symbols;
                return true;
        }
        if (!load_recording(&side->own, side->file,
                            (r->view == REPORT_TYPES ? LOAD_GRAPH : LOAD_COUNTS) |
                                    (r->quiet ? LOAD_QUIET : 0) |
                                    (is_end(&sides[0]) && is_end(&sides[1]) ? LOAD_END : 0),
                            e))
                return false;
        if (report_view_lost(r, &side->own))
                return err_set(e, ERR_EXIT_BAD_FILE, "%s: the readable part has no call stacks",
                               side->file);
        side->symbols = symbols_new(&side->own, &r->names.options);
        return true;
}

/* A function that is shown on one side is shown on the other, or nothing would fit. */
static bool learn_wrappers(const struct side *old, const struct side *new)
{
        if (new->asked.request.wrappers)
                wrapper_learn_both(old->profile, old->symbols, new->profile, new->symbols);
        return true;
}

static bool select_side(struct side *side, struct err *e)
{
        struct select_request *request = &side->asked.request;

        request->columns = side->asked.output ? 0 : pager_columns();
        if (!moment_find(side->profile, side->word, &request->at, e) ||
            !select_make(&side->sel, side->profile, side->symbols, request, e))
                return err_context(e, "%s", side->operand);
        return true;
}

static void free_side(struct side *side)
{
        select_free(&side->sel);
        if (side->profile == &side->own)
                symbols_free(side->symbols);
        profile_free(&side->own);
        report_free(&side->asked);
        free(side->file);
}

/* ---- output ---- */

static void build_id(const struct profile_module *module, struct str *out)
{
        for (uint32_t i = 0; i < module->build_id_bytes && i < 4; i++)
                str_format(out, "%02x", module->build_id[i]);
}

static bool on_a_stack(const struct profile *p, uint32_t module)
{
        for (uint32_t i = 1; i < p->node_count; i++)
                if (p->nodes[i].module == module)
                        return true;
        return false;
}

/* Rebuilt files are said to be, each once, if functions of theirs matter. */
static void tell_rebuilt(const struct diff *d)
{
        const struct profile *p = d->sel[MATCH_NEW]->profile, *q = d->sel[MATCH_OLD]->profile;
        uint32_t old;

        for (uint32_t i = 0; i < p->module_count; i++) {
                struct str from = { 0 }, to = { 0 };

                if (!match_rebuilt(&d->match, i, &old) || !on_a_stack(p, i))
                        continue;
                build_id(&q->modules[old], &from);
                build_id(&p->modules[i], &to);
                message("build ids of %s differ (%s..., %s...): its functions are matched by name",
                        label_base(p->modules[i].path), str_get(&from), str_get(&to));
                str_free(&from);
                str_free(&to);
        }
}

static bool show_types(struct side sides[MATCH_SIDES], struct err *e)
{
        const struct report *r = &sides[MATCH_NEW].asked;
        struct deliver how = { .output = r->output, .force = r->force,
                               .plain = r->no_pager || r->json, .raw = r->json,
                               .quiet = r->quiet };
        struct diff_options options = { { sides[MATCH_OLD].operand, sides[MATCH_NEW].operand },
                                        r->limit,
                                        deliver_color(&how, r->color),
                                        false };
        struct types old, new;
        struct types_diff_sides both = { &old, &new };
        struct types_diff d;
        struct str out = { 0 };
        bool good;

        types_make(&old, &sides[MATCH_OLD].sel, sides[MATCH_OLD].symbols);
        types_make(&new, &sides[MATCH_NEW].sel, sides[MATCH_NEW].symbols);
        types_diff_make(&d, &old, &new);
        if (r->json)
                types_diff_json(&d, &both, &out);
        else
                types_diff_text(&d, &both, &options, &out);
        good = deliver_text(&how, &out, e);
        str_free(&out);
        types_diff_free(&d);
        types_free(&old);
        types_free(&new);
        return good;
}

static bool show(struct side sides[MATCH_SIDES], struct err *e)
{
        const struct report *r = &sides[MATCH_NEW].asked;
        const struct selection *sel[] = { &sides[MATCH_OLD].sel, &sides[MATCH_NEW].sel };
        struct symbols *symbols[] = { sides[MATCH_OLD].symbols, sides[MATCH_NEW].symbols };
        bool raw = r->view == REPORT_JSON || r->csv;
        struct deliver how = { .output = r->output, .force = r->force, .plain = r->no_pager || raw,
                               .raw = raw, .quiet = r->quiet };
        struct diff_options options = { { sides[MATCH_OLD].operand, sides[MATCH_NEW].operand },
                                        r->limit,
                                        deliver_color(&how, r->color),
                                        r->abs };
        struct deliver_stream to;
        struct diff d;

        if (!deliver_prepare(&how, e))
                return false;
        deliver_gather(&to, &how);
        for (int i = 0; i < MATCH_SIDES; i++)
                profile_free_course(&sides[i].own); /* both moments are chosen */
        diff_make(&d, sel, symbols, r->sort_set ? r->sort : sort_key_of(r->request.cost));
        if (!r->quiet)
                tell_rebuilt(&d);
        if (!r->quiet && !d.count && r->filter_words.length)
                message("no stack matches%s", str_get(&r->filter_words));
        if (r->view == REPORT_JSON)
                diff_json(&d, &options, &to.text);
        else if (r->view == REPORT_MEMLOG)
                diff_memlog(&d, &options, &to.text);
        else if (r->csv)
                diff_csv(&d, &options, &to.text);
        else
                diff_text(&d, &options, &to.text);
        diff_free(&d);
        return deliver_finish(&to, e);
}

static int run(struct side sides[MATCH_SIDES])
{
        struct side *old = &sides[MATCH_OLD], *new = &sides[MATCH_NEW];
        struct err e = { 0 };
        int status = settle(old);

        if (!status)
                status = settle(new);
        if (status)
                return status;
        if (newest_or_named(old->operand, NULL, &old->file, &old->word, &e) &&
            newest_or_named(new->operand, old->file, &new->file, &new->word, &e) &&
            read_side(sides, MATCH_OLD, &e) && read_side(sides, MATCH_NEW, &e) &&
            learn_wrappers(old, new) && select_side(old, &e) && select_side(new, &e) &&
            (new->asked.view == REPORT_TYPES ? show_types(sides, &e) : show(sides, &e)))
                return 0;
        return message_error(&e);
}

int cmd_diff(int argc, char **argv)
{
        struct side sides[MATCH_SIDES] = { { .asked = { .command = "diff", .view = REPORT_FLAT } },
                                           { .asked = { .command = "diff",
                                                        .view = REPORT_FLAT } } };
        struct option_parser parser;
        int status;

        option_start(&parser, "diff", diff_options, argc, argv);
        status = option_take(&parser, take, sides);
        if (!status && argc - parser.first_operand != MATCH_SIDES)
                status = message_usage("diff",
                                       "two recordings are expected, or two moments of one: OLD "
                                       "NEW");
        if (!status) {
                sides[MATCH_OLD].operand = argv[parser.first_operand];
                sides[MATCH_NEW].operand = argv[parser.first_operand + 1];
                status = run(sides);
        }
        for (int i = MATCH_SIDES; i-- > 0;)
                free_side(&sides[i]);
        return status == OPTION_HELP ? say_help() : status;
}
