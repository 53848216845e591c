/* SPDX-License-Identifier: MIT */
/*
 * shell_plan.c -- a command of `seep shell` as a command line of seep: the process or recording,
 * and the shell's settings, are added.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/command.h"
#include "cli/names.h"
#include "cli/shell.h"
#include "query/moment.h"

static void put(struct shell_words *out, const char *word)
{
        out->at = heap_grow(out->at, (size_t)out->count + 2, sizeof *out->at);
        out->at[out->count++] = heap_text(word);
        out->at[out->count] = NULL;
}

static void put_target(struct shell_words *out, const struct shell_target *t)
{
        struct str operand = { 0 };

        shell_target_operand(t, &operand);
        put(out, str_get(&operand));
        str_free(&operand);
}

static bool has_entry(const struct command *command, const char *name)
{
        for (const struct option_entry *e = command->options; e->help; e++)
                if (e->name && strcmp(e->name, name) == 0)
                        return true;
        return false;
}

/* "A:B" as --debug-path A --debug-path B. */
static void put_searchpath(const struct shell *s, struct shell_words *out)
{
        for (const char *at = s->searchpath; *at;) {
                size_t length = strcspn(at, ":");
                struct str folder = { 0 };

                str_bytes(&folder, at, length);
                if (length) {
                        put(out, "--debug-path");
                        put(out, str_get(&folder));
                }
                str_free(&folder);
                at += length + (at[length] == ':');
        }
}

/* Where names come from, as the shell was told at its start and since. */
static void put_names(const struct shell *s, const struct command *command,
                      struct shell_words *out)
{
        const struct symbol_options *n = &s->names->options;

        if (!has_entry(command, "debug-path"))
                return;
        put_searchpath(s, out);
        for (uint32_t i = 0; i < n->debug_path_count; i++) {
                put(out, "--debug-path");
                put(out, n->debug_paths[i]);
        }
        if (n->sysroot) {
                put(out, "--sysroot");
                put(out, n->sysroot);
        }
        if (n->no_debuginfod)
                put(out, "--no-debuginfod");
}

/* ---- which words are operands ---- */

static bool wants_value(const struct option_entry *entry)
{
        return entry && entry->argument && entry->argument[0] != '[';
}

/* The option of that name, or of a name that begins so. */
static const struct option_entry *long_option(const struct option_entry *entries, const char *name)
{
        size_t length = strcspn(name, "=");
        const struct option_entry *found = NULL;

        for (const struct option_entry *e = entries; e->help; e++)
                if (e->name && strncmp(e->name, name, length) == 0) {
                        if (strlen(e->name) == length)
                                return e;
                        found = e;
                }
        return found;
}

static const struct option_entry *letter_option(const struct option_entry *entries, char letter)
{
        for (; entries->help; entries++)
                if (entries->letter == letter)
                        return entries;
        return NULL;
}

/* Whether the word behind the option WORD is its value. */
static bool takes_next(const struct option_entry *entries, const char *word)
{
        if (word[1] == '-')
                return !strchr(word, '=') && wants_value(long_option(entries, word + 2));
        for (const char *at = word + 1; *at; at++) {
                const struct option_entry *entry = letter_option(entries, *at);

                if (entry && entry->argument)
                        return wants_value(entry) && !at[1];
        }
        return false;
}

/* Mark the operands among WORDS, behind the first, as the parser of seep will see them.  Returns
 * how many there are; IS_OPERAND has a byte for each word. */
static int find_operands(const struct option_entry *entries, const struct shell_line *line,
                         char *is_operand)
{
        bool ended = false;
        int count = 0;

        for (int i = 1; i < line->count; i++) {
                const char *word = line->words[i];

                if (!ended && strcmp(word, "--") == 0) {
                        ended = true;
                } else if (!ended && word[0] == '-' && word[1]) {
                        i += takes_next(entries, word);
                } else {
                        is_operand[i] = 1;
                        count++;
                }
        }
        return count;
}

static bool has_option(const struct shell_line *line, const char *name)
{
        size_t length = strlen(name);

        for (int i = 1; i < line->count; i++)
                if (strncmp(line->words[i], name, length) == 0 &&
                    (!line->words[i][length] || line->words[i][length] == '='))
                        return true;
        return false;
}

bool shell_is_pid(const char *word)
{
        return *word && strlen(word) < 11 && strspn(word, "0123456789") == strlen(word);
}

