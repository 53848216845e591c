/* SPDX-License-Identifier: MIT */
/*
 * cmd_leaks.c -- `seep leaks [FILE|PID]`: what a program lost, from a recording or
 * from the process itself.
 *
 * Keeps:  options that `seep report` has too mean the same here: they are handed to it by name.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/core.h"
#include "base/heap.h"
#include "base/quantity.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/folder.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/offer.h"
#include "cli/pager.h"
#include "cli/report.h"
#include "export/report_json.h"
#include "profile/file.h"
#include "query/leaks.h"
#include "report/views.h"
#include "session/ask.h"
#include "words/text.h"

#define LEAKS_OPTIONS(X)                                                                         \
        X(LEAKS_HEAD_WHAT, NULL, 0, NULL, "what to show:")                                       \
        X(LEAKS_SHOW, "show", 0, "CLASSES",                                                      \
          "definite,possible (default), indirect, reachable, all; reachable is not an error",    \
          "definite|indirect|possible|reachable|all|...")                                        \
        X(LEAKS_BLOCKS, "blocks", 0, NULL,                                                       \
          "each lost block: address, size, age, thread, first bytes, stack")                     \
        X(LEAKS_NEW, "new", 0, NULL, "only what was lost since the previous search")             \
        X(LEAKS_AT, "at", 0, "WHEN",                                                             \
          "what an earlier search found: of a snapshot (its number or label), or the nearest to "\
          "a time (end)")                                                                        \
        X(LEAKS_JSON, "json", 0, NULL, "JSON, with the fields of report --json")                 \
        X(LEAKS_HEAD_CORE, NULL, 0, NULL, "for a core file:")                                    \
        X(LEAKS_CORE, "core", 0, "CORE",                                                         \
          "search CORE, a core file of the recorded program, with the stacks of FILE")           \
        X(LEAKS_EXE, "exe", 0, "PROGRAM",                                                        \
          "the program of the core file, if it is not where it was")                             \
        X(LEAKS_HEAD_PROCESS, NULL, 0, NULL, "for a process, or a core file:")                   \
        OFFER_OPTION(X, LEAKS)                                                                   \
        X(LEAKS_EVERY, "every", 0, "TIME", "search repeatedly, and show what is new each time")  \
        X(LEAKS_UNALIGNED, "unaligned", 0, NULL,                                                 \
          "look for pointers at any byte, not only at multiples of 8")                           \
        X(LEAKS_NO_IDIOMS, "no-idioms", 0, NULL,                                                 \
          "blocks held only by pointers behind a header, as with new[], are possibly lost")      \
        X(LEAKS_HEAD_RULES, NULL, 0, NULL, "suppressions:")                                      \
        X(LEAKS_SUPPRESSIONS, "suppressions", 0, "FILE",                                         \
          "suppress what rules in FILE match, in LSan or Valgrind syntax (may be repeated)")     \
        X(LEAKS_NO_BUILT_IN, "no-builtin-suppressions", 0, NULL,                                 \
          "also show what the C library and language runtimes keep")                             \
        X(LEAKS_GEN, "gen-suppressions", 0, "[FORMAT]",                                          \
          "print a suppression for each leak instead, in valgrind (default) or lsan syntax",     \
          "valgrind|lsan")                                                                       \
        FILTER_OPTIONS(X, LEAKS)                                                                 \
        THREAD_OPTION(X, LEAKS)                                                                  \
        X(LEAKS_HEAD_SHAPE, NULL, 0, NULL, "how it is shown:")                                   \
        X(LEAKS_LIMIT, "limit", 'n', "N", "at most N places, or blocks (10; 0 is all)")          \
        X(LEAKS_SORT, "sort", 's', "KEY",                                                        \
          "leaked-bytes (default) leaked-blocks average age live-bytes live-blocks alloc-bytes " \
          "allocs",                                                                              \
          "leaked-bytes|leaked-blocks|average|age|live-bytes|live-blocks|alloc-bytes|allocs")    \
        X(LEAKS_LONG, "long", 'L', NULL,                                                         \
          "show the program or library of every frame, and full names")                          \
        WRAPPER_OPTIONS(X, LEAKS)                                                                \
        RECURSION_OPTION(X, LEAKS)                                                               \
        X(LEAKS_DEPTH_MERGE, "depth-merge", 0, "N",                                              \
          "merge stacks with the same N innermost frames")                                       \
        NAMES_OPTIONS(X, LEAKS)                                                                  \
        X(LEAKS_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                           \
        FILE_OPTIONS(X, LEAKS)                                                                   \
        COLOR_OPTION(X, LEAKS)                                                                   \
        X(LEAKS_NO_PAGER, "no-pager", 0, NULL, "do not use a pager")                             \
        X(LEAKS_QUIET, "quiet", 'q', NULL, "no warnings")                                        \
        X(LEAKS_VERBOSE, "verbose", 'v', NULL,                                                   \
          "show each stack of a place, and what was suppressed by which rule")                   \
        LAST_OPTIONS(X, LEAKS)

enum { LEAKS_OPTIONS(OPTION_ENUM) LEAKS_COUNT };
const struct option_entry leaks_options[] = { LEAKS_OPTIONS(OPTION_ENTRY) OPTION_END };

#define LEAKS_EVERY_MIN_MS 100u

enum { LEAKS_PLACES = 10 }; /* what people read */

