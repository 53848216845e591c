/* SPDX-License-Identifier: MIT */
/*
 * owners_form.h -- what the rooms of owners.h share.
 *
 * Room:   outside, report/owners*.c only.
 */
#ifndef SEEP_REPORT_OWNERS_FORM_H
#define SEEP_REPORT_OWNERS_FORM_H

#include "leak/graph.h"
#include "report/holder.h"
#include "report/owners.h"

struct owner {
        struct holder holder; /* of the first pointer that belongs to it */
        struct holder_key key;
        uint64_t pointers;
        struct graph_sum kept;
        uint32_t number; /* before the list was sorted */
};

/* What hangs on blocks of one call stack that several owners hold. */
struct owners_part {
        uint32_t block; /* the one that most hangs on */
        uint32_t site;
        uint32_t heads; /* such blocks */
        struct graph_sum kept;
        uint32_t *holders; /* of that block: indices into the list of owners, the largest first */
        uint32_t count;
};

struct owners {
        const struct profile *p;
        struct symbols *s;
        const struct owners_options *o;
        struct str *out;
        struct graph *graph;
        struct graph_sum all; /* the heap */
        struct owner *list;
        uint32_t count;
        uint32_t *place;    /* by the number that an owner got first: where it is in the list when that is sorted */
        struct owners_part *parts; /* of what is shared: the largest */
        uint32_t part_count;
        uint32_t *table; /* 1 + index, by key; open addressing */
        uint32_t room;
};

/* For qsort(): the one that keeps more first. */
int owners_compare(const struct graph_sum *a, const struct graph_sum *b);

/* How many of COUNT rows are shown. */
uint32_t owners_shown(const struct owners *w, uint32_t count);

/* Append the first two lines of a table, and the first columns of a row. */
void owners_title(const struct owners *w, const char *what, const char *column);
void owners_row(const struct owners *w, struct graph_sum sum);

/* Append the beginning of the object, and BEFORE and a sum by NAME. */
void owners_json_head(const struct owners *w);
void owners_json_sum(const struct owners *w, const char *before, const char *name, struct graph_sum sum);

/* The whole of it: owners, of which KEEPING keep something alone, in both forms; sites. */
void owners_text(const struct owners *w, uint32_t keeping, const struct graph_retained *r);
void owners_json(const struct owners *w, uint32_t keeping, const struct graph_retained *r);
void owners_sites(struct owners *w);

#endif
