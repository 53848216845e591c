/* SPDX-License-Identifier: MIT */
/* cmd_symbolize.c -- `seep symbolize`: names found once and stored in the recording. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/option.h"
#include "names/stored.h"
#include "profile/file.h"
#include "profile/packed.h"

#define SYMBOLIZE_OPTIONS(X)                                                              \
        NAMES_OPTIONS(X, SYMBOLIZE)                                                       \
        X(SYMBOLIZE_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                \
        X(SYMBOLIZE_OUTPUT, "output", 'o', "OUT", "write to OUT and leave FILE as it is") \
        X(SYMBOLIZE_FORCE, "force", 'f', NULL, "replace an existing OUT")                 \
        X(SYMBOLIZE_QUIET, "quiet", 'q', NULL, "no report of what was found")             \
        LAST_OPTIONS(X, SYMBOLIZE)

enum { SYMBOLIZE_OPTIONS(OPTION_ENUM) SYMBOLIZE_COUNT };
const struct option_entry symbolize_options[] = { SYMBOLIZE_OPTIONS(OPTION_ENTRY) OPTION_END };

struct symbolize {
        const char *file, *output; /* output NULL: in place */
        struct names names;
        bool force, quiet;
};

static int say_help(void)
{
        return command_help(COMMAND_symbolize,
                "Look up every function of a recording and store the names in it, inlined\n"
                "functions and lines included. It can then be read anywhere, without the\n"
                "recorded programs and libraries.\n",
                "\nexamples:\n"
                "  seep symbolize app.42.seep                        before it is sent away\n"
                "  seep symbolize --sysroot ~/target app.42.seep     recorded on another machine\n"
                "  seep symbolize --debug-path build app.42.seep     stripped there, whole here\n"
                "\nExit status: 0 success, 2 usage error, 4 the file cannot be read.\n");
}

static void tell_module(const struct profile_module *m, const struct symbol_tally *t,
                        struct str *out)
{
        str_format(out, "  %9u  %9u  %9u  %s", t->asked, t->named, t->lined, m->path);
        if (m->build_id_bytes) {
                str_text(out, "  build id ");
                for (uint32_t i = 0; i < m->build_id_bytes; i++)
                        str_format(out, "%02x", m->build_id[i]);
        }
        str_char(out, '\n');
}

/* How much was found, and which files would give more. */
static void tell(const struct profile *p, const struct symbol_tally *tally)
{
        struct symbol_tally sum = { 0 };
        struct str out = { 0 }, lacking = { 0 };

        for (uint32_t i = 0; i < p->module_count; i++) {
                sum.asked += tally[i].asked;
                sum.named += tally[i].named;
                sum.lined += tally[i].lined;
                if (tally[i].named < tally[i].asked || (tally[i].asked && !tally[i].lined))
                        tell_module(&p->modules[i], &tally[i], &lacking);
        }
        str_format(&out, "%u of %u addresses have names, %u have lines\n", sum.named, sum.asked,
                   sum.lined);
        if (lacking.length)
                str_format(&out,
                           "debug files for these would give more:\n  addresses      named      "
                           "lines  module\n%s", str_get(&lacking));
        message_result(&out);
        str_free(&out);
        str_free(&lacking);
}

static void add_names(struct symbolize *z, struct profile *p)
{
        struct symbols *s = symbols_new(p, &z->names.options);
        struct profile_symbol *found;
        uint32_t count = stored_collect(s, p, &found);
        struct symbol_tally *tally = symbols_tally(s);

        if (!z->quiet)
                tell(p, tally);
        symbols_free(s);
        stored_replace(p, found, count);
        free(tally);
}

/* A recording that the user named is replaced, another file only with -f. */
static bool look_up_target(const struct symbolize *z, const struct profile *p, struct place *to,
                           struct err *e)
{
        const char *path = z->output ? z->output : z->file;

        if (!z->output && p->truncated)
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s is damaged or incomplete and was left as it is; -o OUT writes "
                               "what can be read to another file", z->file);
        if (!place_open(to, path, z->output && !z->force ? PLACE_NEW : PLACE_NAMED))
                return place_refuse(path, ERR_EXIT_USAGE, e);
        if (!z->quiet)
                deliver_warn(to);
        return true;
}

static int run(struct symbolize *z)
{
        struct place to = PLACE_NONE;
        struct profile p = { 0 };
        struct err e = { 0 };
        int status = 0;

        if (!file_take(&p, z->file, PACKED_LEAST, &e))
                return message_error(&e);
        if (look_up_target(z, &p, &to, &e)) {
                add_names(z, &p);
                file_rewrite(&p, z->file, &to, &e);
        }
        if (e.exit_code)
                status = message_error(&e);
        place_close(&to);
        profile_free(&p);
        return status;
}

int cmd_symbolize(int argc, char **argv)
{
        struct option_parser parser;
        struct symbolize z = { 0 };
        int which, status = 0;

        names_init(&z.names);
        z.names.options.raw = true;
        option_start(&parser, "symbolize", symbolize_options, argc, argv);
        while (!status && (which = option_next(&parser)) >= 0) {
                if (which == SYMBOLIZE_HELP)
                        return say_help();
                if (names_take(&z.names, "symbolize", symbolize_options[which].name, parser.value,
                               &status))
                        continue;
                if (which == SYMBOLIZE_OUTPUT)
                        z.output = parser.value;
                z.force |= which == SYMBOLIZE_FORCE;
                z.quiet |= which == SYMBOLIZE_QUIET;
        }
        if (status || which == OPTION_WRONG)
                return ERR_EXIT_USAGE;
        if (argc - parser.first_operand != 1)
                return message_usage("symbolize", argc == parser.first_operand
                                                          ? "a recording is needed"
                                                          : "one recording at a time");
        z.file = argv[parser.first_operand];
        return run(&z);
}
