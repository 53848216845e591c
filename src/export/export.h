/* SPDX-License-Identifier: MIT */
/*
 * export.h -- a recording in the formats that other tools read.
 *
 * Room:   outside.  export.c has the table; each format has a file of its own.
 * Keeps:  a format is made from a selection (--at, --range, --cost and the filters of `report` are
 *         in it already), in memory, and never fails for want of names.
 */
#ifndef SEEP_EXPORT_EXPORT_H
#define SEEP_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "export/cost.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/select.h"

/* What a format is made from. */
struct export_input {
        const struct profile *profile;
        struct symbols *symbols;
        const struct selection *sel; /* of PROFILE, by SYMBOLS: which stacks, of
                                      * which moment, by which cost */
        const char *file;            /* the recording, for formats that need its event
                                      * log; NULL: there is none */
        const char *folder; /* where its event log is beside, when FILE is not there; or NULL */
        bool cost_set; /* one cost was asked for; else formats with several give all of them ... */
        enum cost_kind cost;         /* ... and those with one take what shares of SEL go by */
        const struct selection *resources; /* the same of things with a handle; NULL: they are left
                                            * out */
        bool usual; /* pprof has its four usual values only: allocated and in use */
        struct str *remarks;         /* sentences for the user are appended, a line each;
                                      * NULL: nobody wants to know */
        const struct select_request *request; /* its threads and, for EXPORT_COURSE, its moments;
                                               * NULL: all of them, the whole run */
        const char *tables; /* of a database: the names of those that need rows, a space
                             * in front of and behind each; NULL: all */
        struct export_reader *reader; /* for formats that may be longer than memory;
                                       * NULL: all stays in the text */
};

/* Who takes what is there so far. */
struct export_reader {
        /* Take OUT and empty it.  false: nobody wants more, or it cannot be written. */
        bool (*take)(struct export_reader *reader, struct str *out);
};

/* What a format can do, and wants. */
#define EXPORT_BINARY 1u /* not to be written to a terminal */
#define EXPORT_EVENTS 2u /* made from the event log: the recording must have one */
/* of what happened over time: SEL is of the whole run, the format takes its part of it
 * (export/course.h) */
#define EXPORT_COURSE 4u
#define EXPORT_FOLLOWS_AT 8u
#define EXPORT_FOLLOWS_RANGE 16u
#define EXPORT_FOLLOWS_COST 32u /* has one cost, or can do with one */
#define EXPORT_FOLLOWS_FILTERS 64u
#define EXPORT_MARKS 128u /* tells which frames are wrappers instead of leaving them out */
#define EXPORT_RESOURCES 256u /* tells of resources too */
#define EXPORT_FINDINGS 512u /* what is wrong, whatever is selected: SEL has no rows */
#define EXPORT_FOLDS 1024u /* for people: just the program's own code, unless all is asked for */
#define EXPORT_FOLLOWS_ALL \
        (EXPORT_FOLLOWS_AT | EXPORT_FOLLOWS_RANGE | EXPORT_FOLLOWS_COST | EXPORT_FOLLOWS_FILTERS)

struct export_format {
        const char *word;    /* --to WORD */
        const char *suffix;  /* of the usual file name, with its dot; its beginning
                              * when the dot is at the end */
        const char *purpose; /* which programs read it, and what they show: one line */
        uint32_t flags;      /* EXPORT_* */
        bool (*write)(const struct export_input *in, struct str *out, struct err *e);
};

/* By name; NULL unknown. */
const struct export_format *export_find(const char *word);

/* All of them, ended by one without a word. */
extern const struct export_format export_formats[];

/* The cost that a format with one cost gives; false: the selection does not know it. */
bool export_cost(const struct export_input *in, const struct cost_source *source,
                 enum cost_kind *cost, struct err *e);

/* Whether a format with several costs gives this one. */
bool export_gives(const struct export_input *in, const struct cost_source *source,
                  enum cost_kind cost);

/* Tell that a format without negative numbers leaves out COUNT stacks. */
void export_remark_negative(const struct export_input *in, uint32_t count);

/* Tell when the event log, which was read to its end, ends before the run does. */
struct events_log;
void export_remark_cut(const struct export_input *in, const struct events_log *log);

/* After each piece of a long format: what is there goes out when it is much.  false:
 * there is no use in more. */
#define EXPORT_AT_ONCE (64u << 10)
bool export_more(const struct export_input *in, struct str *out);

bool export_pprof(const struct export_input *in, struct str *out, struct err *e);
bool export_collapsed(const struct export_input *in, struct str *out, struct err *e);
bool export_svg(const struct export_input *in, struct str *out, struct err *e);
bool export_speedscope(const struct export_input *in, struct str *out, struct err *e);
bool export_dhat(const struct export_input *in, struct str *out, struct err *e);
bool export_massif(const struct export_input *in, struct str *out, struct err *e);
bool export_callgrind(const struct export_input *in, struct str *out, struct err *e);
bool export_heaptrack(const struct export_input *in, struct str *out, struct err *e);
bool export_firefox(const struct export_input *in, struct str *out, struct err *e);
bool export_gprof2dot(const struct export_input *in, struct str *out, struct err *e);
bool export_sqlite(const struct export_input *in, struct str *out, struct err *e);
bool export_csv(const struct export_input *in, struct str *out, struct err *e);
bool export_valgrind_xml(const struct export_input *in, struct str *out, struct err *e);
bool export_sarif(const struct export_input *in, struct str *out, struct err *e);
bool export_junit(const struct export_input *in, struct str *out, struct err *e);
bool export_maps(const struct export_input *in, struct str *out, struct err *e);
bool export_json(const struct export_input *in, struct str *out, struct err *e);

#endif
