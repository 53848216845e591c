/* SPDX-License-Identifier: MIT */
/*
 * cmd_html.c -- `seep html`: a recording, or two compared, as a page for the browser.
 *
 * Keeps:  options that `seep report` has too mean the same here: they are handed to it by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gzip.h"
#include "base/heap.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/folder.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/offer.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "page/page.h"
#include "profile/store.h"
#include "query/moment.h"
#include "query/wrapper_learn.h"
#include "serve/serve.h"
#include "session/children.h"
#include "session/ask.h"
#include "words/text.h"

/* ---- a page shown in the user's browser, which goes on when we end ---- */

extern char **environ;

/* Start PROGRAM with URL, in a session of its own and without our terminal. */
static bool start(const char *program, const char *url)
{
        char *words[] = { (char *)program, (char *)url, NULL };
        posix_spawn_file_actions_t files;
        posix_spawnattr_t how;
        pid_t pid;
        bool good;

        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawnattr_init(&how);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
        good = posix_spawnp(&pid, program, &files, &how, words, environ) == 0;
        posix_spawnattr_destroy(&how);
        posix_spawn_file_actions_destroy(&files);
        return good;
}

/* Show URL with the programs of $BROWSER, or xdg-open where there is a display.  false: there is
 * none that can be started. */
static bool browser_open(const char *url)
{
        const char *list = getenv("BROWSER");
        char *copy = heap_text(list ? list : ""), *rest = copy, *program;
        bool good = false;

        while (!good && (program = strsep(&rest, ":")))
                good = *program && start(program, url);
        free(copy);
        if (good || !(getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
                return good;
        return start("xdg-open", url);
}

/* Append the file:// address of PATH, which exists. */
static void browser_file_url(const char *path, struct str *out)
{
        static const char plain[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
        char *full = realpath(path, NULL);

        str_text(out, "file://");
        for (const char *c = full ? full : path; *c; c++)
                if (strchr(plain, *c))
                        str_char(out, *c);
                else
                        str_format(out, "%%%02X", (unsigned char)*c);
        free(full);
}

/* ---- `seep html`: a recording, or two compared, as a page for the browser ---- */

#define HTML_OPTIONS(X)                                                                          \
        X(HTML_OPEN, "open", 0, NULL, "open the page in a browser ($BROWSER, or xdg-open)")      \
        X(HTML_SERVE, "serve", 0, NULL,                                                          \
          "serve the page on 127.0.0.1 until Ctrl-C: live for a process that is being recorded " \
          "(PID), or with details on demand "                                                    \
          "for a large FILE")                                                                    \
        OFFER_OPTION(X, HTML)                                                                    \
        X(HTML_SOURCE, "source", 0, "WHICH",                                                     \
          "include the text of source files: none (default), used", "none|used")                 \
        FILTER_OPTIONS(X, HTML)                                                                  \
        THREAD_OPTION(X, HTML)                                                                   \
        NAMES_OPTIONS(X, HTML)                                                                   \
        X(HTML_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                            \
        X(HTML_OUTPUT, "output", 'o', "FILE",                                                    \
          "write to FILE (default: the recording's name with .html); - is stdout")               \
        X(HTML_FORCE, "force", 'f', NULL, "replace an existing FILE")                            \
        X(HTML_QUIET, "quiet", 'q', NULL, "no warnings, and no note where the page is")          \
        LAST_OPTIONS(X, HTML)

enum { HTML_OPTIONS(OPTION_ENUM) HTML_COUNT };
const struct option_entry html_options[] = { HTML_OPTIONS(OPTION_ENTRY) OPTION_END };

enum { HTML_SIDES = 2, HTML_MOST = 32 }; /* compared; processes of a run */

struct html {
        struct report asked;
        bool open, serve, attach;
        enum page_source source;
        bool together; /* all processes of a run, from a folder */
        const char *operands[HTML_SIDES];
        uint32_t count; /* of recordings; 0: a process */
        uint32_t pid;
        char *files[HTML_MOST];
        const char *moments[HTML_MOST];
        struct profile profiles[HTML_MOST];
        struct page_recording recordings[HTML_MOST];
        char *output; /* NULL: stdout */
        struct place place; /* of that; looked up before the work */
        struct progress_line line;
};

static int say_help(void)
{
        return command_help(COMMAND_html,
                "Write a recording as one HTML page that any browser shows without a network:\n"
                "summary, timeline, flame graph, tables, leaks, types, owners, the heap as a map.\n"
                "FILE defaults to the newest *.seep here. OLD and NEW are compared; each may be\n"
                "FILE@WHEN, as for 'seep diff'. A process that is being recorded (PID) is shown\n"
                "as it is now, with --serve live. A folder, as NAME.seep.d, is all processes of a\n"
                "run on one page.\n\n",
                "\nexamples:\n"
                "  seep html --open                     the newest recording, in a browser\n"
                "  seep html -o page.html run.seep      to send to somebody\n"
                "  seep html old.seep new.seep          two runs compared\n"
                "  seep html run.seep@1 @2              two snapshots of one\n"
                "  seep html --serve 4711               a process that is being recorded, live\n"
                "\nExit status: 0 success, 1 the page could not be written, 2 usage error, 3 the\n"
                "process is not being recorded, 4 a file cannot be read.\n");
}

/* ---- words ---- */

static int take(void *to, int which, const char *value)
{
        struct html *h = to;

        switch (which) {
        case HTML_OPEN:
                h->open = true;
                return 0;
        case HTML_SERVE:
                h->serve = true;
                return 0;
        case HTML_ATTACH:
                h->attach = true;
                return 0;
        case HTML_SOURCE:
                h->source = (enum page_source)option_choice(html_options[HTML_SOURCE].values,
                                                            value);
                return 0;
        }
        return report_take(&h->asked, report_option(html_options[which].name), value);
}

static int check_one(struct html *h)
{
        const char *at = h->operands[0] ? moment_split(h->operands[0]) : NULL;

        if (newest_is_process(h->operands[0], &h->pid)) {
                if (h->serve)
                        h->count = 0;
        } else if (at) {
                return message_usage("html", "%s is a moment: name a second one to compare it with",
                                     h->operands[0]);
        }
        return 0;
}

static int check(struct html *h)
{
        const struct report *r = &h->asked;

        if (h->serve && r->output)
                return message_usage("html", "--serve writes no file: leave out -o");
        if (h->attach && !h->serve)
                return message_usage("html", "--attach is for --serve: a page that is written at "
                                             "once would show nothing yet");
        if (h->serve && r->filter_words.length)
                return message_usage("html",
                                     "--serve shows everything: the page itself has filters");
        if (folder_is(h->operands[0]) && (h->serve || h->count > 1))
                return message_usage("html", "%s is a folder: a page of it is written, by itself",
                                     h->operands[0]);
        h->together = folder_is(h->operands[0]);
        if ((h->count == HTML_SIDES || h->together) && r->filter_words.length)
                return message_usage("html",
                                     "-i, -x, --module and --thread are for one recording; the "
                                     "page itself has filters");
        if (h->open && r->output && strcmp(r->output, "-") == 0)
                return message_usage("html", "--open needs a file: a browser cannot read stdout");
        return h->count == 1 ? check_one(h) : 0;
}

/* ---- where it goes ---- */

/* The recording's name with .html; of two, the new one's. */
static char *default_output(const struct html *h)
{
        const char *file = h->together ? h->operands[0] : h->files[h->count - 1];
        size_t length = strlen(file);
        struct str name = { 0 };

        while (length > 1 && file[length - 1] == '/')
                length--;
        if (h->together && folder_is_named(file))
                length -= strlen(CHILDREN_SUFFIX);
        if (length > 5 && strncmp(file + length - 5, ".seep", 5) == 0)
                length -= 5;
        str_bytes(&name, file, length);
        str_text(&name, ".html");
        return name.data;
}

/* Before the work: nobody waits for what cannot be written. */
static bool choose_output(struct html *h, struct err *e)
{
        const struct report *r = &h->asked;
        enum place_rule rule = !r->force ? PLACE_NEW : r->output ? PLACE_NAMED : PLACE_OURS;

        if (r->output && strcmp(r->output, "-") == 0)
                return true;
        h->output = r->output ? heap_text(r->output) : default_output(h);
        h->place = PLACE_NONE;
        if (r->force && !deliver_may_replace(h->output, e))
                return false;
        if (place_open(&h->place, h->output, rule)) {
                if (!r->quiet)
                        deliver_warn(&h->place);
                return true;
        }
        if (errno != EEXIST)
                return place_refuse(h->output, ERR_EXIT_USAGE, e);
        return err_set(e, ERR_EXIT_USAGE,
                       r->force ? "%s is not a regular file, or belongs to another user: -o FILE "
                                  "writes elsewhere"
                                : "%s exists already: -f replaces it, -o FILE writes elsewhere",
                       h->output);
}

static bool store_page(struct html *h, const struct str *page, struct err *e)
{
        struct store_part part = { .bytes = page->data, .count = page->length };
        struct str packed = { 0 };
        bool stored;

        if (gzip_is_name(h->output)) {
                gzip_pack(page->data, page->length, GZIP_USUAL, &packed);
                part.bytes = packed.data;
                part.count = packed.length;
        }
        stored = store_at(&h->place, &part, 1, e);
        str_free(&packed);
        return stored;
}

static bool write_page(struct html *h, const struct str *page, struct err *e)
{
        struct deliver to_stdout = { .plain = true, .raw = true };

        if (!h->output)
                return deliver_text(&to_stdout, page, e);
        if (!store_page(h, page, e))
                return false;
        if (!h->asked.quiet) {
                struct str size = { 0 };

                text_size(&size, (int64_t)page->length);
                message("the page is in %s (%s)%s", h->output, str_get(&size),
                        h->open                       ? ""
                        : gzip_is_name(h->output) ? ": unpack it, and open it in a browser"
                                                  : ": open it in a browser");
                str_free(&size);
        }
        if (h->open) {
                struct str url = { 0 };

                browser_file_url(h->output, &url);
                if (!browser_open(str_get(&url)))
                        message("no browser could be started ($BROWSER, xdg-open): open %s "
                                "yourself", str_get(&url));
                str_free(&url);
        }
        return true;
}

/* ---- work ---- */

static bool read_recording(struct html *h, uint32_t i, struct err *e)
{
        struct page_recording *recording = &h->recordings[i];
        struct profile *p = &h->profiles[i];
        const char *file = h->files[i];

        *recording = (struct page_recording){ .file = file, .moment = h->moments[i] };
        if (i && strcmp(file, h->files[0]) == 0) {
                recording->profile = h->recordings[0].profile;
                recording->symbols = h->recordings[0].symbols;
                return true;
        }
        if (!load_recording(p, file, LOAD_SEARCHED | (h->asked.quiet ? LOAD_QUIET : 0), e))
                return false;
        if (report_view_lost(&h->asked, p))
                return err_set(e, ERR_EXIT_BAD_FILE, "%s: the readable part has no call stacks",
                               file);
        recording->profile = p;
        recording->symbols = symbols_new(p, &h->asked.names.options);
        if (i && !h->together)
                wrapper_learn_both(h->recordings[0].profile, h->recordings[0].symbols, p,
                                   recording->symbols);
        return true;
}

/* The largest first. */
static bool name_processes(struct html *h, struct err *e)
{
        struct folder f;

        if (!folder_open(&f, h->operands[0], e))
                return false;
        h->count = f.count < HTML_MOST ? f.count : HTML_MOST;
        for (uint32_t i = 0; i < h->count; i++)
                h->files[i] = heap_text(f.all[i].path);
        if (h->count < f.count)
                message("of %u processes the page has the %u with the largest peaks", f.count,
                        h->count);
        folder_close(&f);
        return true;
}

static bool name_recordings(struct html *h, struct err *e)
{
        if (h->together)
                return name_processes(h, e);
        if (!h->operands[0])
                return newest_recording(&h->files[0], e);
        for (uint32_t i = 0; i < h->count; i++)
                if (!newest_or_named(h->operands[i], i ? h->files[0] : NULL, &h->files[i],
                                     &h->moments[i], e))
                        return false;
        return true;
}

static bool read_recordings(struct html *h, struct err *e)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (!read_recording(h, i, e))
                        return false;
        return true;
}

static bool make_page(struct html *h, struct str *page, struct err *e)
{
        struct report *r = &h->asked;
        struct page_request request = { .recordings = h->recordings, .count = h->count,
                                        .together = h->together, .source = h->source,
                                        .names = &r->names.options };
        struct str data = { 0 };
        bool good;

        if (r->filter_words.length) {
                request.filter = &r->filter;
                request.filter_text = str_get(&r->filter_words) + 1;
        }
        progress_start(&h->line, "resolving names", r->quiet);
        request.progress = h->line.terminal ? &h->line.progress : NULL;
        good = page_data(&request, &data, e);
        progress_end(&h->line);
        if (good)
                page_join(data.data, data.length, NULL, page);
        str_free(&data);
        for (uint32_t i = 0; good && !r->quiet && i < h->count; i++)
                if (h->recordings[i].profile == &h->profiles[i])
                        names_hint(h->recordings[i].symbols, &h->profiles[i]);
        return good;
}

static int write_html(struct html *h)
{
        struct str page = { 0 };
        struct err e = { 0 };
        int status = 0;

        if (!name_recordings(h, &e) || !choose_output(h, &e) || !read_recordings(h, &e) ||
            !make_page(h, &page, &e) || !write_page(h, &page, &e))
                status = message_error(&e);
        str_free(&page);
        return status;
}

/* ---- served ---- */

/* The address is the result. */
static void announce(void *context, const char *url)
{
        struct html *h = context;
        struct str line = { 0 };

        progress_end(&h->line);
        str_format(&line, "%s\n", url);
        pager_show(&line, true);
        str_free(&line);
        if (!h->asked.quiet)
                message("the page is served there until Ctrl-C");
        if (h->open && !browser_open(url))
                message("no browser could be started ($BROWSER, xdg-open): open that address "
                        "yourself");
}

static int serve_html(struct html *h)
{
        struct serve_request request = { .recordings = h->recordings, .count = h->count,
                                         .pid = h->pid, .names = &h->asked.names.options,
                                         .source = h->source, .context = h, .announce = announce };
        struct err e = { 0 };
        bool good = h->count ? name_recordings(h, &e) && read_recordings(h, &e)
                             : ask_program(&h->pid, &e) &&
                                       offer_attach(h->pid,
                                                    (h->attach ? OFFER_WANTED : 0) | OFFER_ASKS |
                                                            OFFER_ENDS,
                                                    &e);

        request.pid = h->pid;
        progress_start(&h->line, "resolving names", h->asked.quiet);
        request.progress = h->line.terminal ? &h->line.progress : NULL;
        good = good && serve_run(&request, &e);
        progress_end(&h->line);
        offer_end();
        return good ? 0 : message_error(&e);
}

static void end(struct html *h)
{
        for (uint32_t i = 0; i < HTML_MOST; i++) {
                if (h->recordings[i].profile == &h->profiles[i])
                        symbols_free(h->recordings[i].symbols);
                profile_free(&h->profiles[i]);
                free(h->files[i]);
        }
        if (h->output)
                place_close(&h->place);
        free(h->output);
        report_free(&h->asked);
}

static int run(struct html *h, char **operands, int count)
{
        struct err e = { 0 };
        int status;

        if (!page_template_bytes) {
                err_set(&e, ERR_EXIT_USAGE,
                        "this seep was built without its page: node or npm was missing, or had no "
                        "network; report, leaks, top and export show the same data");
                return message_error(&e);
        }
        if (count > HTML_SIDES)
                return message_usage("html", "one recording, or two to compare, not also '%s'",
                                     operands[HTML_SIDES]);
        h->count = count == HTML_SIDES ? HTML_SIDES : 1;
        for (int i = 0; i < count; i++)
                h->operands[i] = operands[i];
        names_settle(&h->asked.names, h->asked.quiet);
        h->asked.names.options.raw = true;
        status = check(h);
        if (status)
                return status;
        return h->serve ? serve_html(h) : write_html(h);
}

int cmd_html(int argc, char **argv)
{
        struct html h = { .asked = { .command = "html", .view = REPORT_JSON } };
        struct option_parser parser;
        int status;

        option_start(&parser, "html", html_options, argc, argv);
        status = option_take(&parser, take, &h);
        if (!status)
                status = run(&h, argv + parser.first_operand, argc - parser.first_operand);
        end(&h);
        return status == OPTION_HELP ? say_help() : status;
}
