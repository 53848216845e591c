/* SPDX-License-Identifier: MIT */
#include "cli/shell_complete.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/plain.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/words.h"
#include "names/symbol.h"

enum { COMPLETE_MAX = 10000 };

/* ---- what is offered ---- */

static const char special[] = " \t'\"\\;|>#";

/* As it must be typed. */
static void add_quoted(struct str *out, const char *word)
{
        for (; *word; word++) {
                if (strchr(special, *word))
                        str_char(out, '\\');
                str_char(out, *word);
        }
}

/* WORD, if it begins with TYPED.  Names of files and functions may be a stranger's: those that a
 * terminal would obey, or show as others, are not offered. */
static void offer(struct shell_offers *o, const char *typed, const char *word)
{
        struct str quoted = { 0 };

        if (strncmp(word, typed, strlen(typed)) != 0 || o->count == COMPLETE_MAX ||
            !plain_is_line(word))
                return;
        add_quoted(&quoted, word);
        o->at = heap_grow(o->at, o->count + 1, sizeof *o->at);
        o->at[o->count++] = heap_text(str_get(&quoted));
        str_free(&quoted);
}

/* Each of "a|b|c". */
static void offer_values(struct shell_offers *o, const char *typed, const char *values)
{
        while (values && *values) {
                size_t length = strcspn(values, "|");
                struct str word = { 0 };

                str_bytes(&word, values, length);
                if (strcmp(str_get(&word), "...") != 0)
                        offer(o, typed, str_get(&word));
                str_free(&word);
                values += length + (values[length] == '|');
        }
}

/* Names in the folder that TYPED goes into. */
static void offer_files(struct shell_offers *o, const char *typed)
{
        const char *slash = strrchr(typed, '/');
        struct str folder = { 0 };
        DIR *d;

        str_bytes(&folder, typed, slash ? (size_t)(slash - typed) + 1 : 0);
        d = opendir(folder.length ? str_get(&folder) : ".");
        for (struct dirent *entry; d && (entry = readdir(d));) {
                struct str name = { 0 };
                struct stat st;

                if (entry->d_name[0] == '.' && (slash ? slash[1] : *typed) != '.')
                        continue;
                str_format(&name, "%s%s", str_get(&folder), entry->d_name);
                if (stat(str_get(&name), &st) == 0 && S_ISDIR(st.st_mode))
                        str_char(&name, '/');
                offer(o, typed, str_get(&name));
                str_free(&name);
        }
        if (d)
                closedir(d);
        str_free(&folder);
}

static void offer_processes(struct shell *s, struct shell_offers *o, const char *typed)
{
        for (uint32_t i = 0; i < s->count; i++)
                if (s->targets[i]->pid)
                        offer(o, typed, s->targets[i]->name);
}

/* ---- functions and sites of the recording ---- */

/* In a process of its own: a line for each function, and for each site "#N". */
_Noreturn static void tell_names(const struct shell_target *t, int to)
{
        struct symbol_options options = { .no_debuginfod = true };
        struct str operand = { 0 }, out = { 0 };
        struct profile p = { 0 };
        struct symbols *symbols;
        struct err e = { 0 };

        signal(SIGINT, SIG_DFL);
        shell_target_operand(t, &operand);
        if (!load_recording(&p, str_get(&operand), LOAD_QUIET | LOAD_COUNTS, &e))
                _exit(1);
        symbols = symbols_new(&p, &options);
        for (uint32_t i = 2; i < p.node_count; i++) {
                const struct symbol_frame *frames;
                uint32_t count = symbols_node(symbols, i, &frames);

                for (uint32_t k = 0; k < count; k++)
                        if (frames[k].function)
                                str_format(&out, "%s\n", frames[k].function);
        }
        for (uint32_t i = 1; i < p.site_count; i++)
                str_format(&out, "#%u\n", i);
        io_write(to, str_get(&out), out.length);
        _exit(0);
}

/* What it tells, one name per line; Ctrl-C ends it. */
static void read_names(const struct shell_target *t, struct str *out)
{
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) != 0)
                return;
        pid = fork();
        if (pid == 0)
                tell_names(t, ends[1]);
        close(ends[1]);
        if (pid > 0)
                io_read(ends[0], out);
        close(ends[0]);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                continue;
}

static void offer_names(struct shell *s, struct shell_offers *o, const char *typed)
{
        struct str names = { 0 };
        char *save = NULL;

        if (s->chosen < s->count)
                read_names(s->targets[s->chosen], &names);
        for (char *name = names.length ? strtok_r(names.data, "\n", &save) : NULL; name;
             name = strtok_r(NULL, "\n", &save))
                if ((*name == '#') == (*typed == '#'))
                        offer(o, typed, name);
        str_free(&names);
}

/* ---- what fits where ---- */

static const struct option_entry *find_option(const struct option_entry *entries, const char *word)
{
        size_t length = word[0] == '-' && word[1] == '-' ? strcspn(word + 2, "=") : 0;

        for (; entries->help; entries++)
                if (length ? entries->name && strlen(entries->name) == length &&
                                     strncmp(entries->name, word + 2, length) == 0
                           : entries->letter && word[0] == '-' && word[1] == entries->letter &&
                                     !word[2])
                        return entries;
        return NULL;
}