/* An operand: a process that we know may have ended. */
static void put_operand(struct shell *s, const char *word, struct shell_words *out)
{
        struct shell_target *t = NULL;

        for (uint32_t i = 0; i < s->count && !t; i++)
                if (s->targets[i]->pid && strcmp(s->targets[i]->name, word) == 0)
                        t = s->targets[i];
        if (t)
                put_target(out, t);
        else
                put(out, word);
}

/* ---- commands of seep ---- */

/* How many operands it has when the recording is among them. */
static int whole(const struct shell_line *line)
{
        if (strcmp(line->words[0], "why") == 0)
                return has_option(line, "--site") ? 1 : 2;
        return strcmp(line->words[0], "sql") == 0 ? 2 : 1;
}

bool shell_plan_command(struct shell *s, const struct shell_line *line, struct shell_words *out,
                        struct err *e)
{
        const struct command *command = command_find(line->words[0]);
        char *is_operand = heap_zero((size_t)line->count, 1);
        int count = find_operands(command->options, line, is_operand);
        bool asks = has_option(line, "--help") || has_option(line, "-h");
        struct shell_target *t = NULL;

        if (count < whole(line) && !asks && !(t = shell_target_chosen(s, e))) {
                free(is_operand);
                return false;
        }
        put(out, line->words[0]);
        put_names(s, command, out);
        if (strcmp(line->words[0], "top") == 0 && !has_option(line, "--batch") &&
            (line->to != SHELL_TO_STDOUT || !isatty(STDOUT_FILENO))) {
                put(out, "--batch");
                put(out, "1");
        }
        if (t)
                put_target(out, t);
        for (int i = 1; i < line->count; i++) {
                if (is_operand[i])
                        put_operand(s, line->words[i], out);
                else
                        put(out, line->words[i]);
        }
        free(is_operand);
        return true;
}

/* A moment of the chosen recording, unless it is a file or process of its own. */
static void put_moment(struct shell *s, const struct shell_target *t, const char *word,
                       struct shell_words *out)
{
        struct str moment = { 0 };

        if (word[0] != '@' && (access(word, F_OK) == 0 || moment_split(word) ||
                               (shell_is_pid(word) &&
                                shell_target_of(s, (uint32_t)strtoul(word, NULL, 10))))) {
                put_operand(s, word, out);
                return;
        }
        shell_target_operand(t, &moment);
        str_format(&moment, "%s%s", word[0] == '@' ? "" : "@", word);
        put(out, str_get(&moment));
        str_free(&moment);
}

bool shell_plan_diff(struct shell *s, const struct shell_line *line, struct shell_words *out,
                     struct err *e)
{
        char *is_operand = heap_zero((size_t)line->count, 1);
        int count = find_operands(diff_options, line, is_operand);
        struct shell_target *t = shell_target_chosen(s, e);

        if (!t) {
                free(is_operand);
                return false;
        }
        put(out, "diff");
        put_names(s, command_find("diff"), out);
        for (int i = 1; i < line->count; i++) {
                if (is_operand[i])
                        put_moment(s, t, line->words[i], out);
                else
                        put(out, line->words[i]);
        }
        if (count == 1)
                put_target(out, t);
        free(is_operand);
        return true;
}

/* export --to FORMAT [-o FILE], or export FORMAT [FILE]. */
bool shell_plan_export(struct shell *s, const struct shell_line *line, struct shell_words *out,
                       struct err *e)
{
        char *is_operand = heap_zero((size_t)line->count, 1);
        int count = find_operands(export_options, line, is_operand), seen = 0;
        struct shell_target *t;

        if (has_option(line, "--to") || count == 0) {
                free(is_operand);
                return shell_plan_command(s, line, out, e);
        }
        t = shell_target_chosen(s, e);
        if (t) {
                put(out, "export");
                put_names(s, command_find("export"), out);
                put_target(out, t);
        }
        for (int i = 1; t && i < line->count; i++) {
                if (is_operand[i] && seen < 2)
                        put(out, seen++ ? "-o" : "--to");
                put(out, line->words[i]);
        }
        free(is_operand);
        return t;
}

/* ---- those with words of mtrace-ng ---- */

bool shell_plan_dump(struct shell *s, const struct shell_line *line, struct shell_words *out,
                     struct err *e)
{
        /* In the order of SHELL_DUMP_KEYS. */
        static const char *const sorts[] = { "live-blocks",  "average",       "bad-frees",
                                             "leaked-bytes", "leaked-blocks", "mismatched",
                                             "allocs",       "allocs",        "last",
                                             "live-bytes" };
        struct shell_target *t = NULL;
        bool full = false;
        int key = -1;

