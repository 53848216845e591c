/* SPDX-License-Identifier: MIT */
/* shell_verbs.c -- the commands of `seep shell`, and their abbreviations. */
#include <string.h>

#include "cli/command.h"
#include "cli/shell.h"
#include "cli/suggest.h"

#define PLAN(name, operands, purpose, keys, plan) \
        { name, operands, purpose, keys, plan, NULL, NULL }
#define SEEP(name, operands, purpose) PLAN(name, operands, purpose, NULL, shell_plan_command)
#define BESIDE(name, operands, purpose, keys, beside) \
        { name, operands, purpose, keys, NULL, beside, NULL }
#define HERE(name, operands, purpose, keys, here) \
        { name, operands, purpose, keys, NULL, NULL, here }

const struct shell_verb shell_verbs[] = {
        PLAN("detach", "[PID]", "end the recording of a process, which goes on", NULL,
             shell_plan_detach),
        PLAN("diff", "OLD [NEW]", "what changed between two moments, or since one", NULL,
             shell_plan_diff),
        PLAN("dump", "[KEY] [-l] [PID]", "one entry per call stack, by KEY (allocations)",
             SHELL_DUMP_KEYS, shell_plan_dump),
        SEEP("events", "[OPTIONS]", "every event of a recording made with --events"),
        PLAN("export", "FORMAT [FILE]", "the format of another tool", NULL, shell_plan_export),
        BESIDE("help", "[COMMAND]", "all commands, or one of them", NULL, shell_help),
        SEEP("html", "[OPTIONS]", "a page for the browser"),
        SEEP("info", "[OPTIONS]", "what the recording contains"),
        SEEP("leaks", "[OPTIONS]", "what is lost; of a process: searched now"),
        BESIDE("proclist", "", "the processes and recordings that can be looked at", NULL,
               shell_proclist),
        HERE("quit", "", "leave; programs and their recordings go on", NULL, shell_quit),
        SEEP("report", "[OPTIONS]", "where the memory went"),
        PLAN("reset", "[PID]", "count from zero", NULL, shell_plan_control),
        BESIDE("save", "FILE [PID]", "write the recording, or one of this moment, to a new file",
               NULL, shell_save),
        BESIDE("scan", "[all|leak|new] [PID]",
               "search for leaks: all blocks, those lost before, or those that are new",
               SHELL_SCAN_MODES, shell_scan),
        HERE("set", "depth N [PID] | process PID|FILE | searchpath A:B",
             "frames that are kept; what commands are about; where debug files are", SHELL_SET_KEYS,
             shell_set),
        BESIDE("show", "info|searchpath", "how it is recorded; where debug files are",
               SHELL_SHOW_KEYS, shell_show),
        PLAN("snapshot", "[PID] [LABEL]", "take a snapshot, with a report", NULL,
             shell_plan_snapshot),
        HERE("source", "FILE", "do the commands in FILE", NULL, shell_source),
        SEEP("sql", "[OPTIONS] 'QUERY'", "ask with SQL"),
        PLAN("start", "[PID]", "record new blocks", NULL, shell_plan_control),
        BESIDE("status", "[PID]", "totals, and whether it is recorded", NULL, shell_status),
        PLAN("stop", "[PID]", "do not record new blocks", NULL, shell_plan_control),
        PLAN("tag", "LABEL [PID]", "name this moment", NULL, shell_plan_tag),
        SEEP("top", "[OPTIONS]", "the live view"),
        SEEP("why", "[OPTIONS] ADDRESS|#SITE", "what keeps a block alive"),
        { 0 }
};

static bool begins(const char *whole, const char *word)
{
        return *word && strncmp(whole, word, strlen(word)) == 0;
}

static void say_unknown(const char *word, struct err *e)
{
        const char *names[sizeof shell_verbs / sizeof *shell_verbs];
        const char *near;
        size_t count = 0;

        for (const struct shell_verb *v = shell_verbs; v->name; v++)
                names[count++] = v->name;
        near = suggest_nearest(word, names, count);
        if (near)
                err_set(e, ERR_EXIT_USAGE, "'%.64s' is not a command: did you mean '%s'?", word,
                        near);
        else
                err_set(e, ERR_EXIT_USAGE, "'%.64s' is not a command; 'help' lists them", word);
}

const struct shell_verb *shell_verb_find(const char *word, struct err *e)
{
        const struct shell_verb *found = NULL;
        struct str several = { 0 };
        int count = 0;

        for (const struct shell_verb *v = shell_verbs; v->name; v++) {
                if (strcmp(v->name, word) == 0) {
                        str_free(&several);
                        return v;
                }
                if (begins(v->name, word)) {
                        str_format(&several, "%s%s", count++ ? ", " : "", v->name);
                        found = v;
                }
        }
        if (count == 0)
                say_unknown(word, e);
        else if (count > 1)
                err_set(e, ERR_EXIT_USAGE, "'%s' can be %s", word, str_get(&several));
        str_free(&several);
        return count == 1 ? found : NULL;
}

int shell_choose(const char *values, const char *word, struct err *e)
{
        struct str several = { 0 };
        int found = -1, count = 0, place = 0;

        for (const char *at = values; *at; place++) {
                size_t length = strcspn(at, "|");

                if (strlen(word) == length && strncmp(at, word, length) == 0) {
                        str_free(&several);
                        return place;
                }
                if (begins(at, word) && strlen(word) < length) {
                        str_text(&several, count++ ? ", " : "");
                        str_bytes(&several, at, length);
                        found = place;
                }
                at += length + (at[length] == '|');
        }
        if (count == 0)
                err_set(e, ERR_EXIT_USAGE, "'%.64s' is none of %s", word, values);
        else if (count > 1)
                err_set(e, ERR_EXIT_USAGE, "'%s' can be %s", word, str_get(&several));
        str_free(&several);
        return count == 1 ? found : -1;
}
