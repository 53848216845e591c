/* SPDX-License-Identifier: MIT */
/*
 * views.h -- views for people: each appends what query/ found out to a text.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_VIEWS_H
#define SEEP_REPORT_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/diff.h"
#include "query/findings.h"
#include "query/leaks.h"
#include "query/owners.h"
#include "query/select.h"
#include "query/suppress.h"
#include "query/why.h"

/* What is lost. */
void leaks_text(const struct leaks *l, struct symbols *s, const struct leaks_options *o, struct str *out);

/* A rule for each row that is shown. */
void leaks_rules(const struct leaks *l, struct symbols *s, const struct leaks_options *o, enum suppress_form form, struct str *out);

/* The same for each of the first o->limit rows alone (0: all), into TEXTS, which has room for l->count; NULL where no rule is
 * wanted.  To be freed one by one. */
void leaks_rule_texts(const struct leaks *l, struct symbols *s, const struct leaks_options *o, enum suppress_form form, char **texts);

struct errors_options {
        uint32_t limit;      /* 0: all */
        const uint8_t *skip; /* by error: 1 leaves it out.  NULL: none */
};

/* Append double frees, mismatched releases and frees of unknown memory, each with both stacks. */
void errors_write(const struct selection *sel, struct symbols *s, const struct errors_options *options, struct str *out);

/* What changed between two recordings. */
void diff_text(const struct diff *d, const struct diff_options *options, struct str *out);
void diff_memlog(const struct diff *d, const struct diff_options *options, struct str *out);
void diff_csv(const struct diff *d, const struct diff_options *options, struct str *out);

/* Broken budgets, and what broke them. */
struct findings_text_options {
        uint32_t limit; /* findings told with their stacks; 0: all */
        uint32_t columns; /* of the terminal, in which lines of stacks are cut; 0: whole lines */
        bool quiet;     /* broken budgets only */
        int color;
};
void findings_text(const struct findings *f, const struct findings_text_options *o, struct str *out);

/* What keeps a block alive; the heap by owner (P must have a graph, why_possible). */
void why_text(const struct why *w, const struct why_options *o, struct str *out);
void owners_write(const struct profile *p, struct symbols *s, const struct owners_options *o, struct str *out);

#endif
