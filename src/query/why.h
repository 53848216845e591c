/* SPDX-License-Identifier: MIT */
/*
 * why.h -- what keeps a block alive: the path to it from a variable, a stack, a register.
 *
 * Keeps:  found out once (why_make), then written for people or for programs.
 */
#ifndef SEEP_QUERY_WHY_H
#define SEEP_QUERY_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "leak/graph.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/root_name.h"

#define WHY_NO_BLOCK UINT32_MAX

/* A step that is shown: a pointer, and the block it leads to. */
struct why_step {
        uint32_t block;
        bool from_block;       /* false: the pointer is in the root; or (start) there is none */
        bool start;            /* a lost block, or one under SEEP_IGNORE, where the path begins */
        uint64_t at;           /* offset of the pointer in the block before, or in the variable */
        uint32_t flags;        /* PROFILE_POINTER_* */
        uint64_t left_out;     /* steps in front of this one that are not shown */
        bool alike;            /* ... and are all like it */
        struct str member;     /* ".next", "[3].name"; empty unknown */
        struct str type;       /* of the block: "struct node"; empty unknown */
};

/* Root pointers that belong to one owner. */
struct why_group {
        struct root_name root_name; /* of the first of them */
        struct root_name_key key;
        uint64_t pointers;
        uint32_t steps; /* of the shortest path from one of them */
};

struct why {
        const struct profile *p;
        struct symbols *s;
        struct graph *graph;
        uint32_t block;
        uint64_t offset;         /* of the address that was asked for in the block */
        uint32_t leak;           /* enum profile_leak */
        bool held;               /* from a root, or by SEEP_IGNORE */
        struct root_name root_name;    /* root NULL: none */
        struct why_step *steps;
        uint32_t step_count;
        uint32_t length;         /* of the whole path, in steps */
        uint32_t head;           /* lost: the block that it hangs on; WHY_NO_BLOCK */
        uint64_t lost_pointers;  /* lost: pointers to it in other lost blocks */
        struct graph_sum retained;
        uint64_t root_pointers;  /* that reach it */
        struct why_group *groups; /* of them (why_groups): the firmest first, then the nearest */
        uint64_t group_count;
        uint32_t site;           /* asked for; 0: an address was */
        uint64_t site_blocks, site_seen;  /* live, looked at */
        uint64_t site_owner, site_alike;  /* of these held by the same owner as
                                           * BLOCK, and in the same way */
        struct graph_sum site_retained;
        const char *place;       /* by which the site was found; NULL: by its number */
        uint64_t place_sites;    /* with live blocks that it names */
};

/* Whether the recording has what it takes; false: E says why not and what to do. */
bool why_possible(const struct profile *p, const char *file, struct err *e);

/* Fill W, the caller's to why_free(): the block at or around ADDRESS, or the typical block of SITE.
 * P must have a graph.  false: there is no such block (exit code 2). */
bool why_address(struct why *w, const struct profile *p, struct symbols *s, uint64_t address,
                 struct err *e);
bool why_site(struct why *w, const struct profile *p, struct symbols *s, uint32_t site,
              struct err *e);
/* The site with most live bytes of those whose stacks have WORD, a function or FILE:LINE. */
bool why_place(struct why *w, const struct profile *p, struct symbols *s, const char *word,
               struct err *e);
void why_free(struct why *w);

/* Only the path to BLOCK, and what became of it, in a graph G of P that the caller keeps: for many
 * blocks.  Release with why_path_free(). */
void why_path(struct why *w, const struct profile *p, struct symbols *s, struct graph *g,
              uint32_t block);
void why_path_free(struct why *w);

/* Append a line that tells what the path does not, if there is such: "nothing holds it: definitely
 * lost". */
void why_class(const struct why *w, int color, struct str *out);

/* Find the groups, too. */
void why_groups(struct why *w);

struct why_options {
        uint32_t limit; /* groups that are listed; 0: all */
        int color;
        bool whole_names; /* also those that are too long for a terminal */
};

/* ---- for why_path.c ---- */

/* Name the steps of a path and leave out what repeats itself.  The first step is that of the root
 * W->holder, or (START) of a block. */
void why_name_path(struct why *w, struct graph_path *path);

/* ---- for who writes it ---- */

struct profile_block why_block(const struct why *w, uint32_t block);

#endif
