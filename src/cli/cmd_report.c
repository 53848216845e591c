/* SPDX-License-Identifier: MIT */
/* cmd_report.c -- `seep report`: the views of a recording. */
#include <stdlib.h>
#include <string.h>

#include "attach/core.h"
#include "cli/beside.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/folder.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "cli/report.h"
#include "profile/file.h"
#include "session/ask.h"
#include "session/family.h"
#include "wire/hello.h"

static int say_help(void)
{
        return command_help(COMMAND_report,
                "Show where the memory of a recorded program went.\n"
                "FILE defaults to the newest *.seep here. A process that is being recorded is\n"
                "shown as it is now; of any other --blocks and --retained show the heap,\n"
                "without stacks. A folder, as NAME.seep.d, is all processes of a run.\n",
                "\nexamples:\n"
                "  seep report                          what the peak was made of\n"
                "  seep report --cost live --inverted   who allocated what was not freed\n"
                "  seep report --flat -s allocs -n 10   the ten stacks that allocate most often\n"
                "  seep report --at 1.5s -x '^init_'    live at 1.5 s, without initialization\n"
                "  seep report --growth -n 5            the five stacks that grow fastest\n"
                "  seep report --types                  which C, C++ and Rust types it is\n"
                "  seep report --timeline               how much was live when\n"
                "\nExit status: 0 success, 2 usage error, 3 not recorded, or --retained or\n"
                "--fragmentation without a leak search, 4 the file cannot be read.\n");
}

/* What a process that is not recorded can show. */
static bool may_show(const struct report *r, const struct profile *p, struct err *e)
{
        if (!profile_is_walked(p) || r->view == REPORT_BLOCKS || r->view == REPORT_RETAINED)
                return true;
        return err_set(e, ERR_EXIT_USAGE,
                       "process %u was not recorded: of the views only --blocks and --retained can "
                       "show it; 'seep record %s ...' has all of them", p->meta.pid,
                       p->meta.program);
}

/* Of a process that runs: what the view needs.  A search reads all of its memory. */
static unsigned how_to_load(const struct report *r)
{
        unsigned quiet = r->quiet ? LOAD_QUIET : 0;
        bool leaks = r->view == REPORT_JSON || r->view == REPORT_FRAGMENTATION ||
                     r->sort == SORT_LEAKED_BYTES || r->sort == SORT_LEAKED_BLOCKS;

        if (r->view == REPORT_RETAINED || r->view == REPORT_TYPES)
                return quiet | LOAD_GRAPH;
        return quiet | (leaks ? LOAD_SEARCHED : r->view == REPORT_BLOCKS ? 0 : LOAD_COUNTS);
}

static bool load(const struct report *r, const char *file, struct profile *p, struct err *e)
{
        uint32_t pid = 0, flags = r->view == REPORT_RETAINED ? WIRE_SCAN_GRAPH : 0;
        struct load_core core = { .core = file, .sysroot = r->names.options.sysroot, .flags = flags,
                                  .quiet = r->quiet };
        bool is_core = core_is(file);

        if (r->kept_word && !is_core && !newest_is_process(file, &pid))
                return load_kept(p, file, r->kept_word, e);
        if (r->kept_word)
                return err_set(e, ERR_EXIT_USAGE,
                               "--at %s: a process and a core file are searched as they are now; "
                               "only a recording has earlier searches", r->kept_word);
        if (!is_core && newest_is_process(file, &pid) &&
            (!ask_program(&pid, e) || !beside_visit(pid, e)))
                return false;
        if (!is_core && (!pid || family_has_agent((pid_t)pid) ||
                         (r->view != REPORT_RETAINED && load_is_recorded(pid))))
                return load_recording(p, file, how_to_load(r), e);
        if (is_core ? !load_core(p, &core, e) : !load_search(p, &pid, flags, e))
                return false;
        if (!is_core)
                load_tell_walk(p, r->quiet);
        if (may_show(r, p, e))
                return true;
        profile_free(p);
        return false;
}

