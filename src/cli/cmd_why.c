/* SPDX-License-Identifier: MIT */
/* cmd_why.c -- `seep why [FILE|PID] ADDRESS|#SITE|FUNCTION|FILE:LINE`: what keeps a block alive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/core.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/pager.h"
#include "export/report_json.h"
#include "profile/file.h"
#include "query/why.h"
#include "report/views.h"
#include "words/label.h"

#define WHY_OPTIONS(X)                                                                             \
        X(WHY_HEAD_WHAT, NULL, 0, NULL, "what to explain:")                                        \
        X(WHY_SITE, "site", 0, "N",                                                                \
          "the typical block of site N (leaks and report --retained=sites have the numbers)")      \
        X(WHY_ALL, "all", 0, NULL,                                                                 \
          "list everything that leads to the block: variables, stacks, ...")                       \
        X(WHY_LIMIT, "limit", 'n', "N", "with --all: at most N of them")                           \
        X(WHY_LONG, "long", 'L', NULL,                                                             \
          "show the program or library of every frame, and full names")                            \
        X(WHY_AT, "at", 0, "WHEN",                                                                 \
          "in an earlier search: of a snapshot (its number or label), or the nearest to a time "   \
          "(end)")                                                                                 \
        X(WHY_JSON, "json", 0, NULL, "the same as JSON")                                           \
        X(WHY_HEAD_CORE, NULL, 0, NULL, "for a core file:")                                        \
        X(WHY_CORE, "core", 0, "CORE",                                                             \
          "search CORE, a core file of the recorded program, with the stacks of FILE")             \
        X(WHY_EXE, "exe", 0, "PROGRAM", "the program of the core file, if it is not where it was") \
        NAMES_OPTIONS(X, WHY)                                                                      \
        X(WHY_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                               \
        FILE_OPTIONS(X, WHY)                                                                       \
        COLOR_OPTION(X, WHY)                                                                       \
        X(WHY_NO_PAGER, "no-pager", 0, NULL, "do not use a pager")                                 \
        X(WHY_QUIET, "quiet", 'q', NULL, "no warnings")                                            \
        LAST_OPTIONS(X, WHY)

enum { WHY_OPTIONS(OPTION_ENUM) WHY_COUNT };
const struct option_entry why_options[] = { WHY_OPTIONS(OPTION_ENTRY) OPTION_END };

/* What was asked for. */
struct question {
        const char *source; /* FILE or PID; NULL: the newest recording */
        uint32_t pid;       /* 0: a file */
        const char *core, *exe; /* NULL: none */
        const char *at;         /* NULL: the end */
        uint64_t address, site;
        const char *place; /* a function or FILE:LINE; NULL: none */
        bool by_site, all, json, quiet;
        uint64_t limit;
        struct names names;
        struct deliver how;
        enum pager_color color;
};

static int say_help(void)
{
        return command_help(COMMAND_why,
                "Show what keeps a block of memory alive: the shortest path of pointers to it\n"
                "from a variable, a stack frame, a register or a mapping, and what would be\n"
                "freed if the block went away. ADDRESS (0x...) may lie inside the block. #SITE\n"
                "(or --site SITE) takes a typical block of a call stack, FUNCTION or FILE:LINE\n"
                "the call stack through it that holds most. FILE is a recording (the newest\n"
                "*.seep here) or a core file; a process is searched now, recorded or not.\n",
                "\nexamples:\n"
                "  seep why 0x55d0c3a0e2a0              in the newest recording here\n"
                "  seep why run.seep '#12'              what keeps the blocks of site 12\n"
                "  seep why run.seep parse.c:214        ... of the stack through that line\n"
                "  seep why --all 4711 0x55d0c3a0e2a0   all that lead to it, as process 4711 runs\n"
                "\nExit status: 0 it is held, 1 it is lost, 2 usage error or no such block, 3 the\n"
                "program was not or cannot be searched, 4 the file cannot be read.\n");
}

/* ---- words ---- */

static int take_number(const char *option, const char *value, uint64_t *out)
{
        if (!quantity_number(value, out) || *out > UINT32_MAX)
                return message_usage("why", "--%s '%s': a number is expected", option, value);
        return 0;
}

static int take_shape(struct question *q, int which, const char *value)
{
        switch (which) {
        case WHY_SITE:
                q->by_site = true;
                return take_number("site", value, &q->site);
        case WHY_LIMIT:
                return take_number("limit", value, &q->limit);
        case WHY_OUTPUT:
                q->how.output = value;
                return 0;
        case WHY_COLOR:
                q->color = (enum pager_color)option_choice(PAGER_COLORS, value);
                return 0;
        case WHY_CORE:
                q->core = value;
                return 0;
        case WHY_EXE:
                q->exe = value;
                return 0;
        case WHY_AT:
                q->at = value;
                return 0;
        case WHY_LONG:
                label_with_objects();
                return 0;
        default:
                q->all |= which == WHY_ALL;
                q->json |= which == WHY_JSON;
                q->how.force |= which == WHY_FORCE;
                q->how.raw |= which == WHY_JSON;
                q->how.plain |= which == WHY_NO_PAGER || which == WHY_JSON;
                q->quiet |= which == WHY_QUIET;
                return 0;
        }
}

static int take(void *to, int which, const char *value)
{
        struct question *q = to;
        int status;

        return names_take(&q->names, "why", why_options[which].name, value, &status)
                       ? status
                       : take_shape(q, which, value);
}

