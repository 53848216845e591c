/* SPDX-License-Identifier: MIT */
/* page_parts.h -- what the files of page.h share: one recording while the page is made. */
#ifndef SEEP_PAGE_PAGE_PARTS_H
#define SEEP_PAGE_PAGE_PARTS_H

#include "page/calls.h"
#include "page/grid.h"
#include "page/page.h"
#include "query/leaks.h"
#include "query/owners.h"
#include "query/select.h"
#include "report/summary.h"

/* How much of a recording goes into the page. */
struct page_limits {
        double share;      /* call stacks with less of every cost are summed in one row ... */
        uint32_t sites;    /* ... but for so many, the largest */
        uint32_t slices;   /* moments of its course ... */
        uint32_t changes;  /* ... and numbers of single stacks in it */
        uint32_t leaks;    /* rows of leaks, of each class */
        uint32_t source_bytes;
};

/* A recording of another process, made at the same time in the same folder. */
struct page_process {
        char *program, *file;
        uint32_t pid, ppid;
        uint64_t start_ms; /* since 1970 */
        uint64_t end_ms;
        uint64_t peak_bytes, live_bytes, allocations;
        int64_t lost_bytes; /* -1: not searched */
        bool related;
};

struct page_processes {
        struct page_process *list; /* the recording itself first */
        uint32_t count;
};

/* A way from a root to a block, in words. */
struct page_path {
        char *root;
        char **steps;
        uint32_t *blocks; /* by step: index into the blocks of the profile */
        char **types;
        uint32_t count;
        uint64_t retained_bytes;
        uint32_t row; /* of the leaks */
};

struct page {
        const struct page_request *r;
        const struct page_recording *recording;
        const struct profile *p;
        struct symbols *s;

        /* found out once */
        struct wrappers wrappers;
        struct lookup passed; /* functions that the summary passes over */
        struct selection sel;   /* each site for itself, with the numbers that were asked for */
        struct selection whole; /* the same of the whole run, for leaks; empty where that is SEL:
                                 * page_whole() */
        struct leaks leaks;
        char **lsan, **valgrind; /* by row of the leaks: a rule; NULL none */
        struct growth *growth;  /* by site */
        bool *reserved;         /* by site: address space of which little was used */
        struct summary_verdicts verdicts;
        bool graph;             /* owners and paths are known */
        struct owners owners;
        struct page_path *paths;
        uint32_t path_count;
        struct page_processes processes;
        struct cycle *cycles; /* of lost blocks, largest first */
        uint32_t cycle_count;
        struct page_types *types; /* by moment */
        uint32_t type_count;

        /* for one attempt to write it */
        const struct page_limits *limits;
        struct str *out;
        struct lexicon lexicon;
        struct calls calls;
        int32_t *row_of;   /* by site of the profile: its row; GRID_NONE: not in the page */
        uint32_t row_count;
        int32_t rest[2];   /* rows of what was cut, of mappings and of the heap; GRID_NONE */
        uint32_t *slice_of; /* by slice of the profile: the one in the page that stands for it */
        struct str cut;     /* members of a list: sentences */
};

/* Rows of leaks that have a place in the page: of each class, the largest. */
#define PAGE_PATHS 100u /* of these, each class, have their path told */

/* ---- found out once ---- */

bool page_find_sites(struct page *g, struct err *e);
void page_find_leaks(struct page *g);
void page_find_processes(struct page *g);
void page_find_types(struct page *g);
void page_find_cycles(struct page *g); /* after page_find_leaks() */
void page_free_leaks(struct page *g);
void page_free_processes(struct page *g);
void page_free_types(struct page *g);
void page_free_cycles(struct page *g);

/* ---- written ---- */

/* Each appends members of the object of the recording. */
void page_write_meta(struct page *g);
void page_write_sites(struct page *g); /* before all that tells rows of sites */
void page_write_threads(struct page *g);
void page_write_course(struct page *g);
void page_write_leaks(struct page *g);
void page_write_paths(struct page *g);
void page_write_owners(struct page *g);
void page_write_holdings(struct page *g);
void page_write_errors(struct page *g);
void page_write_types(struct page *g);
void page_write_cycles(struct page *g);
void page_write_fragmentation(struct page *g);
void page_write_mappings(struct page *g);
void page_write_resources(struct page *g);
void page_write_processes(struct page *g);
void page_write_source(struct page *g); /* after all that brings frames */

/* Append "NAME": and the table, which is freed. */
void page_table(struct page *g, const char *name, struct grid *t);

/* Append "NAME": with a comma in front unless it is the first. */
void page_name(struct page *g, const char *name);

/* A sentence about what was left out. */
void page_cut(struct page *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each site with its numbers of the whole run.  Of a million sites it takes 112 MB. */
static inline const struct selection *page_whole(const struct page *g)
{
        return g->r->at || g->r->range ? &g->whole : &g->sel;
}

/* The row of SITE of the profile; GRID_NONE: it is not in the page. */
static inline int64_t page_row(const struct page *g, uint32_t site)
{
        return site && site < g->p->site_count ? g->row_of[site] : GRID_NONE;
}

#endif