        for (int i = 1; i < line->count; i++) {
                const char *word = line->words[i];

                if (strcmp(word, "-l") == 0) {
                        full = true;
                } else if (shell_is_pid(word) && !t) {
                        t = shell_target_named(s, word, e);
                        if (!t)
                                return false;
                } else if (key >= 0) {
                        return err_set(e, ERR_EXIT_USAGE, "dump: '%s' is one word too many", word);
                } else if ((key = shell_choose(SHELL_DUMP_KEYS, word, e)) < 0) {
                        return err_context(e, "dump");
                }
        }
        if (!t && !(t = shell_target_chosen(s, e)))
                return false;
        put(out, "report");
        put(out, "--flat");
        put(out, "-s");
        put(out, sorts[key < 0 ? 0 : key]);
        if (full)
                put(out, "-L");
        put_names(s, command_find("report"), out);
        put_target(out, t);
        return true;
}

/* The process that a command with an operand [PID] means. */
static struct shell_target *find_process(struct shell *s, const struct shell_line *line, int at,
                                         struct err *e)
{
        struct shell_target *t;

        if (line->count > at + 1) {
                err_set(e, ERR_EXIT_USAGE, "%s: '%s' is one word too many", line->words[0],
                        line->words[at + 1]);
                return NULL;
        }
        if (line->count > at && !shell_is_pid(line->words[at])) {
                err_set(e, ERR_EXIT_USAGE, "%s: '%s' is not a process id", line->words[0],
                        line->words[at]);
                return NULL;
        }
        t = line->count > at ? shell_target_named(s, line->words[at], e)
                             : shell_target_chosen(s, e);
        if (t && (!t->pid || t->ended)) {
                err_set(e, ERR_EXIT_CANNOT_TRACE, "%s: %s %s: there is no process to change",
                        line->words[0], t->name, t->pid ? "has ended" : "is a recording");
                return NULL;
        }
        return t;
}

bool shell_plan_control(struct shell *s, const struct shell_line *line, struct shell_words *out,
                        struct err *e)
{
        struct shell_target *t = find_process(s, line, 1, e);

        if (!t)
                return false;
        put(out, "control");
        put(out, t->name);
        put(out, line->words[0]);
        return true;
}

/* set depth N [PID] */
bool shell_plan_depth(struct shell *s, const struct shell_line *line, struct shell_words *out,
                      struct err *e)
{
        struct shell_target *t;

        if (line->count < 3)
                return err_set(e, ERR_EXIT_USAGE, "set depth: how many frames? set depth N|all");
        t = find_process(s, line, 3, e);
        if (!t)
                return false;
        put(out, "control");
        put(out, t->name);
        put(out, "depth");
        put(out, line->words[2]);
        return true;
}

bool shell_plan_detach(struct shell *s, const struct shell_line *line, struct shell_words *out,
                       struct err *e)
{
        struct shell_target *t = find_process(s, line, 1, e);

        if (t && t->far)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "detach: process %s is recorded at %s, and that is ended there",
                               t->name, shell_far_name(s));
        if (!t)
                return false;
        put(out, "detach");
        put(out, t->name);
        return true;
}

/* snapshot [PID] [LABEL], with the options of seep. */
bool shell_plan_snapshot(struct shell *s, const struct shell_line *line, struct shell_words *out,
                         struct err *e)
{
        char *is_operand = heap_zero((size_t)line->count, 1);
        int count = find_operands(snapshot_options, line, is_operand), first = 1;
        struct shell_line alone = { line->words, 1, SHELL_TO_STDOUT, NULL };
        struct shell_target *t = NULL;

        while (first < line->count && !is_operand[first])
                first++;
        if (count && shell_is_pid(line->words[first]))
                shell_target_others(s);
        if (!count || !shell_is_pid(line->words[first]) ||
            (count == 1 && !shell_target_of(s, (uint32_t)strtoul(line->words[first], NULL, 10))))
                t = find_process(s, &alone, 1, e);
        free(is_operand);
        if (!t && e->exit_code)
                return false;
        put(out, "snapshot");
        if (t)
                put(out, t->name);
        for (int i = 1; i < line->count; i++)
                put(out, line->words[i]);
        return true;
}

/* tag LABEL [PID] */
bool shell_plan_tag(struct shell *s, const struct shell_line *line, struct shell_words *out,
                    struct err *e)
{
        struct shell_target *t;

        if (line->count < 2)
                return err_set(e, ERR_EXIT_USAGE, "tag: which name? tag LABEL [PID]");
        t = find_process(s, line, 2, e);
        if (!t)
                return false;
        put(out, "snapshot");
        put(out, "--tag");
        put(out, "--");
        put(out, t->name);
        put(out, line->words[1]);
        return true;
}
