/* SPDX-License-Identifier: MIT */
/*
 * leaks.h -- what is lost, by stack and class, from a leak search.
 *
 * Keeps:  a lost group counts once: rows of class definite are the heads, with the sum of what
 *         hangs on them; what hangs is also in rows of its own, of class indirect.  A suppressed
 *         head takes along what hangs on it.  What is still reachable is no error and is never
 *         subtracted from the sums.
 */
#ifndef SEEP_QUERY_LEAKS_H
#define SEEP_QUERY_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/growth.h"
#include "query/select.h"
#include "query/suppress.h"

/* name, option word */
#define LEAKS_KEYS(X)                                                          \
        X(LEAKED_BYTES, "leaked-bytes")                                        \
        X(LEAKED_BLOCKS, "leaked-blocks")                                      \
        X(AVERAGE, "average")                                                  \
        X(AGE, "age")                                                          \
        X(LIVE_BYTES, "live-bytes")                                            \
        X(LIVE_BLOCKS, "live-blocks")                                          \
        X(ALLOC_BYTES, "alloc-bytes")                                          \
        X(ALLOCS, "allocs")

enum leaks_key {
#define LEAKS_KEY_ENUM(id, word) LEAKS_BY_##id,
        LEAKS_KEYS(LEAKS_KEY_ENUM)
#undef LEAKS_KEY_ENUM
        LEAKS_KEY_COUNT
};

struct leaks_sum {
        uint64_t blocks, bytes;
};

/* A caller of the place, and what is lost by it; all 0: there is none. */
struct leaks_from {
        uint32_t function; /* function.h */
        uint32_t node, level;
        uint64_t bytes;
};
enum { LEAKS_FROM = 4 };

/* Blocks of one class from one stack (as the selection merges stacks). */
struct leaks_row {
        const struct select_row *stack; /* .site is the first of its sites, .node and
                                         * .level where the stack begins */
        uint32_t leak;                  /* enum profile_leak */
        struct leaks_sum own;           /* blocks of this class */
        struct leaks_sum hanging;       /* definite: what hangs on them */
        uint64_t birth_ms;              /* of the oldest */
        uint32_t block;                 /* one of them: the oldest */
        uint32_t site;                  /* of it */
        uint64_t address;               /* of it */
        uint64_t vtable;                /* equal in all of them; 0: not known */
        struct growth growth;
        struct suppress_rule *rule;     /* NULL: reported */
        uint32_t variants;              /* stacks in it */
        struct leaks_from from[LEAKS_FROM]; /* where several are one: who called the place; that of
                                             * the stack that is shown first */
        uint32_t from_count;
        uint32_t from_more; /* stacks by others */
};

/* Blocks of one class from one site. */
struct leaks_group {
        struct leaks_sum sum;       /* of a site that leads a row: of all its sites,
                                     * without what is suppressed */
        struct suppress_rule *rule; /* that covers them, once that is judged */
        bool judged;
        uint32_t leak;
        uint32_t row, hidden; /* 1 + index of the row, of the hidden row that they are in */
        uint32_t next;        /* 1 + index of another group of the site */
};

struct leaks_request {
        struct suppressions *suppressions; /* NULL: nothing is suppressed */
        struct filter *filter;             /* that of the selection: for threads, and for
                                            * invalid frees.  NULL: all */
        enum leaks_key key;                /* order within a class, largest first */
        bool only_new; /* lost since the search before; all when there was none */
        bool reachable;                    /* rows for these, too */
        bool sums_only;                    /* nobody asks for rows */
};

struct leaks_options {
        uint32_t show;  /* bit per enum profile_leak */
        uint32_t limit; /* rows, blocks, invalid frees; 0: all */
        bool blocks;    /* each block instead of rows */
        bool oldest_first; /* of blocks; else the largest first */
        bool verbose;   /* each stack on its own, and what was suppressed */
        bool lines;     /* a place is what one line names: with another caller it is another one */
        int color;
        const struct suppressions *suppressions;
};

struct leaks {
        const struct selection *sel;
        const struct profile_scan *scan; /* NULL: not searched, all is empty;
                                          * leaks_not_scanned() says why */
        enum leaks_key key;              /* of the request */
        struct leaks_row *rows;          /* definite, indirect, possible, reachable; those with
                                          * a rule are not among them */
        uint32_t count;
        struct leaks_row *hidden;        /* suppressed */
        uint32_t hidden_count;
        struct leaks_sum sums[PROFILE_LEAK_COUNT]; /* by class, without what is suppressed */
        struct leaks_sum suppressed;               /* lost blocks that are */
        struct leaks_sum older;                    /* lost ones that are older than the recording */
        struct leaks_sum idiom;                    /* of the reachable ones, those held by
                                                    * pointers of a known idiom only */
        struct leaks_group *groups; /* as many as there are sites and classes of blocks */
        uint32_t *first_group;      /* by site of the profile: 1 + index; NULL: not searched */
        uint32_t group_count;
        uint8_t *silent;            /* by block: 1 when it is suppressed or not asked for */
        uint8_t *forgiven;          /* by error of the profile: 1 when it is suppressed */
        bool only_new;              /* asked for, and there was a search before: what
                                     * was lost then is left out */
        uint64_t errors;            /* releases by those that are not */
};

/* SEL must be of the whole run and not of resources; it must outlive L.  Never fails. */
void leaks_make(struct leaks *l, const struct selection *sel, struct symbols *s,
                const struct leaks_request *r);
void leaks_free(struct leaks *l);

/* The rules that hold without any option: the program's own, and (unless NOT_BUILT_IN) ours.  What
 * the program has written wrong is told in TROUBLE ("" otherwise) and passed over. */
void leaks_usual_rules(struct suppressions *s, const struct profile *p, bool not_built_in,
                       struct str *trouble);

/* leaks_make() with these rules and nothing else asked for: what every report agrees on. */
void leaks_make_usual(struct leaks *l, const struct selection *sel, struct symbols *s);
/* Without rows. */
void leaks_make_sums(struct leaks *l, const struct selection *sel, struct symbols *s);

/* COUNT rows in the order of KEY: by class, then the largest first.  Takes ROWS over and gives the
 * ordered ones, to be freed. */
struct leaks_row *leaks_order(struct leaks_row *rows, uint32_t count, enum leaks_key key);

/* Definitely lost blocks or invalid frees. */
bool leaks_found(const struct leaks *l);

/* By class, of a site that leads a row.  false: not searched, all are zero. */
bool leaks_of_site(const struct leaks *l, uint32_t site, struct leaks_sum sums[PROFILE_LEAK_COUNT]);

/* The first bytes of a block; NULL: not kept. */
const struct profile_content *leaks_content(const struct profile *p, uint32_t block);

/* How old a block was at the search. */
uint64_t leaks_age(const struct profile *p, uint64_t birth_ms);

/* The C++ class of an object that begins with VTABLE; NULL unknown. */
const char *leaks_class(struct symbols *s, uint64_t vtable);

bool leaks_key_named(const char *word, enum leaks_key *key);

/* Append why there was no search, a sentence without its full stop: "the program
 * was killed by SIGKILL, ..." */
void leaks_not_scanned(const struct profile *p, struct str *out);

/* Append "at exit", "on request at 12.4 s". */
void leaks_when(const struct profile_scan *scan, struct str *out);

/* G of a stack whose blocks are lost. */
struct growth leaks_growth(const struct growth *g);

#endif