/* What was asked for. */
struct leaks_command {
        struct report asked; /* filters, names, output */
        struct leaks_request request;
        struct leaks_options options;
        struct suppressions rules; /* of files */
        uint32_t flags;            /* WIRE_SCAN_* */
        uint64_t every_ms;
        bool json, no_built_in, gen, hinted, limit_set;
        enum suppress_format format;
        uint32_t pid; /* 0: a file */
        const char *core, *exe; /* NULL: none */
        const char *at;         /* NULL: the end */
        bool attach;
};

static int say_help(void)
{
        return command_help(COMMAND_leaks,
                "Show what a program leaked: memory that nothing points to any more, by call\n"
                "stack, largest first, and its invalid frees. FILE is a recording (the newest\n"
                "*.seep here), searched when its program ended. A process that is being recorded\n"
                "is searched now; PID is its own, or that of the seep that started it. Any other\n"
                "process, and a core file, is searched without stacks, by the heaps of its malloc\n"
                "(glibc, musl, jemalloc, mimalloc, tcmalloc). A folder, as NAME.seep.d, is all\n"
                "processes of a run.\n",
                "\nexamples:\n"
                "  seep leaks                               the newest recording here\n"
                "  seep leaks --blocks -n 5 run.seep        five blocks, with their first bytes\n"
                "  seep leaks --every 30s 4711              what a server loses as it runs\n"
                "  seep leaks --gen-suppressions > my.supp  rules for what is known\n"
                "  seep leaks --core core run.seep          a crash, with the recorded stacks\n"
                "\nExit status: 0 nothing definitely lost and no invalid frees, 1 otherwise, 2\n"
                "usage error, 3 it was not or cannot be searched, 4 the file cannot be read.\n");
}

/* ---- words ---- */

static int take_show(struct leaks_command *w, const char *value)
{
        char *list = heap_text(value), *wrong = NULL;
        int status = 0;

        w->options.show = 0;
        for (char *save, *word = strtok_r(list, ",", &save); word && !wrong;
             word = strtok_r(NULL, ",", &save)) {
                uint32_t leak = PROFILE_LEAK_REACHABLE;

                while (leak < PROFILE_LEAK_COUNT && strcmp(word, profile_leak_word(leak)) != 0)
                        leak++;
                if (strcmp(word, "all") == 0)
                        w->options.show = ~0u;
                else if (leak < PROFILE_LEAK_COUNT)
                        w->options.show |= 1u << leak;
                else
                        wrong = word;
        }
        if (wrong || !w->options.show)
                status = message_usage("leaks",
                                       "--show '%s': definite, indirect, possible, reachable or "
                                       "all is expected", wrong ? wrong : value);
        free(list);
        return status;
}

static int take_every(struct leaks_command *w, const char *value)
{
        if (!quantity_time(value, &w->every_ms) || w->every_ms < LEAKS_EVERY_MIN_MS)
                return message_usage("leaks",
                                     "--every needs a time like 30s, at least %u ms, not '%s'",
                                     LEAKS_EVERY_MIN_MS, value);
        return 0;
}

