/* SPDX-License-Identifier: MIT */
/*
 * match.h -- which stacks of two recordings are the same.
 *
 * Keeps:  frames are the same at the same place of the same file, told by its build id (by its path
 *         where there is none).  Of a file that was built anew in between, functions are the same
 *         by their names, lines do not count.
 */
#ifndef SEEP_QUERY_MATCH_H
#define SEEP_QUERY_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "names/string_pool.h"
#include "names/symbol.h"
#include "query/branch.h"
#include "query/function.h"
#include "query/select.h"
#include "query/wrapper.h"

enum match_side { MATCH_OLD, MATCH_NEW, MATCH_SIDES };

struct match_recording {
        const struct selection *sel;
        struct symbols *symbols;
        const char **files; /* by module: equal pointers are equal files; NULL: functions go by
                             * name */
        uint32_t *ids;      /* by node of the selection's tree; 0 not yet asked */
        struct lookup places; /* of frames: 1 + where their numbers are */
};

struct match {
        struct match_recording side[MATCH_SIDES];
        struct string_pool texts;
        struct branches entries; /* by id: a frame with all its callers */
        struct function_table frames; /* numbers of files and places in them */
        uint32_t *numbers; /* how many frames a place has, then those of each, innermost first */
        uint32_t number_count;
        uint32_t *path; /* room for one stack */
        uint32_t path_room;
};

/* The selections must outlive M. */
void match_start(struct match *m, const struct selection *const sel[MATCH_SIDES],
                 struct symbols *const s[MATCH_SIDES]);
void match_free(struct match *m);

/* The number of a stack: equal for stacks that are the same, from 1 on. */
uint32_t match_stack(struct match *m, enum match_side side, struct wrapper_frame from);

/* No more stacks are asked about: what only they need goes. */
void match_settle(struct match *m);

/* Whether module INDEX of the new recording was built anew; *OLD becomes the old one's index. */
bool match_rebuilt(const struct match *m, uint32_t index, uint32_t *old);

#endif
