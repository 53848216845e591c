/* SPDX-License-Identifier: MIT */
/* top_parts.h -- what the files of top.h share: one view, of a process or a recording. */
#ifndef SEEP_TOP_TOP_PARTS_H
#define SEEP_TOP_TOP_PARTS_H

#include "top/question.h"
#include "top/keys.h"
#include "top/live.h"
#include "top/pane.h"
#include "top/player.h"
#include "top/screen.h"
#include "top/top.h"

/* What the second column compares with. */
enum top_base { TOP_BASE_MINUTE, TOP_BASE_SNAPSHOT, TOP_BASE_NOW };

struct top {
        const struct top_options *o;
        struct keys_state k;
        struct live live;
        struct player player;
        struct filter filter, threads; /* of names and threads; of threads alone */
        struct lookup known;         /* of stack_line.h */
        struct picture picture;
        struct rows rows;
        enum top_base base;
        struct history_moment pin;        /* of TOP_BASE_SNAPSHOT and TOP_BASE_NOW */
        char pin_name[16];             /* "snap 2"; "" for the time since */
        struct profile_slice shown, shown_then; /* what the rows are of */
        uint64_t shown_ns;             /* when they were made */
        bool shown_still;              /* their rates are all zero */
        struct err ended;              /* text not "": there is no further look */
};

/* The expressions of the user; false: one of them is wrong, and E says so. */
bool top_filters(struct top *t, struct err *e);

/* Picture and rows anew, after a look, a move in time, or another wish. */
bool top_refresh(struct top *t, struct err *e);

/* After a look: the same, unless nothing happened that rows tell of (but their ages, which
 * may wait for some seconds). */
bool top_follow(struct top *t, struct err *e);

/* What is shown now, in COLUMNS and LINES (0: for a script). */
void top_screen(struct top *t, uint32_t columns, uint32_t lines, struct screen *s);

/* Take the answer of a look. */
bool top_take_look(struct top *t, struct question *a, struct err *e);

bool top_open(struct top *t, const struct top_options *o, struct err *e);
void top_free(struct top *t);

/* The chosen row; NULL: there is none. */
const struct row *top_row(const struct top *t);
struct pane_input top_pane(const struct top *t, uint32_t columns);

/* The next thing to compare with; what it is comes as a message. */
void top_rebase(struct top *t);

/* The next kind of groups that is known at this moment. */
void top_regroup(struct top *t);

#endif
