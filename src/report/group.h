/* SPDX-License-Identifier: MIT */
/* group.h -- costs summed by function, file, module, thread or size (--group-by). */
#ifndef SEEP_REPORT_GROUP_H
#define SEEP_REPORT_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"

#define GROUP_KINDS(X)                                                         \
        X(STACK, "stack")                                                      \
        X(FUNCTION, "function")                                                \
        X(FILE, "file")                                                        \
        X(MODULE, "module")                                                    \
        X(THREAD, "thread")                                                    \
        X(SIZE, "size")

enum group_kind {
#define GROUP_KIND_ENUM(id, word) GROUP_##id,
        GROUP_KINDS(GROUP_KIND_ENUM)
#undef GROUP_KIND_ENUM
        GROUP_KIND_COUNT
};

bool group_kind_named(const char *word, enum group_kind *kind);
const char *group_word(enum group_kind kind);

/* The function, file or module that ROW is counted for; to be freed. */
char *group_name(const struct selection *sel, struct symbols *s, const struct select_row *row,
                 enum group_kind kind);

struct group_options {
        enum group_kind kind; /* not GROUP_STACK: that is flat.h */
        double threshold;     /* per cent of the whole */
        uint32_t limit;       /* 0: all */
        int color;
        bool csv;             /* for programs: all rows, without shares */
};

/* Append a table, largest first.  Functions, files and modules are those that called the allocation
 * function; sizes are those of blocks not freed. */
void group_write(const struct selection *sel, struct symbols *s,
                 const struct group_options *options, struct str *out);

#endif
