/* SPDX-License-Identifier: MIT */
/* views.h -- views as text: each appends the results of query/ to a string. */
#ifndef SEEP_REPORT_VIEWS_H
#define SEEP_REPORT_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/diff.h"
#include "query/filter.h"
#include "query/findings.h"
#include "query/leaks.h"
#include "query/owners.h"
#include "query/fragmentation.h"
#include "query/select.h"
#include "query/types.h"
#include "query/suppress.h"
#include "query/why.h"

/* What is lost. */
void leaks_text(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                struct str *out);

/* The rows that are shown, those of one place as one with all their stacks counted (not so when O
 * is verbose); to be freed. */
struct leaks_row *leaks_places(const struct leaks *l, struct symbols *s,
                               const struct leaks_options *o, uint32_t *count);

/* A rule for each row that is shown. */
void leaks_rules(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                 enum suppress_format format, struct str *out);

/* The same for each of the first o->limit rows alone (0: all), into TEXTS, which has room for
 * l->count; NULL where no rule is wanted.  To be freed one by one. */
void leaks_rule_texts(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                      enum suppress_format format, char **texts);

struct errors_options {
        uint32_t limit;      /* 0: all */
        const uint8_t *skip; /* by error: 1 leaves it out.  NULL: none */
};

/* Append double frees, mismatched releases and frees of unknown memory, each with both stacks. */
void errors_write(const struct selection *sel, struct symbols *s,
                  const struct errors_options *options, struct str *out);

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
void findings_text(const struct findings *f, const struct findings_text_options *o,
                   struct str *out);

/* What keeps a block alive; the heap by owner (P must have a graph, why_possible). */
void why_text(const struct why *w, const struct why_options *o, struct str *out);
void owners_write(const struct profile *p, struct symbols *s, const struct owners_options *o,
                  struct str *out);

/* ---- each block that was not freed: address, size, time, age, thread, stack ---- */

struct blocks_options {
        const struct filter *filter; /* for threads; stacks were chosen by the selection.  NULL:
                                      * all */
        bool oldest_first;           /* else the largest first */
        uint32_t limit;              /* 0: all */
        int color;
        bool csv;                    /* for programs */
};

/* Append the blocks of SEL's sites, then the regions of its mmap sites.  SEL must
 * not be of merged stacks. */
void blocks_write(const struct selection *sel, struct symbols *s,
                  const struct blocks_options *options, struct str *out);

/* ---- the heap by type ---- */

struct types_options {
        const char *wanted; /* part of a type's name: its call stacks; NULL: all types */
        uint32_t limit;     /* 0: a screenful */
        int color;
        uint32_t columns;   /* of the terminal, for which names are shortened; 0: whole names */
};

/* Append the table, the largest first.  false: no type is named so (exit code 2). */
bool types_write(const struct types *t, struct symbols *s, const struct types_options *o,
                 struct str *out, struct err *e);

/* Append how two heaps differ by type, the largest change first. */
struct types_diff;
struct types_diff_sides;
void types_diff_text(const struct types_diff *d, const struct types_diff_sides *sides,
                     const struct diff_options *o, struct str *out);

/* ---- the heap as a map ---- */

struct fragmentation_options {
        uint32_t limit; /* of each list; 0: a few */
        uint32_t columns; /* of the terminal, for which names are shortened; 0: whole names */
};

/* Append sums, heaps, holes, call stacks and sizes, the largest of each first. */
void fragmentation_write(const struct fragmentation *f, struct symbols *s,
                         const struct fragmentation_options *o, struct str *out);

/* ---- sizes and lifetimes in classes of powers of two, drawn as bars ----
 *
 * Of the whole process both are exact, counted event by event.  Of a part of the stacks or
 * of another moment only what is known per stack or per live block can be shown; the
 * heading then says which.
 */

struct histogram_options {
        bool whole;                  /* nothing was chosen: of the whole process */
        const struct filter *filter; /* for the threads of live blocks; NULL: all */
        uint32_t columns;            /* of the output */
};

/* Append sizes: of all allocations (cost total or allocs), of the blocks not freed (live), or
 * by each stack's average. */
void histogram_sizes(const struct selection *sel, const struct histogram_options *options,
                     struct str *out);

/* Append how long blocks lived that were freed: each, or by each stack's average.  The
 * selection must be of the run. */
void histogram_lifetimes(const struct selection *sel, const struct histogram_options *options,
                         struct str *out);

/* ---- live memory over time, drawn with letters ---- */

struct timeline_options {
        bool whole; /* nothing was chosen: the process as a whole, with its peak and RSS */
        uint64_t from_ms, to_ms; /* the part shown; to UINT64_MAX: the end */
        uint32_t columns;        /* of the output */
        int color;
};

/* Append the plot of the heap of SEL's stacks, that of RSS, the largest rises with the places that
 * they are made of, and the list of tags and snapshots. */
void timeline_write(const struct selection *sel, struct symbols *s,
                    const struct timeline_options *options, struct str *out);

/* ---- things with a handle that the program acquired and released: file
 * descriptors, textures, locks ---- */

/* Append the resources of SEL, which was asked for resources, by type and stack; types and stacks
 * with most that was not released first.  At most LIMIT stacks of a type (0: all). */
void resources_write(const struct selection *sel, struct symbols *s, uint32_t limit,
                     struct str *out);

/* Append "3 fd, 1 texture": what was not released.  false: everything was, or there were no
 * resources. */
bool resources_held(const struct profile *p, struct str *out);

/* Memory of graphics processors (record --track-gpu), without the host's part: what was not
 * released, and the most that there was at a moment of the recording. */
struct resources_memory {
        uint64_t live_bytes, live_blocks, allocs, most_bytes, most_ms;
};

/* false: none was recorded. */
bool resources_memory(const struct profile *p, struct resources_memory *out);

/* ---- a table of the threads that allocated ---- */

struct threads_options {
        const struct filter *filter; /* NULL: all */
        uint32_t limit;              /* 0: all */
        bool csv;                    /* for programs */
};

/* Append the table: the thread that allocated most bytes first. */
void threads_write(const struct profile *p, const struct threads_options *options, struct str *out);

/* ---- a table of the programs and libraries that allocated ---- */

/* Append the table, the largest of the chosen cost first, at most LIMIT lines (0: all).
 * A module has what its own functions allocated; what they only passed on (hidden
 * wrappers) counts for the caller. */
void modules_write(const struct selection *sel, uint32_t limit, struct str *out);

/* ---- calls as a tree with the share of each line ---- */

struct tree_options {
        bool inverted;     /* from the callers of the allocation functions outwards,
                            * instead of from main inwards */
        double threshold;  /* per cent of the whole; what is smaller is summed in one line */
        uint32_t limit;    /* lines per level; 0: all */
        int color;
        uint32_t columns; /* of the terminal: lines are shortened to fit where that is
                           * possible; 0: whole names */
};

/* Append the tree of the heap and, where something was mapped, that of mmap. */
void tree_write(const struct selection *sel, struct symbols *s, const struct tree_options *options,
                struct str *out);

/* ---- who calls a function, and what is allocated through it ---- */

/* Append the tree of callers of FUNCTION: a name, with or without its parameters, or else a regular
 * expression.  Each stack counts once, from its outermost frame of such a name: recursion is no
 * caller.  SEL keeps only those stacks.  false: there is none (exit code 2). */
bool callers_write(struct selection *sel, struct symbols *s, const char *function,
                   const struct tree_options *options, struct str *out, struct err *e);

#endif
