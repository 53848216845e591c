/* SPDX-License-Identifier: MIT */
/*
 * select.h -- which stacks, at which cost: the start of every view of a report.
 *
 * Keeps:  stacks of mmap and mremap are separate from those of the heap, and so are blocks that are
 *         older than the recording: only views of single blocks show these.
 */
#ifndef SEEP_QUERY_SELECT_H
#define SEEP_QUERY_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/progress.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/filter.h"
#include "query/fold.h"
#include "query/moment.h"
#include "query/wrapper.h"

/* name, option word, heading, whether shares are of the count instead of the bytes */
#define SELECT_COSTS(X)                                                        \
        X(LIVE, "live", "not freed", false)                                    \
        X(PEAK, "peak", "peak", false)                                         \
        X(TOTAL, "total", "allocated in total", false)                         \
        X(ALLOCS, "allocs", "calls", true)                                     \
        X(TEMPORARY, "temporary", "temporary", true)

enum select_cost {
#define SELECT_COST_ENUM(id, word, heading, counts) SELECT_##id,
        SELECT_COSTS(SELECT_COST_ENUM)
#undef SELECT_COST_ENUM
        SELECT_COST_COUNT
};

/* The moment, or the threads, that the numbers of a selection belong to. */
enum select_moment {
        SELECT_OF_RUN,
        SELECT_OF_THREADS, /* some threads only: their peak is not known */
        SELECT_OF_PEAK,    /* live is what was live at the peak; the rest is of the run,
                            * and select_known() false */
        SELECT_OF_TIME,    /* live then; calls until then.  Peak, temporaries, lifetimes are not
                            * known */
        SELECT_OF_RANGE    /* calls between; live is the increase, or what survived.  Otherwise as
                            * above */
};

/* Where memory of mmap is: in `mapped`, beside the heap; or in `heap`, instead of the heap or
 * together with it. */
enum select_memory { SELECT_APART, SELECT_HEAP, SELECT_MMAP, SELECT_BOTH, SELECT_MEMORY_COUNT };

struct select_request {
        enum select_cost cost;
        enum select_memory memory;
        struct filter *filter;     /* NULL: everything */
        struct wrappers *wrappers; /* NULL: whole stacks; else these are hidden at the inner end */
        bool fold; /* with wrappers: only the user's own code, and what it called (fold.h) */
        bool recursion; /* with fold: show functions that call themselves each time */
        bool each_site;            /* rows are never merged: stacks are shortened
                                    * only where they are written */
        bool marked; /* wrappers stay: the writer of the rows marks these frames */
        bool resources; /* the program's resources instead of its memory, all of them in `heap` */
        uint32_t depth_merge;  /* 0: whole stacks; N: stacks equal in their N
                                * innermost frames are one */
        struct moment at; /* numbers as they were then; MOMENT_NONE and MOMENT_END: of the run */
        struct moment from, to; /* what happened between; MOMENT_NONE: no range */
        struct progress *progress; /* NULL: none is shown */
        uint32_t columns;       /* of the terminal, for which names in lists are
                                 * shortened; 0: whole names */
        bool change; /* between marks: the increase of live memory, not what survived */
};

/* Decreases within a --range are negative when read as int64_t. */
struct select_row {
        uint32_t site; /* id in the profile; of the first one where several were merged */
        uint32_t node; /* in the selection's tree */
        uint32_t level; /* the innermost frame shown at the node: 0 unless those
                         * inlined into it are hidden */
        uint32_t kind;
        uint32_t merged; /* sites in this row */
        uint64_t bytes, count; /* of the chosen cost */
        uint64_t allocs, frees, alloc_bytes, live_blocks, live_bytes, peak_blocks, peak_bytes,
                temporary;
        uint64_t lifetime_ms;
};

struct select_part {
        struct select_row *rows;
        uint32_t count;
        uint64_t total_bytes, total_count; /* of the chosen cost, over all rows */
};

struct selection {
        const struct profile *profile;
        enum select_cost cost;
        enum select_moment moment;
        enum select_memory memory;  /* of the request */
        struct moment at, from, to; /* of the request */
        bool change;                /* of the request */
        char when[128];   /* "1.5 s", "1.5 s to 2.0 s", "tag loaded", or empty */
        char heading[192]; /* what the chosen numbers are */
        bool survivors;    /* of a range between marks: live is what was allocated in it and
                            * is still live at its end */
        struct select_part heap, mapped, older;
        bool whole;                /* of the whole run, and no stack was filtered out */
        struct wrappers *wrappers; /* of the request */
        struct fold *fold;         /* NULL: whole stacks, but for wrappers */
        struct progress *progress; /* of the request */
        uint32_t columns;          /* of the request */
        uint32_t *leaders;         /* by site: the site whose row it is part of */
        uint32_t node_count;
        uint32_t *parents; /* NULL: the profile's own tree; else a tree of cut stacks, 0 the root
                            * ... */
        uint32_t *origins; /* ... and a node of the profile with the same address */
};

/* false: the request does not fit the recording (exit code 2). */
bool select_make(struct selection *sel, const struct profile *p, struct symbols *s,
                 const struct select_request *r, struct err *e);
void select_free(struct selection *sel);

/* The innermost frame that is shown of the stack of NODE, a node of the profile. */
struct wrapper_frame select_trim(const struct selection *sel, struct symbols *s, uint32_t node);

/* "heap", "mmap", "both", as in options; and the one with that NAME (false: there is none). */
const char *select_memory_word(enum select_memory memory);
bool select_memory_named(const char *name, enum select_memory *memory);

/* What `heap` contains: "heap", "mapped by mmap", "heap and mmap". */
const char *select_memory_text(const struct selection *sel);

/* The number that decides about shares, order and threshold. */
int64_t select_weight(const struct selection *sel, uint64_t bytes, uint64_t count);
bool select_counts(enum select_cost cost);

/* Which numbers of a selection's rows are of its moment, besides the live ones. */
struct select_known {
        bool calls;     /* allocs, frees, alloc_bytes */
        bool peak;
        bool temporary;
        bool lifetimes;
        bool end;       /* what is known about the end, or about the whole run: leaks, invalid
                         * frees, threads */
};
struct select_known select_known(const struct selection *sel);

/* By site of the profile: 1 where it is part of a row of PART.  To be freed. */
uint8_t *select_sites(const struct selection *sel, const struct select_part *part);

const char *select_cost_word(enum select_cost cost);
bool select_cost_named(const char *word, enum select_cost *cost);

static inline uint32_t select_parent(const struct selection *sel, uint32_t node)
{
        return sel->parents ? sel->parents[node] : sel->profile->nodes[node].parent;
}

/* The node of the profile, for the resolver. */
static inline uint32_t select_origin(const struct selection *sel, uint32_t node)
{
        return sel->origins ? sel->origins[node] : node;
}

/* ---- the nodes of a selection's tree that its stacks pass through ---- */

/* By node: 1 where a stack of SEL passes.  To be freed. */
uint8_t *needed_nodes(const struct selection *sel);

#endif