static int take_rules(struct leaks_command *w, const char *value)
{
        struct err e = { 0 };

        return suppress_read_file(&w->rules, value, &e) ? 0 : message_error(&e);
}

static int take_flag(struct leaks_command *w, int which)
{
        w->options.blocks |= which == LEAKS_BLOCKS;
        w->request.only_new |= which == LEAKS_NEW;
        w->json |= which == LEAKS_JSON;
        w->no_built_in |= which == LEAKS_NO_BUILT_IN;
        w->options.verbose |= which == LEAKS_VERBOSE;
        w->flags |= which == LEAKS_UNALIGNED   ? WIRE_SCAN_UNALIGNED
                    : which == LEAKS_NO_IDIOMS ? WIRE_SCAN_NO_IDIOMS
                                               : 0;
        return 0;
}

static int take(void *to, int which, const char *value)
{
        struct leaks_command *w = to;

        switch (which) {
        case LEAKS_SHOW:
                return take_show(w, value);
        case LEAKS_EVERY:
                return take_every(w, value);
        case LEAKS_SUPPRESSIONS:
                return take_rules(w, value);
        case LEAKS_CORE:
                w->core = value;
                return 0;
        case LEAKS_EXE:
                w->exe = value;
                return 0;
        case LEAKS_AT:
                w->at = value;
                return 0;
        case LEAKS_ATTACH:
                w->attach = true;
                return 0;
        case LEAKS_GEN:
                w->gen = true;
                w->format = value && strcmp(value, "lsan") == 0 ? SUPPRESS_AS_LSAN
                                                              : SUPPRESS_AS_VALGRIND;
                return 0;
        case LEAKS_SORT:
                leaks_key_named(value, &w->request.key); /* one of the table's values */
                w->options.oldest_first = w->request.key == LEAKS_BY_AGE;
                return 0;
        case LEAKS_LIMIT:
                w->limit_set = true;
                return report_take(&w->asked, report_option("limit"), value);
        case LEAKS_BLOCKS:
        case LEAKS_NEW:
        case LEAKS_JSON:
        case LEAKS_NO_BUILT_IN:
        case LEAKS_VERBOSE:
        case LEAKS_UNALIGNED:
        case LEAKS_NO_IDIOMS:
                return take_flag(w, which);
        default:
                return report_take(&w->asked, report_option(leaks_options[which].name), value);
        }
}

/* People get the worst first and no more than they read; what programs get, and rules, are
 * whole. */
static void settle_amount(struct leaks_command *w)
{
        bool people = !w->json && !w->gen;

        if (!w->options.show)
                w->options.show = 1u << PROFILE_LEAK_DEFINITE | 1u << PROFILE_LEAK_POSSIBLE |
                                  (people ? 0 : 1u << PROFILE_LEAK_INDIRECT);
        w->request.reachable = w->options.show >> PROFILE_LEAK_REACHABLE & 1;
        w->options.limit = people && !w->limit_set ? LEAKS_PLACES : w->asked.limit;
}

static int settle(struct leaks_command *w)
{
        struct report *r = &w->asked;

        if (w->gen && (w->json || w->options.blocks))
                return message_usage("leaks",
                                     "--gen-suppressions prints rules: it cannot be combined with "
                                     "--%s", w->json ? "json" : "blocks");
        if (w->options.blocks && r->request.depth_merge)
                return message_usage("leaks",
                                     "--depth-merge merges stacks, and --blocks lists each block");
        if (w->every_ms && r->output)
                return message_usage("leaks",
                                     "--every prints as it goes: it cannot be combined with -o");
        if ((w->every_ms && !w->pid) || (w->flags && !w->pid && !w->core))
                return message_usage("leaks",
                                     "--every, --unaligned and --no-idioms are for a running "
                                     "process: seep leaks PID");
        if ((w->core && w->pid) || (w->exe && !w->core))
                return message_usage(
                        "leaks",
                        w->pid ? "a core file is of a process that is gone, not of process %u"
                               : "--exe names the program of a core file: seep leaks --exe PROGRAM "
                                 "CORE",
                        w->pid);
        r->request.cost = SELECT_LIVE;
        r->request.filter = &r->filter;
        report_hide(r, w->json || w->gen);
        r->request.each_site = w->options.blocks || w->gen;
        w->request.filter = r->filter_words.length ? &r->filter : NULL;
        settle_amount(w);
        names_settle(&r->names, r->quiet);
        r->names.options.raw = w->json;
        return 0;
}

