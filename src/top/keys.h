/* SPDX-License-Identifier: MIT */
/*
 * keys.h -- the effect of keys on the state of the view.
 *
 * Room:   outside.  Knows no terminal; top.c acts on what keys_press() returns.
 */
#ifndef SEEP_TOP_KEYS_H
#define SEEP_TOP_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "report/group.h"
#include "top/rows.h"

/* Keys that are no characters. */
enum {
        KEYS_UP = 0x110000,
        KEYS_DOWN,
        KEYS_LEFT,
        KEYS_RIGHT,
        KEYS_PAGE_UP,
        KEYS_PAGE_DOWN,
        KEYS_HOME,
        KEYS_END,
        KEYS_ENTER,
        KEYS_BACKSPACE,
        KEYS_ESCAPE
};

/* When a key works. */
enum { KEYS_LIVE = 1, KEYS_REPLAY = 2, KEYS_ALWAYS = 3 };

/* id, key, its name, one word for the last line ("" none), what it does, when */
#define KEYS_LIST(X)                                                                               \
        X(PLAY, ' ', "space", "play", "start or stop time", KEYS_REPLAY)                           \
        X(FASTER, '+', "+ -", "", "faster, slower", KEYS_REPLAY)                                   \
        X(BACK, KEYS_LEFT, "Left Right", "", "previous, next moment", KEYS_REPLAY)                 \
        X(MARK, ']', "[ ]", "marks", "to the previous, next tag or snapshot", KEYS_REPLAY)         \
        X(START, 'b', "b e", "", "to the beginning, to the end", KEYS_REPLAY)                      \
        X(SORT, 's', "s > <", "sort", "sort by the next column, or the one before", KEYS_ALWAYS)   \
        X(REVERSE, 'r', "r", "", "reverse the order", KEYS_ALWAYS)                                 \
        X(GROUP, 'g', "g", "group", "group by stack, function, file, module, thread, size",        \
          KEYS_ALWAYS)                                                                             \
        X(THREAD, 't', "t", "thread", "only threads whose name or number matches", KEYS_ALWAYS)    \
        X(FILTER, '/', "/", "filter", "only stacks with a matching function (regular expression)", \
          KEYS_ALWAYS)                                                                             \
        X(FRAMES, 'a', "a", "", "all frames, or just your own code again", KEYS_ALWAYS)            \
        X(MEMORY, 'm', "m", "", "the heap, what mmap gave, or both", KEYS_ALWAYS)                  \
        X(STACK, KEYS_ENTER, "Enter", "stack", "the call stack of the line, with its source",      \
          KEYS_ALWAYS)                                                                             \
        X(LEAKS, 'l', "l", "leaks", "search for leaks", KEYS_ALWAYS)                               \
        X(WHY, 'w', "w", "why", "what keeps a typical block of the line alive", KEYS_ALWAYS)       \
        X(SNAPSHOT, 'n', "n", "snapshot", "take a snapshot", KEYS_LIVE)                            \
        X(DIFF, 'd', "d", "diff", "compare with the last snapshot, with now, with 60 s ago",       \
          KEYS_ALWAYS)                                                                             \
        X(PAUSE, 'p', "p", "pause", "freeze the display (not the program)", KEYS_LIVE)             \
        X(MOVE, KEYS_UP, "Up Down", "", "choose a line (also PgUp, PgDn, Home, End)", KEYS_ALWAYS) \
        X(HELP, 'h', "h ?", "help", "this list", KEYS_ALWAYS)                                      \
        X(QUIT, 'q', "q", "quit", "leave; a search is cancelled first (also Escape)", KEYS_ALWAYS)

enum keys_action {
        KEYS_NOTHING,
        KEYS_DRAW, /* the state is another one; no row is */
        KEYS_ROWS, /* other rows, or another order */
#define KEYS_ENUM(id, key, name, word, text, when) KEYS_DO_##id,
        KEYS_LIST(KEYS_ENUM)
#undef KEYS_ENUM
        KEYS_DO_SLOWER,
        KEYS_DO_FORTH,
        KEYS_DO_MARK_BACK,
        KEYS_DO_END,
        KEYS_DO_CANCEL, /* the search that is under way */
        KEYS_DO_TYPED_FILTER, /* state.typed is a new filter ... */
        KEYS_DO_TYPED_THREAD  /* ... or thread */
};

struct keys_help {
        const char *name, *word, *text;
        unsigned when;
};
extern const struct keys_help keys_help[]; /* ends with a name of NULL */

enum keys_prompt { KEYS_NO_PROMPT, KEYS_PROMPT_FILTER, KEYS_PROMPT_THREAD };

struct keys_pane {
        struct str text;
        char title[128];
        uint32_t top, left; /* first line and column shown */
        bool open;
};

struct keys_state {
        unsigned when; /* KEYS_LIVE or KEYS_REPLAY */
        enum rows_column sort;
        bool ascending;
        enum group_kind group;
        bool all_frames;           /* also those of libraries, and wrappers */
        enum select_memory memory;
        struct str filter, thread; /* as typed; empty: none */
        uint64_t chosen;           /* key of the chosen row */
        uint32_t index, first;     /* where it is, and the first row on the screen */
        uint32_t page;             /* rows on the screen */
        bool paused, playing;
        double speed;
        enum keys_prompt prompt;
        struct str typed;
        struct str message;        /* until the next key */
        struct keys_pane pane;
};

/* What KEY (a character, or one of the above) leads to, with ROW_COUNT rows. */
enum keys_action keys_press(struct keys_state *s, uint32_t key, uint32_t row_count);

/* Show TEXT (moved) in place of the table. */
void keys_open(struct keys_state *s, const char *title, struct str *text);

/* Lines of the pane. */
uint32_t keys_pane_lines(const struct keys_state *s);

/* Choose row INDEX of R, or the nearest that there is, and have it on the screen. */
void keys_choose(struct keys_state *s, const struct rows *r, uint32_t index);

void keys_free(struct keys_state *s);

#endif
