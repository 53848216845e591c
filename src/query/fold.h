/* SPDX-License-Identifier: MIT */
/*
 * fold.h -- just my code: which frames of a stack are shown by default.
 *
 *      malloc's caller                      shown
 *      ---------------                      -----
 *      std::allocator::allocate             -            C++ library that own code called: never
 *      std::vector::push_back               -
 *      g_list_deep_inside    libglib        -            another library: only what own code calls
 *      g_list_copy           libglib        g_list_copy
 *      load                  program        load         own code: always
 *      main                  program        main
 *      std::thread::_M_run   libstdc++      -            what leads to own code: never
 *
 * Own code is that of the program's file, and of files that share its folder or prefix or came from
 * outside the system's folders; functions that headers or other packages brought into it are not.
 *
 * Keeps:  a stack without any own frame is shown whole.  A function that is called again by what
 *         it called is shown once (calltree.h), unless recursion was asked for.
 * Cost:   each address is judged once, and each node of the profile.
 */
#ifndef SEEP_QUERY_FOLD_H
#define SEEP_QUERY_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lookup.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/wrapper.h"

enum fold_kind {
        FOLD_OWN = 1,
        FOLD_LANGUAGE, /* C++'s and Rust's library, and functions that only pass an allocation on */
        FOLD_LIBRARY
};

struct fold {
        const struct profile *profile;
        struct symbols *symbols;
        bool recursion; /* is shown as it is */

        /* private */
        struct wrappers *wrappers;
        uint8_t *modules;  /* by module: enum fold_kind */
        uint8_t *contexts; /* by node: what is seen of it from inside; 0 not asked yet */
        struct lookup places; /* 1 + where the number of its frames and their kinds are */
        uint8_t *kinds;
        uint32_t kind_count, kind_room;
        uint32_t *path; /* room for the way outwards */
        uint32_t path_room;
};

/* P, S and W must outlive it. */
struct fold *fold_new(const struct profile *p, struct symbols *s, struct wrappers *w);
void fold_free(struct fold *f); /* NULL is fine */

/* Whether no frame of the stack that ends at AT, of the profile, is the program's own. */
bool fold_is_outside(struct fold *f, struct wrapper_frame at);

/* Whether the frame AT is shown in a stack that is WHOLE: of which the above is true. */
bool fold_shows(struct fold *f, struct wrapper_frame at, bool whole);

/* The innermost frame of the stack of NODE that is shown. */
struct wrapper_frame fold_trim(struct fold *f, uint32_t node);

/* Whose FRAME, one at NODE, is. */
enum fold_kind fold_kind(struct fold *f, uint32_t node, const struct symbol_frame *frame);

/* The same without a fold: wrappers of the usual table only. */
enum fold_kind fold_kind_of(const struct profile *p, uint32_t node,
                            const struct symbol_frame *frame);

#endif