/* ---- one search ---- */

/* What was found: the exit status. */
static int status_of(const struct leaks *l)
{
        if (leaks_found(l))
                return ERR_EXIT_FINDINGS;
        return l->scan ? 0 : ERR_EXIT_CANNOT_TRACE;
}

static void remark(const struct leaks_command *w, const struct leaks *l, const struct str *trouble)
{
        const struct selection *sel = l->sel;
        struct str why = { 0 };

        if (trouble->length)
                message("%s; the rest of its rules is ignored", str_get(trouble));
        if (!l->scan && (w->json || w->gen)) {
                leaks_not_scanned(sel->profile, &why);
                message("not searched for leaks: %s", str_get(&why));
        }
        if (l->scan && w->request.only_new && !(l->scan->flags & PROFILE_SCAN_INCREMENT))
                message("--new: there was no earlier search, so every leak is new");
        if (!sel->heap.count && w->asked.filter_words.length)
                message("no stack matches%s", str_get(&w->asked.filter_words));
        str_free(&why);
}

/* Rules count what they cover, so each search has its own; those of files are added up by their
 * order. */
static void all_rules(struct leaks_command *w, const struct profile *p, struct str *trouble)
{
        for (uint32_t i = 0; i < w->rules.count; i++)
                w->rules.rules[i].times = w->rules.rules[i].blocks = w->rules.rules[i].bytes = 0;
        leaks_usual_rules(&w->rules, p, w->no_built_in, trouble);
        w->request.suppressions = &w->rules;
        w->options.suppressions = &w->rules;
}

static bool show(struct leaks_command *w, const struct profile *p, struct str *out, int *status,
                 struct err *e)
{
        struct report *r = &w->asked;
        struct symbols *s = symbols_new(p, &r->names.options);
        uint32_t of_files = w->rules.count;
        struct str trouble = { 0 };
        struct selection sel;
        struct leaks l;
        bool good;

        r->request.columns = r->output ? 0 : pager_columns();
        good = select_make(&sel, p, s, &r->request, e);
        if (good) {
                all_rules(w, p, &trouble);
                leaks_make(&l, &sel, s, &w->request);
                if (!r->quiet)
                        remark(w, &l, &trouble);
                if (w->gen)
                        leaks_rules(&l, s, &w->options, w->format, out);
                else if (w->json)
                        leaks_json(&l, s, &w->options, out);
                else
                        leaks_text(&l, s, &w->options, out);
                *status = status_of(&l);
                leaks_free(&l);
                suppress_truncate(&w->rules, of_files);
        }
        select_free(&sel);
        if (good && !r->quiet && !w->json && !w->hinted)
                names_hint(s, p);
        w->hinted = true;
        symbols_free(s);
        str_free(&trouble);
        return good;
}

static int show_all(struct leaks_command *w, const struct profile *p)
{
        const struct report *r = &w->asked;
        struct deliver how = { .output = r->output, .force = r->force,
                               .plain = r->no_pager || w->json || w->gen, .raw = w->json,
                               .quiet = r->quiet };
        struct deliver_stream to;
        struct err e = { 0 };
        int status = 0;

        w->options.color = deliver_color(&how, w->asked.color);
        deliver_gather(&to, &how);
        if (!deliver_prepare(&how, &e) || !show(w, p, &to.text, &status, &e)) {
                deliver_forget(&to);
                return message_error(&e);
        }
        return deliver_finish(&to, &e) ? status : message_error(&e);
}

/* ---- files and processes ---- */

