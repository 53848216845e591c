/* SPDX-License-Identifier: MIT */
/* cmd_info.c -- `seep info`: what a recording contains, and whether it is intact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/plain.h"
#include "cli/command.h"
#include "cli/folder.h"
#include "cli/info.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/option.h"
#include "profile/packed.h"
#include "profile/plain_texts.h"

#define INFO_OPTIONS(X)                                                                        \
        X(INFO_JSON, "json", 0, NULL, "machine-readable output")                               \
        X(INFO_SYMBOLS, "symbols", 0, NULL, "check for names and line numbers of each module") \
        LAST_OPTIONS(X, INFO)

enum { INFO_OPTIONS(OPTION_ENUM) INFO_COUNT };
const struct option_entry info_options[] = { INFO_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_help(void)
{
        return command_help(COMMAND_info,
                "Show what a recording contains and whether it is intact.\n"
                "FILE defaults to the newest *.seep here; PID is a process that is being\n"
                "recorded. Of a folder, as NAME.seep.d, the processes are listed.\n\n",
                "\nExit status: 0 the file is intact, 1 a part is missing or damaged, 2 usage\n"
                "error, 3 the process is not recorded, 4 nothing can be read.\n");
}

/* For each module: ask for some of its frames.  More would take long and tell nothing new. */
#define INFO_FRAMES_ASKED 64u

static void look_for_names(struct info *info, bool raw)
{
        const struct profile *p = &info->profile;
        struct symbol_options options = { .listener = &names_listener, .raw = raw };
        struct symbols *symbols = symbols_new(p, &options);

        info->names = heap_zero(p->module_count, sizeof *info->names);
        for (uint32_t i = 0; i < p->node_count; i++) {
                struct info_names *n = p->nodes[i].module < p->module_count
                                               ? &info->names[p->nodes[i].module]
                                               : NULL;
                const struct symbol_frame *frames;

                if (!n || n->asked == INFO_FRAMES_ASKED)
                        continue;
                n->asked++;
                if (symbols_node(symbols, i, &frames))
                        n->named += symbol_name(&frames[0]) != NULL;
        }
        for (uint32_t i = 0; i < p->module_count; i++)
                info->names[i].lines = symbols_has_lines(symbols, i);
        symbols_free(symbols);
}

static int show(struct info *info, bool json, bool names)
{
        struct str out = { 0 };
        int status = info->profile.truncated ? ERR_EXIT_FINDINGS : 0;

        if (names)
                look_for_names(info, json);
        if (json) {
                info_json(info, &out);
        } else {
                profile_plain(&info->profile);
                info_text(info, &out);
        }
        fwrite(str_get(&out), 1, out.length, stdout);
        str_free(&out);
        if (fflush(stdout)) {
                message("cannot write the result: %m");
                status = ERR_EXIT_FINDINGS;
        }
        return status;
}

static int show_folder(const char *path)
{
        struct folder f = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        bool good = folder_open(&f, path, &e), damaged;

        if (good)
                folder_table(&f, path, &out);
        plain_output(&out, 0, false);
        if (good && (fwrite(str_get(&out), 1, out.length, stdout) < out.length || fflush(stdout)))
                good = err_sys(&e, ERR_EXIT_FINDINGS, "cannot write the result");
        damaged = f.unreadable != 0;
        str_free(&out);
        folder_close(&f);
        return !good ? message_error(&e) : damaged ? ERR_EXIT_FINDINGS : 0;
}

static int run(const char *file, bool json, bool names)
{
        struct info info = { 0 };
        struct load_source source;
        struct err e = { 0 };
        char *newest = NULL;
        int status;

        if (folder_is(file) && !json)
                return show_folder(file);
        if (!file && !newest_recording(&newest, &e))
                return message_error(&e);
        info.file = file ? file : newest;
        if (load_open(&source, info.file, LOAD_QUIET, &e) &&
            file_take(&info.profile, source.path, PACKED_LEAST, &e) &&
            file_sections(&info.layout, source.path, &e)) {
                info.running = source.pid != 0;
                status = show(&info, json, names);
                if (!source.pid)
                        load_tell_log(&info.profile, info.file);
        } else {
                status = message_error(&e);
        }
        load_close(&source);
        file_sections_free(&info.layout);
        profile_free(&info.profile);
        free(info.names);
        free(newest);
        return status;
}

int cmd_info(int argc, char **argv)
{
        struct option_parser parser;
        bool json = false, names = false;
        int which;

        option_start(&parser, "info", info_options, argc, argv);
        while ((which = option_next(&parser)) >= 0) {
                if (which == INFO_HELP)
                        return say_help();
                json |= which == INFO_JSON;
                names |= which == INFO_SYMBOLS;
        }
        if (which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (argc - parser.first_operand > 1)
                return message_usage("info", "one recording at a time, not also '%s'",
                                     argv[parser.first_operand + 1]);
        return run(argv[parser.first_operand], json, names);
}
