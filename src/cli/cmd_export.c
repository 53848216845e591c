/* SPDX-License-Identifier: MIT */
/*
 * cmd_export.c -- `seep export`: a recording in the formats of other tools.
 *
 * Keeps:  options that `seep report` has too mean the same here: they are handed to it by name.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gzip.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "export/export.h"

#define EXPORT_OPTIONS(X)                                                                        \
        X(EXPORT_TO, "to", 0, "FORMAT", "the format; list describes them all",                   \
          "list|pprof|collapsed|svg|speedscope|callgrind|gprof2dot|csv|json|dhat|massif|"         \
          "heaptrack|firefox|sqlite|"                                                            \
          "valgrind-xml|sarif|junit|maps|...")                                                   \
        X(EXPORT_HEAD_WHAT, NULL, 0, NULL, "what to count:")                                     \
        X(EXPORT_COST, "cost", 0, "COST",                                                        \
          "alloc-bytes alloc-count peak-bytes peak-count live-bytes live-count leaked-bytes "    \
          "leaked-count temp-count, "                                                            \
          "or a cost of 'seep report'; formats with several costs have all unless one is given", \
          "alloc-bytes|alloc-count|peak-bytes|peak-count|live-bytes|live-count|leaked-bytes|"    \
          "leaked-count|temp-count|"                                                             \
          "peak|live|total|allocs|temporary|change|...")                                         \
        X(EXPORT_AT, "at", 0, "WHEN",                                                            \
          "the moment: peak, end, a time like 1.5s, a snapshot's number, or a label",            \
          "peak|end|...")                                                                        \
        X(EXPORT_RANGE, "range", 0, "A..B",                                                      \
          "what happened between two moments: 2s..5s, ..5s, startup..")                          \
        FILTER_OPTIONS(X, EXPORT)                                                                \
        THREAD_OPTION(X, EXPORT)                                                                 \
        X(EXPORT_DEPTH_MERGE, "depth-merge", 0, "N",                                             \
          "merge stacks with the same N innermost frames")                                       \
        WRAPPER_OPTIONS(X, EXPORT)                                                               \
        NAMES_OPTIONS(X, EXPORT)                                                                 \
        X(EXPORT_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                          \
        FILE_OPTIONS(X, EXPORT)                                                                  \
        X(EXPORT_QUIET, "quiet", 'q', NULL, "no warnings")                                       \
        LAST_OPTIONS(X, EXPORT)

enum { EXPORT_OPTIONS(OPTION_ENUM) EXPORT_COUNT };
const struct option_entry export_options[] = { EXPORT_OPTIONS(OPTION_ENTRY) OPTION_END };

struct export_command {
        const struct export_format *format; /* NULL: not said */
        bool list;
        struct report asked;
        struct export_input input;
};

/* ---- what there is ---- */

/* Options that not all formats follow, and what those are that do not. */
static const struct {
        uint32_t flag; /* of formats that do */
        const char *option, *why;
} followed[] = { { EXPORT_FOLLOWS_AT, "--at", "covers the whole run" },
                 { EXPORT_FOLLOWS_RANGE, "--range", "begins at the start of the run" },
                 { EXPORT_FOLLOWS_COST, "--cost", "has all costs at once" },
                 { EXPORT_FOLLOWS_FILTERS, "filters",
                   "covers the whole run and cannot be filtered" } };

static void forms_with(uint32_t flags, struct str *out)
{
        size_t before = out->length;

        for (const struct export_format *format = export_formats; format->word; format++)
                if ((format->flags & flags) == flags)
                        str_format(out, "%s%s", out->length > before ? ", " : "", format->word);
}

static void usual_name(const struct export_format *format, struct str *out)
{
        bool begins = format->suffix[0] != '.';

        str_format(out, "%s%s", begins ? format->suffix : "NAME", begins ? "NAME" : format->suffix);
}

static void list_forms(struct str *out)
{
        const size_t column = 38, option_column = 11;

        str_text(out, "  FORMAT        USUAL NAME            READ BY\n");
        for (const struct export_format *format = export_formats; format->word; format++) {
                struct str text = { 0 }, name = { 0 };

                usual_name(format, &name);
                str_text(&text, format->purpose);
                if (format->flags & EXPORT_EVENTS)
                        str_text(&text, "\nneeds a recording made with --events");
                str_format(out, "  %-12s  %-20s  ", format->word, str_get(&name));
                option_text(str_get(&text), column, out);
                str_free(&text);
                str_free(&name);
        }
        str_text(out, "\noptions that only some formats support:\n");
        for (size_t i = 0; i < sizeof followed / sizeof *followed; i++) {
                struct str text = { 0 };

                forms_with(followed[i].flag, &text);
                str_format(out, "  %-7s  ", followed[i].option);
                option_text(str_get(&text), option_column, out);
                str_free(&text);
        }
}