static int of_file(struct leaks_command *w, const char *file)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        int status;

        if (w->at ? !load_kept(&p, file, w->at, &e)
                  : !load_recording(&p, file, w->asked.quiet ? LOAD_QUIET : 0, &e))
                return message_error(&e);
        if (!w->asked.quiet)
                load_tell_kept(&p, file);
        status = show_all(w, &p);
        profile_free(&p);
        return status;
}

/* Those that lost something, or could not be searched, one after another; in JSON all. */
static bool show_processes(struct leaks_command *w, const struct folder *f, struct str *out,
                           int *status, struct err *e)
{
        bool people = !w->json && !w->gen, good = true;
        uint32_t clean = 0;

        for (uint32_t i = 0; good && i < f->count; i++) {
                size_t start = out->length;
                struct profile p = { 0 };
                int one = 0;

                if (people)
                        folder_head(f, i, out);
                else if (w->json && i)
                        str_text(out, ",\n");
                good = load_recording(&p, f->all[i].path, LOAD_QUIET, e);
                good = good && show(w, &p, out, &one, e);
                profile_free(&p);
                *status = one == ERR_EXIT_FINDINGS || !*status ? one : *status;
                if (people && good && !one) {
                        out->length = start;
                        clean++;
                }
        }
        if (people && clean)
                str_format(out, "\n%" PRIu32 " process%s lost nothing definitely\n", clean,
                           clean == 1 ? "" : "es");
        return good;
}

static int of_folder(struct leaks_command *w, const char *path)
{
        const struct report *r = &w->asked;
        struct deliver how = { .output = r->output, .force = r->force,
                               .plain = r->no_pager || w->json || w->gen, .raw = w->json,
                               .quiet = r->quiet };
        struct folder f = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        int status = 0;
        bool good;

        if (w->at)
                return message_usage("leaks", "--at is for one recording: name a file in %s", path);
        w->options.color = deliver_color(&how, r->color);
        good = deliver_prepare(&how, &e) && folder_open(&f, path, &e);
        if (good)
                folder_by_lost(&f);
        if (w->json)
                str_text(&out, "{\"seep\": 1, \"processes\": [\n");
        else if (good && !w->gen)
                folder_table(&f, path, &out);
        good = good && show_processes(w, &f, &out, &status, &e);
        str_text(&out, w->json ? "]}\n" : "");
        good = good && deliver_text(&how, &out, &e);
        if (!good)
                deliver_drop(&how);
        str_free(&out);
        folder_close(&f);
        return good ? status : message_error(&e);
}

/* RECORDING: NULL none. */
static int of_core(struct leaks_command *w, const char *recording)
{
        struct load_core core = { .core = w->core, .recording = recording, .exe = w->exe,
                                  .flags = w->flags, .quiet = w->asked.quiet,
                                  .sysroot = w->asked.names.options.sysroot };
        struct profile p = { 0 };
        struct err e = { 0 };
        int status;

        if (!load_core(&p, &core, &e))
                return message_error(&e);
        status = show_all(w, &p);
        profile_free(&p);
        return status;
}

static int of_process(struct leaks_command *w)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        int status;

        if (!load_search(&p, &w->pid, w->flags, &e))
                return message_error(&e);
        load_tell_walk(&p, w->asked.quiet);
        status = show_all(w, &p);
        profile_free(&p);
        return status;
}

/* ---- again and again ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
        (void)signal;
        interrupted = 1;
}

/* false: Ctrl-C, or the process has gone. */
static bool wait_for_next(const struct leaks_command *w)
{
        struct timespec step = { .tv_nsec = 50 * 1000 * 1000 };

        for (uint64_t waited = 0; waited < w->every_ms && !interrupted; waited += 50) {
                if (!ask_is_routed() && ask_is_gone(w->pid))
                        return false;
                nanosleep(&step, NULL);
        }
        return !interrupted;
}

/* "12.4 s: nothing new is lost (3 threads, held still for 2 ms)" */
static void say_nothing_new(const struct profile *p, struct str *out)
{
        const struct profile_scan *scan = profile_scanned(p);

        if (!scan)
                return;
        text_time(out, scan->ms);
        str_text(out, ": nothing new is lost (paused for ");
        text_time(out, scan->pause_us / 1000);
        str_text(out, ")\n");
}

