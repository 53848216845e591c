/* SPDX-License-Identifier: MIT */
/*
 * type_line.h -- the type of a block by the source line that allocates it: new T, sizeof *x,
 * x = malloc(...), or a variable that is declared there.
 *
 * Keeps:  the text of a file that was written after the recording began is not believed.  What a
 *         line says must be a type that debug information describes, and its size must fit that
 *         of the blocks.
 */
#ifndef SEEP_QUERY_TYPE_LINE_H
#define SEEP_QUERY_TYPE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lookup.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/block_origin.h"
#include "query/wrapper.h"
#include "types/variable.h"

struct type_line_file;
struct type_line_said;

/* Source files as they are read. */
struct type_lines {
        const struct profile *p;
        struct symbols *s;
        const struct symbol_options *options;
        struct wrappers wrappers; /* frames that are passed over */

        /* private */
        struct type_line_file *files;
        uint32_t file_count;
        struct lookup known; /* by path: 1 + index of the file */
        struct type_line_said *said; /* by places that were asked: many stacks end in few */
        uint32_t said_count;
        struct lookup asked; /* by place: 1 + index into SAID */
};

enum type_line { TYPE_LINE_NONE, TYPE_LINE_SOURCE, TYPE_LINE_VARIABLE };

/* Of SITE: what its blocks are, or are arrays of.  *PLACE: the frame that says so, or the one
 * behind those that only hand a pointer on; unchanged where there is none. */
enum type_line type_line_find(struct type_lines *l, uint32_t site, struct variable_type *type,
                              struct block_origin *place);
void type_lines_free(struct type_lines *l);

#endif
