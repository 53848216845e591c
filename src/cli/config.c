/* SPDX-License-Identifier: MIT */
/*
 * config.c -- options that stand nowhere on the command line: configuration files and SEEP_OPTIONS.
 *
 * Keeps:  ./.seeprc may be a stranger's trap, as it comes with a cloned directory: it is read
 *         only when it is the user's own or root's and nobody else can write to it, and only
 *         what is listed here as harmless may stand in it.  With raised rights the caller's
 *         files and environment are a stranger's too.  Each line is parsed alone first, so that
 *         a mistake is reported with its place.
 */
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "cli/message.h"
#include "cli/places.h"
#include "cli/words.h"

enum { CONFIG_GOOD = OPTION_WRONG - 1 }; /* no index of an option, nor what option_next() returns */

struct config {
        const struct command *command;
        char **words; /* found so far; ended by NULL */
        int count;
        struct str places; /* where they came from: "FILE:3, FILE:8" */
        bool project;      /* what is being read is the file of a project, not of the user */
};

/* What may stand in a project's file, whatever the command: it changes what is seen and how it is
 * shown, and nothing is written, sent, run or opened for it but rules to leave things out.  An
 * option that is not here is refused, new ones too. */
static const char *const config_harmless[] = {
        /* views and forms */
        "abs", "all", "all-frames", "batch", "blocks", "callers", "color", "csv", "depth-merge",
        "errors", "flat", "gen-suppressions", "group-by", "growth", "inverted", "json", "lifetimes",
        "limit", "long", "memlog", "memtraq", "mmleak", "modules", "no-header", "no-pager",
        "no-summary", "quiet", "resources", "retained", "schema", "sizes", "sort", "stacks",
        "summary", "symbols", "threads", "threshold", "timeline", "totals", "tree", "verbose",
        /* what is looked at */
        "at", "cost", "exclude", "exclude-module", "hide", "include", "interval", "memory",
        "module", "new", "process", "range", "show", "site", "thread",
        /* what counts as a leak, and how much is too much */
        "allow-unseen", "max-allocs", "max-bad-frees", "max-leaked", "max-leaks", "max-live",
        "max-peak", "no-alloc-in", "no-builtin-suppressions", "no-idioms", "no-leak-scan",
        "suppressions", "unaligned",
        /* what is recorded */
        "depth", "duration", "follow", "free-stacks", "no-cxx", "no-mmap", "sample", "start-off",
        "track-fds", "wait",
};

static bool config_allows(const struct config *c, const struct option_entry *option)
{
        for (size_t i = 0; i < sizeof config_harmless / sizeof *config_harmless; i++)
                if (option->name && strcmp(option->name, config_harmless[i]) == 0)
                        return true;
        return !c->project;
}

/* Why a project's file must not have PATH read; NULL: it may, as a file of the project.  What is
 * wrong in a file is shown, so that none of the user's others may be named, nor by a link. */