/* Status of one round; -1: the process has gone. */
static int one_round(struct leaks_command *w, bool first)
{
        struct deliver how = { .plain = true, .raw = w->json };
        struct profile p = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        int status = 0;

        w->request.only_new = w->request.only_new || !first;
        w->options.color = deliver_color(&how, w->asked.color);
        if (!load_search(&p, &w->pid, w->flags, &e)) {
                bool gone = ask_is_gone(w->pid);

                return gone && !first ? -1 : message_error(&e);
        }
        if (first)
                load_tell_walk(&p, w->asked.quiet);
        if (!show(w, &p, &out, &status, &e))
                status = message_error(&e);
        if (status == 0 && !first && !w->json && profile_scanned(&p)) {
                str_clear(&out);
                say_nothing_new(&p, &out);
        }
        if (!deliver_text(&how, &out, &e))
                status = message_error(&e);
        str_free(&out);
        profile_free(&p);
        return status;
}

static int of_process_again(struct leaks_command *w)
{
        struct sigaction action = { .sa_handler = on_interrupt };
        struct err e = { 0 };
        bool found = false;
        int status;

        if (!ask_program(&w->pid, &e))
                return message_error(&e);
        sigaction(SIGINT, &action, NULL);
        for (bool first = true; (status = one_round(w, first)) == 0 || status == ERR_EXIT_FINDINGS;
             first = false) {
                found |= status == ERR_EXIT_FINDINGS;
                if (!wait_for_next(w))
                        break;
        }
        return status > ERR_EXIT_FINDINGS ? status : found ? ERR_EXIT_FINDINGS : 0;
}

/* ---- the command ---- */

/* Digits that name no file are a process. */
static int find_operand(struct leaks_command *w, const char *operand)
{
        uint64_t pid;

        if (!operand || access(operand, F_OK) == 0 ||
            strspn(operand, "0123456789") != strlen(operand) || !*operand)
                return 0;
        if (!quantity_number(operand, &pid) || pid == 0 || pid > INT_MAX)
                return message_usage("leaks",
                                     "'%s' is neither a file nor a process id; 'pgrep -a NAME' "
                                     "finds one", operand);
        w->pid = (uint32_t)pid;
        return 0;
}

/* Without a terminal nobody is asked, and at one neither: the heap walk answers, too. */
static bool attach_first(const struct leaks_command *w, struct err *e)
{
        return offer_attach(w->pid, OFFER_WANTED | (w->asked.quiet ? OFFER_QUIET : 0), e);
}

static int run(struct leaks_command *w, const char *operand)
{
        struct err e = { 0 };
        char *newest = NULL;
        int status = find_operand(w, operand);

        if (!w->core && !w->pid && operand && core_is(operand)) {
                w->core = operand;
                operand = NULL;
        }
        if (!status)
                status = settle(w);
        if (!status && w->at && (w->pid || w->core))
                status = message_usage("leaks",
                                       "--at: a process and a core file are searched as they are; "
                                       "only a recording has earlier searches");
        if (status)
                return status;
        if (w->pid && w->attach && (!ask_program(&w->pid, &e) || !attach_first(w, &e)))
                return message_error(&e);
        if (w->pid)
                return w->every_ms ? of_process_again(w) : of_process(w);
        if (w->core)
                return of_core(w, operand);
        if (folder_is(operand))
                return of_folder(w, operand);
        if (!operand && !newest_recording(&newest, &e))
                return message_error(&e);
        status = of_file(w, operand ? operand : newest);
        free(newest);
        return status;
}

int cmd_leaks(int argc, char **argv)
{
        struct leaks_command w = { .asked = { .command = "leaks", .view = REPORT_FLAT } };
        struct option_parser parser;
        int status;

        option_start(&parser, "leaks", leaks_options, argc, argv);
        status = option_take(&parser, take, &w);
        if (!status && argc - parser.first_operand > 1)
                status = message_usage("leaks", "one recording or process at a time, not also '%s'",
                                       argv[parser.first_operand + 1]);
        if (!status)
                status = run(&w, argv[parser.first_operand]);
        report_free(&w.asked);
        suppress_free(&w.rules);
        return status == OPTION_HELP ? say_help() : status;
}
