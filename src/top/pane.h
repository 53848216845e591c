/* SPDX-License-Identifier: MIT */
/*
 * pane.h -- texts in place of the table: a call stack with its source, leaks, what keeps a block
 * alive, help.
 */
#ifndef SEEP_TOP_PANE_H
#define SEEP_TOP_PANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "names/symbol.h"
#include "top/picture.h"
#include "top/rows.h"

/* What the texts are written for. */
struct pane_input {
        const struct picture *picture;
        const struct symbol_options *names;
        struct wrappers *wrappers;
        uint32_t columns;
};

/* Append the numbers of ROW and the stack of its largest site, with the source
 * around where it is found. */
void pane_stack(const struct pane_input *in, const struct row *row, struct str *out);

/* Append what the search in P found.  false: it was not searched (E). */
bool pane_leaks(const struct pane_input *in, const struct profile *p, struct str *out,
                struct err *e);

/* Append what keeps the blocks of ROW alive; P is a recording with a search, of the
 * same process as the picture. */
bool pane_why(const struct pane_input *in, const struct profile *p, const struct row *row,
              struct str *out, struct err *e);

/* Append the keys that work WHEN (KEYS_*), and what the columns mean. */
void pane_help(unsigned when, struct str *out);

#endif