static const char *config_outside(const char *path)
{
        char *copy = heap_text(path), *rest = copy, *part;
        const char *why = path[0] == '/' ? "it is a path from the root" : NULL;
        int fd = open(".", O_PATH | O_CLOEXEC);
        struct stat st;

        while (!why && (part = strsep(&rest, "/"))) {
                bool up = strcmp(part, "..") == 0;
                int next = up ? -1 : openat(fd, *part ? part : ".",
                                            O_PATH | O_CLOEXEC | O_NOFOLLOW);

                if (up)
                        why = "it leads out of the project";
                else if (next < 0 || fstat(next, &st) != 0)
                        why = strerror(errno);
                else if (rest ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
                        why = S_ISLNK(st.st_mode) ? "it is a symbolic link"
                                                  : "it is not a regular file";
                if (fd >= 0)
                        close(fd);
                fd = next;
        }
        if (fd >= 0)
                close(fd);
        free(copy);
        return why;
}

/* ... as the value of OPTION; NULL: it may stand there. */
static const char *config_refuses(const struct config *c, const struct option_entry *option,
                                  const char *value)
{
        return c->project && option->name && strcmp(option->name, "suppressions") == 0
                   ? config_outside(value) : NULL;
}

/* Are WORDS (the command's name first) options of the command and nothing else? */
static bool config_check(const struct config *c, char **words, int count, const char *place)
{
        char **copy = heap_zero((size_t)count + 1, sizeof *copy); /* getopt sorts it */
        struct option_parser parser;
        const char *why = NULL;
        int which;

        memcpy(copy, words, (size_t)count * sizeof *copy);
        option_start(&parser, c->command->name, c->command->options, count, copy);
        parser.with_config = true;
        while ((which = option_next(&parser)) >= 0 && !option_is_config(&parser, which) &&
               config_allows(c, &c->command->options[which]) &&
               !(why = config_refuses(c, &c->command->options[which], parser.value)))
                ;
        if (which == OPTION_WRONG)
                message("that is in %s", place);
        else if (why)
                message("%s: --%s %s is refused in a project's file, which may be a stranger's: "
                        "%s", place, c->command->options[which].name, parser.value, why);
        else if (which >= 0 && !option_is_config(&parser, which))
                message("%s: --%s is refused in a project's file, which may be a stranger's: only "
                        "options that change how things are selected and shown are allowed there. "
                        "Put it into ~/.config/seep/config, or give --config ./.seeprc if you "
                        "trust that file", place, c->command->options[which].name);
        else if (which >= 0)
                message("%s: --config works on the command line only: configuration files cannot "
                        "include others", place);
        else if (parser.first_operand < count)
                message("%s: '%s' is not an option", place, copy[parser.first_operand]);
        else if (strcmp(copy[count - 1], "--") == 0)
                message("%s: '--' is not allowed here: it would end the options of the command "
                        "line too", place);
        else
                which = CONFIG_GOOD;
        free(copy);
        return which == CONFIG_GOOD;
}

/* Add all words but the first, which is the command's name. */
static void config_keep(struct config *c, char **words, int count, const char *place)
{
        if (count < 2)
                return;
        c->words = heap_grow(c->words, (size_t)(c->count + count), sizeof *c->words);
        for (int i = 1; i < count; i++)
                c->words[c->count++] = heap_text(words[i]);
        c->words[c->count] = NULL;
        str_format(&c->places, "%s%s", c->places.length ? ", " : "", place);
}

/* One line: a command and its options. */
static bool config_take(struct config *c, const char *line, const char *place)
{
        const struct command *command;
        struct err e = { 0 };
        int count;
        char **words = words_split(line, &count, &e);
        bool ok = words != NULL;

        if (!ok) {
                err_context(&e, "%s", place);
                message_error(&e);
                return false;
        }
        command = count ? command_find(words[0]) : NULL;
        if (count && !command) {
                message("%s: '%s' is not a seep command; a line is a command and its options",
                        place, words[0]);
                ok = false;
        } else if (command == c->command) {
                ok = config_check(c, words, count, place);
                if (ok)
                        config_keep(c, words, count, place);
        }
        words_free(words);
        return ok;
}

/* End LINE at its comment: a '#' at the beginning of a word and outside quotes. */
static void config_cut_comment(char *line)
{
        char quote = 0;

        for (char *at = line; *at; at++) {
                if (*at == '\\' && quote != '\'' && at[1])
                        at++;
                else if (quote && *at == quote)
                        quote = 0;
                else if (!quote && (*at == '\'' || *at == '"'))
                        quote = *at;
                else if (!quote && *at == '#' && (at == line || strchr(" \t", at[-1])))
                        *at = 0;
                if (!*at)
                        return;
        }
}

static bool config_take_lines(struct config *c, char *text, const char *path)
{
        char *line;
        bool ok = true;

        for (int number = 1; ok && (line = strsep(&text, "\n")); number++) {
                struct str place = { 0 };

                str_format(&place, "%s:%d", path, number);
                config_cut_comment(line);
                ok = config_take(c, line, str_get(&place));
                str_free(&place);
        }
        return ok;
}

/* Why the file is left out; NULL: it may be read. */
static const char *config_objection(const struct stat *st)
{
        if (!S_ISREG(st->st_mode))
                return "it is not a regular file";
        if (st->st_uid != geteuid() && st->st_uid != 0)
                return "it belongs to another user";
        if (st->st_mode & (S_IWGRP | S_IWOTH))
                return "others can write to it: chmod go-w";
        return NULL;
}

/* Programs with raised rights (setuid, file capabilities) are started by somebody who must not say
 * what is done with these rights. */
bool config_is_raised(void)
{
        return getauxval(AT_SECURE) || getuid() != geteuid() || getgid() != getegid();
}

/* A file that is not there is no mistake, nor is a home that belongs to somebody else (HOME stayed
 * at a change of user); one that cannot be used is reported and left out. */
static bool config_take_file(struct config *c, const char *path, bool careful)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (careful ? O_NOFOLLOW : 0));
        struct str text = { 0 };
        const char *objection = NULL;
        struct stat st;
        bool ok = true;

        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && !careful)))
                return true;
        if (fd < 0 && careful && errno == ELOOP)
                objection = "it is a symbolic link";
        else if (fd < 0 || fstat(fd, &st) != 0)
                objection = strerror(errno);
        else if (careful)
                objection = config_objection(&st);
        if (!objection && !io_read(fd, &text))
                objection = strerror(errno);
        if (objection)
                message("%s is ignored: %s", path, objection);
        else if (text.length)
                ok = config_take_lines(c, text.data, path);
        str_free(&text);
        if (fd >= 0)
                close(fd);
        return ok;
}