static int say_help(void)
{
        struct str more = { 0 };

        str_text(&more, "\nformats:\n");
        list_forms(&more);
        str_text(&more,
                 "\nexamples:\n"
                 "  seep export --to pprof -o heap.pb.gz && go tool pprof -http : heap.pb.gz\n"
                 "  seep export --to svg --cost peak -o peak.svg run.seep\n"
                 "  seep export --to speedscope -o run.speedscope.json run.seep\n"
                 "  seep export --to callgrind --cost leaked-bytes -o callgrind.out.leaks\n"
                 "\nExit status: 0 success, 2 usage error, 3 the process is not recorded, 4 the "
                 "file\n"
                 "cannot be read.\n");
        command_help(COMMAND_export,
                "Convert a recording to the format of another tool, on stdout or in -o FILE.\n"
                "FILE defaults to the newest *.seep here; a process that is being recorded (PID)\n"
                "is searched for leaks and converted as it is now.\n\n", str_get(&more));
        str_free(&more);
        return 0;
}

static int say_list(void)
{
        struct str out = { 0 };

        list_forms(&out);
        str_text(&out, "\nExample: seep export --to pprof -o heap.pb.gz\n");
        pager_show(&out, true);
        str_free(&out);
        return 0;
}

/* ---- words ---- */

static int no_form(void)
{
        struct str names = { 0 };
        int status;

        forms_with(0, &names);
        status = message_usage("export",
                               "which format? Give --to with one of %s; --to list describes them",
                               str_get(&names));
        str_free(&names);
        return status;
}

/* What neighbouring tools call a format of ours; NULL. */
static const char *other_name(const char *word)
{
        static const char *const names[][2] = {
                { "folded", "collapsed" }, { "stackcollapse", "collapsed" },
                { "flamegraph", "svg" },   { "flame", "svg" },
                { "protobuf", "pprof" },   { "kcachegrind", "callgrind" },
        };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i][0], word) == 0)
                        return names[i][1];
        return NULL;
}

static int take_form(struct export_command *w, const char *word)
{
        const char *words[64] = { "list" };
        const char *near;
        size_t count = 1;

        w->format = export_find(word);
        w->list = strcmp(word, "list") == 0;
        if (w->format || w->list)
                return 0;
        for (const struct export_format *format = export_formats;
             format->word && count < sizeof words / sizeof words[0]; format++)
                words[count++] = format->word;
        near = other_name(word);
        near = near ? near : suggest_nearest(word, words, count);
        return message_usage("export", "unknown format '%s'%s%s%s; --to list describes all formats",
                             word, near ? " (did you mean " : "", near ? near : "",
                             near ? "?)" : "");
}

static int take(void *to, int which, const char *value)
{
        struct export_command *w = to;
        struct report *r = &w->asked;

        if (which == EXPORT_TO)
                return take_form(w, value);
        if (which != EXPORT_COST || strcmp(value, "change") == 0) {
                if (which == EXPORT_COST)
                        w->input.cost = COST_LIVE_BYTES;
                return report_take(r, report_option(export_options[which].name), value);
        }
        if (!cost_named(value, &w->input.cost))
                return message_usage("export",
                                     "--cost '%s': unknown cost ('seep help export' lists them)",
                                     value);
        r->cost_set = true;
        r->request.change = false;
        r->request.cost = cost_names[w->input.cost].select;
        return 0;
}

static int not_text(const struct export_format *format)
{
        struct str name = { 0 };
        int status;

        usual_name(format, &name);
        status = message_usage("export",
                               "%s is not text, and stdout is a terminal: use '-o %s', or a pipe",
                               format->word, str_get(&name));
        str_free(&name);
        return status;
}

