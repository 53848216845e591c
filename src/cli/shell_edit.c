/* SPDX-License-Identifier: MIT */
#include "cli/shell_edit.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/heap.h"
#include "cli/pager.h"
#include "cli/shell_complete.h"
#include "cli/shell_history.h"

struct shell_editor {
        struct shell *shell;
        EditLine *line;
        History *recalled; /* what libedit goes through: the lines of kept */
        struct shell_history kept;
        enum shell_edited ended; /* why the last read did not give a character */
};

/* ---- reading ---- */

static char *say_prompt(EditLine *line)
{
        static char prompt[] = SHELL_PROMPT;

        (void)line;
        return prompt;
}

static struct shell_editor *editor_of(EditLine *line)
{
        void *editor = NULL;

        el_get(line, EL_CLIENTDATA, &editor);
        return editor;
}

/* One character, in however many bytes; -1: there will be none, and why is in the editor. */
static int read_character(EditLine *line, wchar_t *out)
{
        struct shell_editor *e = editor_of(line);
        mbstate_t state = { 0 };

        for (;;) {
                size_t length;
                char byte;
                ssize_t got;

                e->ended = shell_edit_wait();
                if (e->ended != SHELL_EDITED)
                        return -1;
                got = read(STDIN_FILENO, &byte, 1);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0) {
                        e->ended = SHELL_OVER;
                        return got < 0 ? -1 : 0;
                }
                length = mbrtowc(out, &byte, 1, &state);
                if (length == (size_t)-1) { /* no character of this language: as it is */
                        *out = (unsigned char)byte < 128 ? (wchar_t)byte : L'?';
                        return 1;
                }
                if (length != (size_t)-2)
                        return 1;
        }
}

enum shell_edited shell_edit_line(struct shell_editor *e, struct str *out)
{
        int count = 0;
        const char *text;

        str_clear(out);
        e->ended = SHELL_OVER;
        el_set(e->line, EL_PREP_TERM, 1); /* before the prompt: whoever sees it may press Ctrl-D */
        text = el_gets(e->line, &count);
        if (!text || count <= 0)
                return e->ended == SHELL_EDITED ? SHELL_OVER : e->ended;
        if (text[count - 1] == '\n')
                count--;
        str_bytes(out, text, (size_t)count);
        return SHELL_EDITED;
}

/* ---- TAB ---- */

/* How many bytes all offers begin with. */
static size_t common_length(const struct shell_offers *o)
{
        size_t length = strlen(o->at[0]);

        for (uint32_t i = 1; i < o->count; i++) {
                size_t same = 0;

                while (same < length && o->at[i][same] == o->at[0][same])
                        same++;
                length = same;
        }
        return length;
}

static void list_offers(const struct shell_offers *o)
{
        enum { MOST = 200 };
        uint32_t columns = pager_columns(), width = 0, shown = o->count < MOST ? o->count : MOST;
        uint32_t in_line, lines;

        for (uint32_t i = 0; i < shown; i++)
                width = strlen(o->at[i]) > width ? (uint32_t)strlen(o->at[i]) : width;
        width += 2;
        in_line = columns > width ? columns / width : 1;
        lines = (shown + in_line - 1) / in_line;
        putchar('\n');
        for (uint32_t row = 0; row < lines; row++) {
                for (uint32_t i = row; i < shown; i += lines)
                        printf("%-*s", i + lines < shown ? (int)width : 0, o->at[i]);
                putchar('\n');
        }
        if (shown < o->count)
                printf("... and %u others\n", o->count - shown);
        fflush(stdout);
}

static size_t characters(const char *bytes, size_t count)
{
        size_t found = 0;

        for (size_t i = 0; i < count; i++)
                found += ((unsigned char)bytes[i] & 0xc0) != 0x80;
        return found;
}

static void replace(EditLine *line, size_t count, const char *word, bool whole)
{
        struct str text = { 0 };

        str_text(&text, word);
        if (whole && text.length && text.data[text.length - 1] != '/')
                str_char(&text, ' ');
        el_deletestr(line, (int)count);
        el_insertstr(line, str_get(&text));
        str_free(&text);
}

static unsigned char complete(EditLine *line, int key)
{
        const LineInfo *now = el_line(line);
        struct str typed = { 0 };
        struct shell_offers o;
        unsigned char done = CC_ERROR;

        (void)key;
        str_bytes(&typed, now->buffer, (size_t)(now->cursor - now->buffer));
        shell_complete(editor_of(line)->shell, str_get(&typed), &o);
        if (o.count) {
                size_t length = common_length(&o), count;
                struct str word = { 0 };

                count = characters(typed.data + typed.length - o.typed, o.typed);
                str_bytes(&word, o.at[0], length);
                if (o.count > 1 && length <= o.typed) {
                        list_offers(&o);
                        done = CC_REDISPLAY;
                } else {
                        replace(line, count, str_get(&word), o.count == 1);
                        done = CC_REFRESH;
                }
                str_free(&word);
        }
        shell_complete_free(&o);
        str_free(&typed);
        return done;
}

/* ---- history ---- */

static void recall(struct shell_editor *e)
{
        HistEvent event;

        history(e->recalled, &event, H_CLEAR);
        for (uint32_t i = 0; i < e->kept.count; i++)
                history(e->recalled, &event, H_ENTER, e->kept.lines[i]);
}

void shell_edit_remember(struct shell_editor *e, const char *line)
{
        shell_history_add(&e->kept, line);
        recall(e);
}

/* ---- the editor ---- */

struct shell_editor *shell_edit_open(struct shell *s)
{
        struct shell_editor *e = heap_zero(1, sizeof *e);
        HistEvent event;

        setlocale(LC_CTYPE, "");
        e->shell = s;
        e->line = el_init("seep", stdin, stdout, stderr);
        e->recalled = history_init();
        if (!e->line || !e->recalled)
                heap_none();
        el_set(e->line, EL_CLIENTDATA, e);
        el_set(e->line, EL_PROMPT, say_prompt);
        el_set(e->line, EL_EDITOR, "emacs");
        el_set(e->line, EL_GETCFN, read_character);
        el_set(e->line, EL_ADDFN, "seep-complete", "complete a word", complete);
        el_set(e->line, EL_BIND, "^I", "seep-complete", NULL);
        el_set(e->line, EL_BIND, "^R", "em-inc-search-prev", NULL);
        history(e->recalled, &event, H_SETSIZE, 1000);
        el_set(e->line, EL_HIST, history, e->recalled);
        el_source(e->line, NULL); /* the user's own .editrc */
        shell_history_open(&e->kept);
        recall(e);
        return e;
}

void shell_edit_close(struct shell_editor *e)
{
        history_end(e->recalled);
        el_end(e->line);
        shell_history_close(&e->kept);
        free(e);
}
