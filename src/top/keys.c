/* SPDX-License-Identifier: MIT */
#include "top/keys.h"

#include <stdio.h>
#include <string.h>

#define KEYS_TYPED_MAX 200u
#define KEYS_SIDEWAYS 8u /* columns */

const struct keys_help keys_help[] = {
#define KEYS_HELP(id, key, name, word, text, when) { name, word, text, when },
        KEYS_LIST(KEYS_HELP)
#undef KEYS_HELP
        { NULL, NULL, NULL, 0 }
};

static const struct {
        uint32_t key;
        enum keys_action action;
        unsigned when;
} bindings[] = {
#define KEYS_BINDING(id, key, name, word, text, when) { key, KEYS_DO_##id, when },
        KEYS_LIST(KEYS_BINDING)
#undef KEYS_BINDING
        { '>', KEYS_DO_SORT, KEYS_ALWAYS },
        { '?', KEYS_DO_HELP, KEYS_ALWAYS },
        { 'Q', KEYS_DO_QUIT, KEYS_ALWAYS },
        { KEYS_ESCAPE, KEYS_DO_CANCEL, KEYS_LIVE },
        { '=', KEYS_DO_FASTER, KEYS_REPLAY },
        { '-', KEYS_DO_SLOWER, KEYS_REPLAY },
        { KEYS_RIGHT, KEYS_DO_FORTH, KEYS_REPLAY },
        { '[', KEYS_DO_MARK_BACK, KEYS_REPLAY },
        { 'e', KEYS_DO_END, KEYS_REPLAY },
};

/* ---- typing ---- */

static void erase(struct str *text)
{
        while (text->length && ((unsigned char)text->data[text->length - 1] & 0xc0) == 0x80)
                text->data[--text->length] = 0;
        if (text->length)
                text->data[--text->length] = 0;
}

static void add_character(struct str *text, uint32_t c)
{
        if (text->length >= KEYS_TYPED_MAX || c < ' ' || c == 127 || (c >= 0x80 && c < 0xa0))
                return;
        if (c < 0x80) {
                str_char(text, (char)c);
        } else if (c < 0x800) {
                str_char(text, (char)(0xc0 | c >> 6));
                str_char(text, (char)(0x80 | (c & 0x3f)));
        } else if (c < 0x10000) {
                str_char(text, (char)(0xe0 | c >> 12));
                str_char(text, (char)(0x80 | (c >> 6 & 0x3f)));
                str_char(text, (char)(0x80 | (c & 0x3f)));
        } else {
                str_char(text, (char)(0xf0 | c >> 18));
                str_char(text, (char)(0x80 | (c >> 12 & 0x3f)));
                str_char(text, (char)(0x80 | (c >> 6 & 0x3f)));
                str_char(text, (char)(0x80 | (c & 0x3f)));
        }
}

static enum keys_action type(struct keys_state *s, uint32_t key)
{
        enum keys_prompt prompt = s->prompt;

        if (key == KEYS_ENTER || key == KEYS_ESCAPE)
                s->prompt = KEYS_NO_PROMPT;
        if (key == KEYS_ENTER)
                return prompt == KEYS_PROMPT_FILTER ? KEYS_DO_TYPED_FILTER : KEYS_DO_TYPED_THREAD;
        if (key == KEYS_BACKSPACE)
                erase(&s->typed);
        else if (key == 'U' - '@') /* Ctrl-U, as in shells */
                str_clear(&s->typed);
        else if (key < 0x110000)
                add_character(&s->typed, key);
        return KEYS_DRAW;
}

static enum keys_action ask(struct keys_state *s, enum keys_prompt prompt, const struct str *now)
{
        s->prompt = prompt;
        str_clear(&s->typed);
        str_text(&s->typed, str_get(now));
        return KEYS_DRAW;
}

/* ---- the pane ---- */

void keys_open(struct keys_state *s, const char *title, struct str *text)
{
        str_free(&s->pane.text);
        s->pane = (struct keys_pane){ .text = *text, .open = true };
        snprintf(s->pane.title, sizeof s->pane.title, "%s", title);
        *text = (struct str){ 0 };
}

uint32_t keys_pane_lines(const struct keys_state *s)
{
        uint32_t lines = 0;

        for (const char *at = str_get(&s->pane.text); *at; lines++) {
                at += strcspn(at, "\n");
                at += *at == '\n';
        }
        return lines;
}