static int show(struct report *r, const char *file)
{
        struct profile p = { 0 };
        struct deliver_stream to;
        struct err e = { 0 };
        bool raw = r->view == REPORT_JSON || r->json || r->csv;
        struct deliver how = { .output = r->output, .force = r->force, .plain = r->no_pager || raw,
                               .raw = raw, .quiet = r->quiet };
        bool color = deliver_color(&how, r->color);
        int status = 0;

        r->names.options.raw = how.raw && !r->csv;
        if (!deliver_prepare(&how, &e))
                return message_error(&e);
        if (!load(r, file, &p, &e)) {
                deliver_drop(&how);
                return message_error(&e);
        }
        if (report_view_lost(r, &p))
                err_set(&e, ERR_EXIT_BAD_FILE,
                        "%s: nothing of this view is in the part that can be read%s", file,
                        p.totals.allocations ? "; --summary shows the totals" : "");
        deliver_gather(&to, &how);
        if (e.exit_code || !report_view_write(r, &p, file, color, &to.text, &e)) {
                deliver_forget(&to);
                status = message_error(&e);
        } else if (!deliver_finish(&to, &e)) {
                status = message_error(&e);
        }
        profile_free(&p);
        return status;
}

/* ---- all processes of a run ---- */

static bool show_process(struct report *r, const char *file, bool color, struct str *out,
                         struct err *e)
{
        struct profile p = { 0 };
        bool good = load(r, file, &p, e);

        if (good && report_view_lost(r, &p))
                good = err_set(e, ERR_EXIT_BAD_FILE,
                               "%s: nothing of this view is in the part that can be read", file);
        good = good && report_view_write(r, &p, file, color, out, e);
        profile_free(&p);
        return good;
}

/* One after another below a table of them; in JSON as a list. */
static bool show_processes(struct report *r, const struct folder *f, bool color, struct str *out,
                           struct err *e)
{
        bool json = r->view == REPORT_JSON || r->json, good = true;

        for (uint32_t i = 0; good && i < f->count; i++) {
                if (json)
                        str_text(out, i ? ",\n" : "");
                else
                        folder_head(f, i, out);
                good = show_process(r, f->all[i].path, color, out, e);
        }
        return good;
}

static int show_folder(struct report *r, const char *path)
{
        bool json = r->view == REPORT_JSON || r->json;
        struct deliver how = { .output = r->output, .force = r->force, .plain = r->no_pager || json,
                               .raw = json, .quiet = r->quiet };
        struct folder f = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        bool good;

        if (r->csv)
                return message_usage("report", "--csv is a table of one recording: name a file in "
                                               "%s", path);
        r->names.options.raw = json;
        good = deliver_prepare(&how, &e) && folder_open(&f, path, &e);
        if (json)
                str_text(&out, "{\"seep\": 1, \"processes\": [\n");
        else if (good)
                folder_table(&f, path, &out);
        good = good && show_processes(r, &f, deliver_color(&how, r->color), &out, &e);
        str_text(&out, json ? "]}\n" : "");
        good = good && deliver_text(&how, &out, &e);
        if (!good)
                deliver_drop(&how);
        str_free(&out);
        folder_close(&f);
        return good ? 0 : message_error(&e);
}

static int run(struct report *r, const char *file)
{
        struct err e = { 0 };
        char *newest = NULL;
        int status;

        /* At another moment there is what a search kept of it, if one was made. */
        if ((r->view == REPORT_BLOCKS || r->view == REPORT_RETAINED) && r->at_word &&
            strcmp(r->at_word, "end") != 0 && strcmp(r->at_word, "peak") != 0) {
                r->kept_word = r->at_word;
                r->at_word = NULL;
        }
        status = report_settle(r);
        if (status)
                return status;
        if (folder_is(file))
                return show_folder(r, file);
        if (!file && !newest_recording(&newest, &e))
                return message_error(&e);
        status = show(r, file ? file : newest);
        free(newest);
        return status;
}

int cmd_report(int argc, char **argv)
{
        struct report r = { .command = "report", .view = REPORT_TREE, .threshold = 1 };
        struct option_parser parser;
        int status;

        option_start(&parser, "report", report_options, argc, argv);
        status = option_take(&parser, report_take, &r);
        if (!status && argc - parser.first_operand > 1)
                status = message_usage("report",
                                       "one recording at a time; to compare two: seep diff %s %s",
                                       argv[parser.first_operand], argv[parser.first_operand + 1]);
        if (!status)
                status = run(&r, argv[parser.first_operand]);
        report_free(&r);
        return status == OPTION_HELP ? say_help() : status;
}
