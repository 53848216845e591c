/* SPDX-License-Identifier: MIT */
/*
 * sqlite_parts.h -- what the parts of a database share while it is made.
 *
 * Room:   outside, export/sqlite*.c only.
 */
#ifndef SEEP_EXPORT_SQLITE_PARTS_H
#define SEEP_EXPORT_SQLITE_PARTS_H

#include "export/frames.h"
#include "export/sqlite.h"
#include "export/sqlite_rows.h"
#include "export/strings.h"
#include "query/growth.h"
#include "query/leaks.h"

/* A row of the table of that name. */
struct sqlite_stack {
        uint32_t outer, frame; /* ids; outer 0: none */
};

/* What is needed while a database is made. */
struct sqlite_parts {
        const struct profile *p;
        struct symbols *symbols;
        const struct selection *sel, *resources, *whole; /* whole: the profile's own tree, without rows */
        const struct filter *filter; /* whose threads are shown; NULL: all */
        struct rows rows;
        uint8_t *chosen;      /* by site: part of the selection */
        uint8_t *has_block;   /* by block: it is a row */
        struct frames frames; /* place[node] + level is the id of a frame, less 1 */
        uint32_t *ends, *resource_ends, *whole_ends; /* by node of sel, of resources, of whole: id of the innermost frame's stack; 0 not needed */
        struct sqlite_stack *stacks; /* by id */
        uint32_t stack_count, stack_room;
        struct strings functions; /* by name */
        uint32_t *names;          /* by id of a frame: number in functions */
        uint32_t *path, path_room;
        struct leaks leaks;
        struct wrappers wrappers; /* the usual ones */
        struct growth *growth; /* by site */
};

/* sqlite_course.c: the recording as a whole, and over time. */
void sqlite_put_meta(struct sqlite_parts *m);
void sqlite_put_course(struct sqlite_parts *m);

/* sqlite_stacks.c: frames, stacks, and what each of them did. */
void sqlite_put_stacks(struct sqlite_parts *m);
void sqlite_put_sites(struct sqlite_parts *m);

/* sqlite_functions.c: what functions did; when stacks are there. */
void sqlite_put_functions(struct sqlite_parts *m);

/* sqlite_heap.c: what is alive, and what holds it; wrong releases; resources. */
void sqlite_put_heap(struct sqlite_parts *m);
void sqlite_put_others(struct sqlite_parts *m);

#endif