/* Where a move leads from AT among COUNT things of which PAGE are visible; AT
 * itself where KEY is no move. */
static uint32_t moved(uint32_t key, uint32_t at, uint32_t count, uint32_t page)
{
        uint32_t last = count ? count - 1 : 0, step = page > 1 ? page - 1 : 1;

        switch (key) {
        case KEYS_UP:
        case 'k':
                return at ? at - 1 : 0;
        case KEYS_DOWN:
        case 'j':
                return at < last ? at + 1 : last;
        case KEYS_PAGE_UP:
                return at > step ? at - step : 0;
        case KEYS_PAGE_DOWN:
                return at + step < last ? at + step : last;
        case KEYS_HOME:
                return 0;
        case KEYS_END:
                return last;
        default:
                return at;
        }
}

static enum keys_action press_pane(struct keys_state *s, uint32_t key)
{
        struct keys_pane *pane = &s->pane;
        uint32_t lines = keys_pane_lines(s), tops = lines > s->page ? lines - s->page + 1 : 1;

        if (key == KEYS_RIGHT)
                pane->left += KEYS_SIDEWAYS;
        else if (key == KEYS_LEFT)
                pane->left -= pane->left < KEYS_SIDEWAYS ? pane->left : KEYS_SIDEWAYS;
        else if (key == 'q' || key == KEYS_ESCAPE || key == KEYS_ENTER || key == KEYS_BACKSPACE ||
                 key == 'h' || key == '?')
                pane->open = false;
        else
                pane->top = moved(key == ' ' ? KEYS_PAGE_DOWN : key, pane->top, tops, s->page);
        return KEYS_DRAW;
}

/* ---- the table ---- */

void keys_choose(struct keys_state *s, const struct rows *r, uint32_t index)
{
        uint32_t page = s->page ? s->page : 1;

        s->index = index < r->count ? index : r->count ? r->count - 1 : 0;
        s->chosen = r->count ? r->all[s->index].key : 0;
        if (s->index < s->first)
                s->first = s->index;
        if (s->index >= s->first + page)
                s->first = s->index - page + 1;
        if (s->first + page > r->count)
                s->first = r->count > page ? r->count - page : 0;
}

static enum keys_action sort_by(struct keys_state *s, int step)
{
        s->sort = (enum rows_column)(((int)s->sort + step + ROWS_COLUMN_COUNT) % ROWS_COLUMN_COUNT);
        s->ascending = false;
        s->first = s->index = 0;
        s->chosen = 0;
        return KEYS_ROWS;
}

static enum keys_action press_table(struct keys_state *s, uint32_t key)
{
        if (key == '<')
                return sort_by(s, -1);
        for (size_t i = 0; i < sizeof bindings / sizeof bindings[0]; i++) {
                if (bindings[i].key != key || !(bindings[i].when & s->when))
                        continue;
                switch (bindings[i].action) {
                case KEYS_DO_SORT:
                        return sort_by(s, 1);
                case KEYS_DO_REVERSE:
                        s->ascending = !s->ascending;
                        return KEYS_ROWS;
                case KEYS_DO_FRAMES:
                        s->all_frames = !s->all_frames;
                        return KEYS_ROWS;
                case KEYS_DO_MEMORY:
                        s->memory = s->memory == SELECT_BOTH ? SELECT_HEAP : s->memory + 1;
                        return KEYS_ROWS;
                case KEYS_DO_FILTER:
                        return ask(s, KEYS_PROMPT_FILTER, &s->filter);
                case KEYS_DO_THREAD:
                        return ask(s, KEYS_PROMPT_THREAD, &s->thread);
                case KEYS_DO_PAUSE:
                        s->paused = !s->paused;
                        return KEYS_DRAW;
                default:
                        return bindings[i].action;
                }
        }
        return KEYS_NOTHING;
}

enum keys_action keys_press(struct keys_state *s, uint32_t key, uint32_t row_count)
{
        uint32_t to;

        str_clear(&s->message);
        if (s->prompt != KEYS_NO_PROMPT)
                return type(s, key);
        if (s->pane.open)
                return press_pane(s, key);
        to = moved(key, s->index, row_count, s->page);
        if (to != s->index) {
                s->index = to;
                return KEYS_DO_MOVE;
        }
        return press_table(s, key);
}

void keys_free(struct keys_state *s)
{
        str_free(&s->filter);
        str_free(&s->thread);
        str_free(&s->typed);
        str_free(&s->message);
        str_free(&s->pane.text);
}