/* Whether an option was given that the format cannot follow. */
static int check_followed(const struct export_command *w)
{
        const struct report *r = &w->asked;
        uint32_t given = (r->at_word ? EXPORT_FOLLOWS_AT : 0) |
                         (r->range_word ? EXPORT_FOLLOWS_RANGE : 0) |
                         (r->cost_set ? EXPORT_FOLLOWS_COST : 0) |
                         (r->filter_words.length ? EXPORT_FOLLOWS_FILTERS : 0);
        struct str able = { 0 };
        int status = 0;

        if (r->request.depth_merge &&
            (!(w->format->flags & EXPORT_FOLLOWS_FILTERS) || (w->format->flags & EXPORT_EVENTS)))
                return message_usage("export",
                                     "--to %s has full stacks: --depth-merge is not supported",
                                     w->format->word);
        for (size_t i = 0; i < sizeof followed / sizeof *followed && !status; i++) {
                bool filter = followed[i].flag == EXPORT_FOLLOWS_FILTERS;

                if (!(given & ~w->format->flags & followed[i].flag))
                        continue;
                forms_with(followed[i].flag, &able);
                /* Without the space before the first. */
                status = message_usage("export", "--to %s %s: %s is for %s", w->format->word,
                                       followed[i].why,
                                       filter ? str_get(&r->filter_words) + 1 : followed[i].option,
                                       str_get(&able));
        }
        str_free(&able);
        return status;
}

static int check(const struct export_command *w)
{
        const struct report *r = &w->asked;
        bool to_stdout = !r->output || strcmp(r->output, "-") == 0;
        int status = check_followed(w);

        if (status)
                return status;
        if ((w->format->flags & EXPORT_BINARY) && to_stdout && isatty(STDOUT_FILENO))
                return not_text(w->format);
        return 0;
}

/* ---- work ---- */

static void tell_remarks(struct str *remarks)
{
        char *rest = remarks->data, *line;

        while ((line = rest ? strsep(&rest, "\n") : NULL) != NULL)
                if (*line)
                        message("%s", line);
}

static bool make(struct export_command *w, const struct profile *p, struct str *out, struct err *e)
{
        struct report *r = &w->asked;
        struct str remarks = { 0 };
        struct selection sel = { 0 }, resources = { 0 };
        struct select_request request;
        bool good;

        report_hide(r, w->format->flags & EXPORT_MARKS);
        request = r->request;
        /* Other tools fold for themselves. */
        request.fold = request.wrappers && w->format->flags & EXPORT_FOLDS;
        if (w->format->flags & EXPORT_COURSE) {
                request.at = request.from = request.to = (struct moment){ 0 };
                request.cost = SELECT_LIVE;
        }
        if (w->format->flags & EXPORT_FINDINGS) {
                sel = (struct selection){ .profile = p, .wrappers = request.wrappers };
        } else if (!select_make(&sel, p, w->input.symbols, &request, e)) {
                select_free(&sel);
                return false;
        }
        request.resources = true;
        if (w->format->flags & EXPORT_RESOURCES)
                /* Possible, as it was before. */
                select_make(&resources, p, w->input.symbols, &request, e);
        report_remark(r, &sel);
        w->input.profile = p;
        w->input.sel = &sel;
        w->input.resources = &resources;
        w->input.cost_set = r->cost_set;
        w->input.remarks = r->quiet ? NULL : &remarks;
        w->input.request = &r->request;
        good = w->format->write(&w->input, out, e);
        tell_remarks(&remarks);
        str_free(&remarks);
        select_free(&resources);
        select_free(&sel);
        return good;
}

static bool convert(struct export_command *w, const struct profile *p, struct str *out,
                    struct err *e)
{
        struct report *r = &w->asked;
        struct progress_line line;
        bool good;

        if (!report_resolve(r, p, e))
                return false;
        r->names.options.raw = true; /* each format escapes in its own way */
        w->input.symbols = symbols_new(p, &r->names.options);
        progress_start(&line, "resolving names", r->quiet);
        r->request.progress = line.terminal ? &line.progress : NULL;
        good = make(w, p, out, e);
        progress_end(&line);
        if (good && !r->quiet)
                names_hint(w->input.symbols, p);
        symbols_free(w->input.symbols);
        return good;
}

/* A long format goes out as it is made; nothing is begun before there is something to write. */
struct long_form {
        struct export_reader reader;
        struct str_sink sink;
        struct deliver_stream stream;
        struct deliver *how;
        struct err *e;
        bool begun;
        bool packed;
};

/* A name that ends in .gz means a packed file.  Some formats are packed anyway, or are no text. */
static bool is_packed(const struct export_command *w)
{
        return gzip_is_name(w->asked.output) && strcmp(w->format->word, "pprof") != 0 &&
               strcmp(w->format->word, "sqlite") != 0;
}

