/* SPDX-License-Identifier: MIT */
#include "cli/shell_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "cli/words.h"

static const char blanks[] = " \t\r", stops[] = " \t\r\n;|>";

static const char *skip(const char *at)
{
        return at + strspn(at, blanks);
}

static bool is_end(const char *at)
{
        return !*at || *at == ';' || *at == '\n';
}

static void add_word(struct shell_line *line, const char *word)
{
        line->words = heap_grow(line->words, (size_t)line->count + 2, sizeof *line->words);
        line->words[line->count++] = heap_text(word);
        line->words[line->count] = NULL;
}

/* Behind the first '>'. */
static const char *take_file(const char *at, struct shell_line *line, struct err *e)
{
        struct str name = { 0 };

        line->to = *at == '>' ? SHELL_TO_END : *at == '!' ? SHELL_TO_REPLACE : SHELL_TO_FILE;
        at = skip(at + (line->to != SHELL_TO_FILE));
        at = words_take(at, stops, &name);
        if (!at)
                err_set(e, ERR_EXIT_USAGE, "a quote is not closed behind '>'");
        else if (!name.length)
                err_set(e, ERR_EXIT_USAGE, "'>': into which file?");
        else if (line->where)
                err_set(e, ERR_EXIT_USAGE, "'>%s': one place for the result is enough",
                        str_get(&name));
        else
                line->where = heap_text(str_get(&name));
        str_free(&name);
        return e->exit_code ? NULL : skip(at);
}

/* Behind the '|': as it is, with its quotes. */
static const char *take_pipe(const char *at, struct shell_line *line, struct err *e)
{
        const char *start = skip(at);
        struct str unused = { 0 };

        at = words_take(start, "\n;", &unused);
        str_free(&unused);
        if (!at)
                err_set(e, ERR_EXIT_USAGE, "a quote is not closed behind '|'");
        else if (at == start)
                err_set(e, ERR_EXIT_USAGE, "'|': to which command?");
        else if (line->where)
                err_set(e, ERR_EXIT_USAGE, "'|': one place for the result is enough");
        if (e->exit_code)
                return NULL;
        line->to = SHELL_TO_PIPE;
        line->where = heap_zero((size_t)(at - start) + 1, 1);
        memcpy(line->where, start, (size_t)(at - start));
        return at;
}

static const char *take_plain(const char *at, struct shell_line *line, struct err *e)
{
        struct str word = { 0 };

        at = words_take(at, stops, &word);
        if (!at)
                err_set(e, ERR_EXIT_USAGE, "a quote is not closed");
        else if (line->where)
                err_set(e, ERR_EXIT_USAGE, "'%s' stands behind the place for the result",
                        str_get(&word));
        else
                add_word(line, str_get(&word));
        str_free(&word);
        return e->exit_code ? NULL : skip(at);
}

/* At the start of a command only: #3 is also a site. */
static const char *skip_comment(const char *at)
{
        return *at == '#' ? at + strcspn(at, "\n") : at;
}

int shell_line_take(const char **text, struct shell_line *line, struct err *e)
{
        const char *at = *text;

        *line = (struct shell_line){ 0 };
        *e = (struct err){ 0 };
        while (*(at = skip_comment(skip(at))) && is_end(at))
                at++;
        while (at && !is_end(at)) {
                if (*at == '>')
                        at = take_file(at + 1, line, e);
                else if (*at == '|')
                        at = take_pipe(at + 1, line, e);
                else
                        at = take_plain(at, line, e);
        }
        if (at && !line->count && line->where) {
                err_set(e, ERR_EXIT_USAGE, "a command is expected in front of '%s'",
                        line->to == SHELL_TO_PIPE ? "|" : ">");
                at = NULL;
        }
        *text = at ? at : *text + strlen(*text);
        if (at && line->count)
                return 1;
        shell_line_free(line);
        return at ? 0 : -1;
}

void shell_line_free(struct shell_line *line)
{
        if (line->words)
                words_free(line->words);
        free(line->where);
        *line = (struct shell_line){ 0 };
}
