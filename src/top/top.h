/* SPDX-License-Identifier: MIT */
/* top.h -- `seep top`: the live view of a process, and the replay of a recording. */
#ifndef SEEP_TOP_TOP_H
#define SEEP_TOP_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "names/symbol.h"
#include "query/filter.h"
#include "query/moment.h"
#include "query/wrapper.h"
#include "top/rows.h"

#define TOP_INTERVAL_MS 1000u

/* An expression of the command line: -x, --module, --exclude-module. */
struct top_word {
        enum filter_kind kind;
        const char *text;
};

struct top_options {
        uint32_t pid;                    /* of a process; 0: RECORDING */
        const struct profile *recording;
        struct moment at;                /* of a recording: where to begin; MOMENT_NONE: the end */
        const struct symbol_options *names;
        struct wrappers *wrappers;
        bool all_frames;                 /* are shown, until a key says otherwise */
        const struct top_word *words;
        uint32_t word_count;
        const char *filter, *thread;     /* expressions that keys can change; "" none */
        enum rows_column sort;
        enum group_kind group;
        uint32_t limit;                  /* rows; 0: all */
        uint64_t interval_ms;
        bool color, utf8;
        uint32_t columns;                /* of text for a script */
        bool (*print)(const struct str *text, struct err *e); /* for a script: a screen */
};

/* In the terminal, until the user leaves.  *SIGNAL: the signal that ended it, 0 none. */
bool top_view(const struct top_options *o, int *signal, struct err *e);

/* COUNT screens as text: a process once per interval, until it ends; a recording at as many
 * moments, the last of them its end. */
bool top_batch(const struct top_options *o, uint32_t count, struct err *e);

#endif