/* 0x55d0c3a0e2a0 */
static bool is_address(const char *word, uint64_t *address)
{
        char *end;

        if (word[0] != '0' || (word[1] != 'x' && word[1] != 'X') || !word[2] ||
            strspn(word + 2, "0123456789abcdefABCDEF") != strlen(word + 2))
                return false;
        errno = 0;
        *address = strtoull(word, &end, 16);
        return errno == 0;
}

static bool is_site(const char *word, uint64_t *site)
{
        return word[0] == '#' && quantity_number(word + 1, site) && *site <= UINT32_MAX;
}

static int take_operands(struct question *q, int count, char **words)
{
        const char *target = q->by_site || !count ? NULL : words[--count];

        if (target && is_site(target, &q->site))
                q->by_site = true;
        else if (target && !is_address(target, &q->address) && access(target, F_OK) == 0)
                return message_usage("why",
                                     "which block of %s? An ADDRESS (0x55d0c3a0e2a0), a #SITE "
                                     "(#12), a FUNCTION or FILE:LINE is expected after it; 'seep "
                                     "leaks %s' and 'seep report --flat %s' list sites", target,
                                     target, target);
        else if (target && !is_address(target, &q->address) &&
                 (target[0] == '#' || strncmp(target, "0x", 2) == 0))
                return message_usage("why",
                                     "'%s' is neither an address (0x55d0c3a0e2a0) nor a site (#12)",
                                     target);
        else if (target && !is_address(target, &q->address))
                q->place = target;
        else if (!target && !q->by_site)
                return message_usage("why",
                                     "which block? An ADDRESS (0x55d0c3a0e2a0), a #SITE, a "
                                     "FUNCTION or FILE:LINE is expected");
        if (count > 1)
                return message_usage("why", "one recording or process at a time, not also '%s'",
                                     words[1]);
        q->source = count ? words[0] : NULL;
        newest_is_process(q->source, &q->pid);
        if (q->core && q->pid)
                return message_usage("why",
                                     "a core file is of a process that is gone, not of process %u",
                                     q->pid);
        if (!q->core && !q->pid && q->source && core_is(q->source)) {
                q->core = q->source;
                q->source = NULL;
        }
        if (q->exe && !q->core)
                return message_usage("why",
                                     "--exe names the program of a core file: seep why --exe "
                                     "PROGRAM CORE ADDRESS");
        if (q->at && (q->core || q->pid))
                return message_usage("why",
                                     "--at: a process and a core file are searched as they are; "
                                     "only a recording has earlier searches");
        names_settle(&q->names, q->quiet);
        q->names.options.raw = q->how.raw;
        return 0;
}

/* ---- the answer ---- */

static bool answer(struct question *q, const struct profile *p, const char *from, int *status,
                   struct err *e)
{
        struct why_options options = { (uint32_t)q->limit, deliver_color(&q->how, q->color),
                                       q->how.output || !pager_columns() };
        struct symbols *s;
        struct str out = { 0 };
        struct why w;
        bool good;

        if (!why_possible(p, from, e))
                return false;
        s = symbols_new(p, &q->names.options);
        good = q->place     ? why_place(&w, p, s, q->place, e)
               : q->by_site ? why_site(&w, p, s, (uint32_t)q->site, e)
                            : why_address(&w, p, s, q->address, e);
        if (good) {
                if (q->all)
                        why_groups(&w);
                (q->json ? why_json : why_text)(&w, &options, &out);
                *status = w.held ? 0 : ERR_EXIT_FINDINGS;
                good = deliver_text(&q->how, &out, e);
        }
        if (good && !q->quiet && !q->json)
                names_hint(s, p);
        why_free(&w);
        symbols_free(s);
        str_free(&out);
        return good;
}

static int run(struct question *q)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        char *newest = NULL;
        int status = 0;
        bool good;

        q->how.quiet = q->quiet;
        if (!deliver_prepare(&q->how, &e))
                return message_error(&e);
        if (q->core)
                good = load_core(&p,
                                 &(struct load_core){ q->core, q->source, q->exe,
                                                      q->names.options.sysroot, WIRE_SCAN_GRAPH,
                                                      q->quiet }, &e);
        else if (q->pid)
                good = load_search(&p, &q->pid, WIRE_SCAN_GRAPH, &e);
        else
                good = (q->source || newest_recording(&newest, &e)) &&
                       load_kept(&p, q->source ? q->source : newest, q->at ? q->at : "end", &e);
        if (good && !q->core && !q->pid && !q->quiet)
                load_tell_kept(&p, q->source ? q->source : newest);
        if (good && p.truncated && !q->quiet)
                message("the recording is cut short: only the readable part is shown");
        if (!good || !answer(q, &p,
                             q->core     ? q->core
                             : q->source ? q->source
                                         : newest,
                             &status, &e))
                status = message_error(&e);
        deliver_drop(&q->how);
        profile_free(&p);
        free(newest);
        return status;
}

int cmd_why(int argc, char **argv)
{
        struct question q = { .color = PAGER_COLOR_AUTO };
        struct option_parser parser;
        int status;

        option_start(&parser, "why", why_options, argc, argv);
        status = option_take(&parser, take, &q);
        if (!status)
                status = take_operands(&q, argc - parser.first_operand,
                                       argv + parser.first_operand);
        if (status == OPTION_HELP)
                return say_help();
        return status ? status : run(&q);
}