/* Parts that were packed one by one are a packed file as well. */
static void add_part(const struct long_form *l, const struct str *part, struct str *out)
{
        if (l->packed && part->length)
                gzip_pack(part->data, part->length, GZIP_USUAL, out);
        else
                str_bytes(out, part->data, part->length);
}

static bool take_piece(struct export_reader *reader, struct str *out)
{
        struct long_form *l = (struct long_form *)reader;

        if (!l->begun && !deliver_begin(&l->stream, l->how, l->e))
                return false;
        l->begun = true;
        add_part(l, out, &l->stream.text);
        str_clear(out);
        return deliver_more(&l->stream);
}

static void take_part(struct str_sink *sink, struct str *out)
{
        struct long_form *l = (struct long_form *)((char *)sink - offsetof(struct long_form, sink));

        take_piece(&l->reader, out);
        str_clear(out);
}

static bool write_form(struct export_command *w, const struct profile *p, struct deliver *how,
                       struct err *e)
{
        struct long_form l = { .reader = { take_piece }, .sink = { take_part }, .how = how, .e = e,
                               .packed = is_packed(w) };
        struct str out = { .sink = &l.sink };
        bool good;

        w->input.reader = &l.reader;
        good = convert(w, p, &out, e) && !e->exit_code;
        if (l.begun) {
                add_part(&l, &out, &l.stream.text);
                if (!good)
                        deliver_give_up(&l.stream);
                good = deliver_end(&l.stream, e) && good;
        } else if (good) {
                struct str whole = { 0 };

                add_part(&l, &out, &whole);
                good = deliver_text(how, &whole, e);
                str_free(&whole);
        }
        str_free(&out);
        return good;
}

static int show(struct export_command *w, const char *file)
{
        struct report *r = &w->asked;
        unsigned load = (w->format->flags & EXPORT_EVENTS ? LOAD_EVENTS : LOAD_SEARCHED) |
                        (r->quiet ? LOAD_QUIET : 0);
        struct load_source source;
        struct deliver how = { .output = r->output, .force = r->force, .plain = true, .raw = true,
                               .quiet = r->quiet };
        struct profile p = { 0 };
        struct err e = { 0 };
        int status = 0;

        if (!deliver_prepare(&how, &e))
                return message_error(&e);
        if (load_open(&source, file, load, &e) && load_read(&source, &p, &e)) {
                /* The image leads to the log of a process; names go by the operand. */
                w->input.file = load & LOAD_EVENTS ? source.path : file;
                w->input.folder = source.folder;
                if (report_view_lost(r, &p))
                        err_set(&e, ERR_EXIT_BAD_FILE, "%s: the readable part has no call stacks",
                                file);
                else
                        write_form(w, &p, &how, &e);
        }
        if (e.exit_code)
                status = message_error(&e);
        load_close(&source);
        deliver_drop(&how);
        profile_free(&p);
        return status;
}

static int run(struct export_command *w, const char *file)
{
        struct err e = { 0 };
        char *newest = NULL;
        int status = check(w);

        if (!status)
                status = report_settle(&w->asked);
        if (status)
                return status;
        if (!file && !newest_recording(&newest, &e))
                return message_error(&e);
        status = show(w, file ? file : newest);
        free(newest);
        return status;
}

/* `export pprof FILE`, as others have it.  Returns how many operands that takes. */
static int take_form_operand(struct export_command *w, const char *word)
{
        if (access(word, F_OK) != 0)
                w->format = export_find(word);
        return w->format != NULL;
}

int cmd_export(int argc, char **argv)
{
        struct export_command w = { .asked = { .command = "export", .view = REPORT_JSON } };
        struct option_parser parser;
        int status;

        option_start(&parser, "export", export_options, argc, argv);
        status = option_take(&parser, take, &w);
        if (!status && !w.list && !w.format && parser.first_operand < argc)
                parser.first_operand += take_form_operand(&w, argv[parser.first_operand]);
        if (!status && !w.list && !w.format)
                status = no_form();
        if (!status && argc - parser.first_operand > 1)
                status = message_usage("export", "one recording at a time, not also '%s'",
                                       argv[parser.first_operand + 1]);
        if (!status)
                status = w.list ? say_list() : run(&w, argv[parser.first_operand]);
        report_free(&w.asked);
        return status == OPTION_HELP ? say_help() : status;
}
