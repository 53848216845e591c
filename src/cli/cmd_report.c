/* SPDX-License-Identifier: MIT */
/* cmd_report.c -- `seep report`: the views of a recording. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/newest.h"
#include "cli/pager.h"
#include "cli/report.h"
#include "profile/file.h"

static int say_help(void)
{
        return command_help(COMMAND_report,
                            "Show where the memory of a recorded program went.\nFILE defaults to the newest *.seep here.\n",
                            "\nexamples:\n"
                            "  seep report                          what the peak was made of\n"
                            "  seep report --cost live --inverted   who allocated what was not freed\n"
                            "  seep report --flat -s allocs -n 10   the ten stacks that allocate most often\n"
                            "  seep report --at 1.5s -x '^init_'    live at 1.5 s, without initialisation\n"
                            "  seep report --growth -n 5            the five stacks that grow fastest\n"
                            "  seep report --timeline               how much was live when\n"
                            "\nExit status: 0 success, 2 usage error, 3 --retained without a leak search, 4\n"
                            "the file cannot be read.\n");
}

static int show(struct report *r, const char *file)
{
        struct profile p = { 0 };
        struct deliver_stream to;
        struct err e = { 0 };
        bool raw = r->view == REPORT_JSON || r->json || r->csv;
        struct deliver how = { .output = r->output, .force = r->force, .plain = r->no_pager || raw, .raw = raw, .quiet = r->quiet };
        bool color = deliver_color(&how, r->color);
        int status = 0;

        r->names.options.raw = how.raw && !r->csv;
        if (!deliver_prepare(&how, &e))
                return message_error(&e);
        if (!load_recording(&p, file, r->quiet, &e)) {
                deliver_drop(&how);
                return message_error(&e);
        }
        if (r->view == REPORT_RETAINED)
                file_unpack(&p);
        if (report_view_lost(r, &p))
                err_set(&e, ERR_EXIT_BAD_FILE, "%s: nothing of this view is in the part that can be read%s", file,
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

static int run(struct report *r, const char *file)
{
        struct err e = { 0 };
        char *newest = NULL;
        int status = report_settle(r);

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
        struct report r = { .command = "report", .view = REPORT_TREE, .threshold = 1 };
        struct option_parser parser;
        int which, status = 0;

        option_start(&parser, "report", report_options, argc, argv);
        while (!status && (which = option_next(&parser)) >= 0) {
                if (which == REPORT_HELP) {
                        report_free(&r);
                        return say_help();
                }
                status = report_take(&r, which, parser.value);
        }
        if (!status && which == OPTION_WRONG)
                status = ERR_EXIT_USAGE;
        if (!status && argc - parser.first_operand > 1)
                status = message_usage("report", "one recording at a time, not also '%s'",
                                       argv[parser.first_operand + 1]);
        if (!status)
                status = run(&r, argv[parser.first_operand]);
        report_free(&r);
        return status;
}