static bool config_take_user_file(struct config *c)
{
        const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
        struct str path = { 0 };
        bool ok = true;

        if (base && base[0] == '/')
                str_format(&path, "%s/seep/config", base);
        else if (home && home[0] == '/')
                str_format(&path, "%s/.config/seep/config", home);
        if (path.length)
                ok = config_take_file(c, str_get(&path), false);
        str_free(&path);
        return ok;
}

static bool config_take_project_file(struct config *c)
{
        bool ok;

        c->project = true;
        ok = config_take_file(c, "./.seeprc", true);
        c->project = false;
        return ok;
}

static bool config_take_environment(struct config *c)
{
        const char *options = getenv("SEEP_OPTIONS");
        struct str line = { 0 };
        bool ok;

        if (!options || c->command->run != cmd_record)
                return true;
        if (config_is_raised()) {
                message("SEEP_OPTIONS is ignored: seep runs with elevated privileges");
                return true;
        }
        str_format(&line, "record %s", options);
        ok = config_take(c, str_get(&line), "SEEP_OPTIONS");
        str_free(&line);
        return ok;
}

/* A file that the user named must be there. */
static bool config_take_named(struct config *c, const char *path)
{
        if (access(path, R_OK) == 0)
                return config_take_file(c, path, false);
        message("--config %s: %s", path, strerror(errno));
        return false;
}

/* Whether what follows the first operand belongs to a program or to another command. */
static bool passes_words_on(const struct command *command)
{
        return command->run == cmd_record || command->run == cmd_serve ||
               command->run == cmd_connect;
}

/* The values of --config in LINE, ended by NULL; to be freed.  NULL: LINE is wrong, which is
 * told. */
static const char **config_named(const struct command *command, char **line)
{
        struct option_parser parser;
        const char **files;
        int which = OPTION_DONE, count = 0, found = 0;
        char **copy;

        while (line && line[count])
                count++;
        copy = heap_zero((size_t)count + 1, sizeof *copy); /* getopt sorts it */
        files = heap_zero((size_t)count + 1, sizeof *files);
        if (count)
                memcpy(copy, line, (size_t)count * sizeof *copy);
        (passes_words_on(command) ? option_start_program
                                  : option_start)(&parser, command->name, command->options, count,
                                                  copy);
        parser.with_config = true;
        while (count && (which = option_next(&parser)) >= 0)
                if (option_is_config(&parser, which))
                        files[found++] = parser.value;
        free(copy);
        if (which != OPTION_WRONG)
                return files;
        free(files);
        return NULL;
}

/* The files of --config; none: those in their usual places. */
static bool config_take_files(struct config *c, char **line)
{
        const char **files = config_named(c->command, line);
        bool ok = files != NULL;

        if (ok && !files[0]) {
                ok = config_take_file(c, SEEP_SYSCONFDIR "/seep/config", false);
                if (!config_is_raised())
                        ok = ok && config_take_user_file(c) && config_take_project_file(c);
        }
        for (int i = 0; ok && files[i]; i++)
                ok = config_take_named(c, files[i]);
        free(files);
        return ok;
}

char **config_options(const struct command *command, char **line, int *count)
{
        struct config c = { .command = command, .words = heap_zero(1, sizeof *c.words) };
        bool ok = config_take_files(&c, line) && config_take_environment(&c);

        if (!ok) {
                words_free(c.words);
                c.words = NULL;
        } else if (c.places.length) {
                message_usage_also(str_get(&c.places));
        }
        str_free(&c.places);
        *count = c.count;
        return c.words;
}
