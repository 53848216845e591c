/* SPDX-License-Identifier: MIT */
/*
 * screen.h -- the view as lines of text, for a terminal or a script.
 *
 * Room:   outside.  Knows no terminal: terminal.c draws the lines, cli prints them.
 * Keeps:  no line is wider than asked for, no text of the program is more than text.
 */
#ifndef SEEP_TOP_SCREEN_H
#define SEEP_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "top/keys.h"
#include "top/picture.h"
#include "top/rows.h"

enum screen_style { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_HEADING, SCREEN_CHOSEN, SCREEN_WARNING,
                    SCREEN_DIM };

struct screen_line {
        struct str text;
        enum screen_style style;
        uint32_t from, to; /* columns in another style; 0, 0: none */
        enum screen_style part;
};

struct screen {
        struct screen_line *lines;
        uint32_t count;
        bool prompt; /* the cursor is at the end of the last line */
};

struct screen_input {
        const struct picture *picture;
        const struct rows *rows;
        const struct keys_state *state;
        struct lookup *known; /* of stack_line.h; for as long as the resolver lives */
        const char *ended; /* why there is no further look; NULL: there is */
        uint32_t columns, lines; /* lines 0: as many as needed, for a script */
        uint32_t limit;    /* rows; 0: all */
        bool utf8;
};

/* Rows of the table, or lines of the pane, that fit into LINES. */
uint32_t screen_page(uint32_t lines);

void screen_make(struct screen *s, const struct screen_input *in);
void screen_free(struct screen *s);

/* Append all lines, for a script. */
void screen_text(const struct screen *s, struct str *out);

/* ---- for its rooms ---- */

/* Append a curve of the heap, WIDTH columns wide; and the time that it covers. */
void spark_write(const struct screen_input *in, uint32_t width, struct str *out);
void spark_span(const struct screen_input *in, struct str *out);

/* Fill LINE with the names of the columns, or with row INDEX. */
void table_heading(const struct screen_input *in, struct screen_line *line);
void table_row(const struct screen_input *in, uint32_t index, struct screen_line *line);

#endif