static bool is_one_of(const char *word, const char *values)
{
        for (size_t length; *values; values += length + (values[length] == '|')) {
                length = strcspn(values, "|");
                if (strlen(word) == length && strncmp(word, values, length) == 0)
                        return true;
        }
        return false;
}

static void offer_value(struct shell *s, struct shell_offers *o, const char *typed,
                        const struct option_entry *option)
{
        if (option->values)
                offer_values(o, typed, option->values);
        else if (is_one_of(option->argument, "RE|FUNCTION"))
                offer_names(s, o, typed);
        else
                offer_files(o, typed);
}

static void offer_options(struct shell_offers *o, const char *typed,
                          const struct option_entry *entries)
{
        for (; entries->help; entries++) {
                struct str name = { 0 };

                if (entries->name) {
                        str_format(&name, "--%s", entries->name);
                        offer(o, typed, str_get(&name));
                }
                str_free(&name);
        }
}

static void offer_verbs(struct shell_offers *o, const char *typed)
{
        for (const struct shell_verb *v = shell_verbs; v->name; v++)
                offer(o, typed, v->name);
}

/* Behind VERB, one of ours. */
static void offer_operands(struct shell *s, struct shell_offers *o, const char *typed,
                           const struct shell_line *line)
{
        const char *verb = line->words[0];

        if (strcmp(verb, "help") == 0)
                offer_verbs(o, typed);
        else if (strcmp(verb, "export") == 0 && line->count == 1)
                offer_values(o, typed, find_option(export_options, "--to")->values);
        else if (is_one_of(verb, "report|leaks|why"))
                offer_names(s, o, typed);
        else if (is_one_of(verb, "start|stop|reset|status|detach|scan|dump|snapshot"))
                offer_processes(s, o, typed);
        else if (strcmp(verb, "set") == 0 && line->count == 2)
                offer_processes(s, o, typed);
        if (is_one_of(verb, "source|set|diff|export|html"))
                offer_files(o, typed);
}

/* The word TYPED behind those of LINE. */
static void offer_word(struct shell *s, struct shell_offers *o, const char *typed,
                       struct shell_line *line)
{
        const struct shell_verb *v;
        const struct command *command;
        const struct option_entry *option = NULL;
        struct err e = { 0 };

        v = line->count ? shell_verb_find(line->words[0], &e) : NULL;
        if (!line->count) {
                offer_verbs(o, typed);
                return;
        }
        if (!v)
                return;
        free(line->words[0]);
        line->words[0] = heap_text(v->name);
        command = v->plan ? command_find(v->name) : NULL;
        if (command && line->count > 1)
                option = find_option(command->options, line->words[line->count - 1]);
        if (option && option->argument && option->argument[0] != '[') {
                offer_value(s, o, typed, option);
        } else if (command && *typed == '-') {
                offer_options(o, typed, command->options);
        } else {
                if (v->keys && line->count == 1)
                        offer_values(o, typed, v->keys);
                offer_operands(s, o, typed, line);
        }
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static void settle(struct shell_offers *o)
{
        uint32_t kept = 0;

        if (o->count)
                qsort(o->at, o->count, sizeof *o->at, by_text);
        for (uint32_t i = 0; i < o->count; i++) {
                if (kept && strcmp(o->at[kept - 1], o->at[i]) == 0)
                        free(o->at[i]);
                else
                        o->at[kept++] = o->at[i];
        }
        o->count = kept;
}

/* Where the word begins that the end of TEXT belongs to, and what it is so far; a quote may be
 * open.  *BEFORE: the last command up to there. */
static const char *last_word(const char *text, const char **command, bool *to_file)
{
        const char *start = text, *word = text;
        char quote = 0;

        *to_file = false;
        for (const char *at = text; *at; at++) {
                if (quote) {
                        quote = *at == quote ? 0 : quote;
                } else if (*at == '\'' || *at == '"') {
                        quote = *at;
                } else if (*at == '\\' && at[1]) {
                        at++;
                } else if (strchr(" \t;|>", *at)) {
                        word = at + 1;
                        if (*at == ';')
                                start = at + 1;
                        if (*at == '|' || *at == '>')
                                *to_file = true;
                        else if (*at == ';')
                                *to_file = false;
                }
        }
        *command = start;
        return word;
}

void shell_complete(struct shell *s, const char *text, struct shell_offers *out)
{
        struct str before = { 0 }, typed = { 0 };
        struct shell_line line = { 0 };
        struct err e = { 0 };
        const char *command, *word, *rest;
        bool to_file;

        *out = (struct shell_offers){ 0 };
        word = last_word(text, &command, &to_file);
        str_bytes(&before, command, (size_t)(word - command));
        words_take(word, "", &typed); /* without its quotes, also open ones */
        rest = str_get(&before);
        if (to_file)
                offer_files(out, str_get(&typed));
        else if (shell_line_take(&rest, &line, &e) >= 0)
                offer_word(s, out, str_get(&typed), &line);
        shell_line_free(&line);
        out->typed = strlen(word);
        settle(out);
        str_free(&before);
        str_free(&typed);
}

void shell_complete_free(struct shell_offers *o)
{
        for (uint32_t i = 0; i < o->count; i++)
                free(o->at[i]);
        free(o->at);
        *o = (struct shell_offers){ 0 };
}
