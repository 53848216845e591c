/* SPDX-License-Identifier: MIT */
/*
 * wrapper.h -- functions that only pass an allocation on: xmalloc, operator new, std::allocator,
 * Rust's alloc.
 *
 * Keeps:  only the inner end of a stack is hidden, and never all of it.  What copies or makes
 *         something (strdup, push_back) is no wrapper: it is what the reader looks for.
 */
#ifndef SEEP_QUERY_WRAPPER_H
#define SEEP_QUERY_WRAPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/expression.h"
#include "base/lookup.h"

/* Zeroed: the built-in table only. */
struct wrappers {
        struct expressions more;
        struct lookup known;
};

/* A frame of a stack: which of the frames at NODE of the profile, 0 innermost. */
struct wrapper_frame {
        uint32_t node, level;
};

/* Functions that match EXPRESSION are wrappers too.  false: it is not an expression (exit code
 * 2). */
bool wrappers_add(struct wrappers *w, const char *expression, struct err *e);
void wrappers_free(struct wrappers *w);

/* Whether FRAME is one of W; or, being none, of the C++ or Rust library. */
bool wrappers_has(struct wrappers *w, const struct symbol_frame *frame);
bool wrappers_library(struct wrappers *w, const struct symbol_frame *frame);

/* The innermost frame of the stack of NODE that is shown.  W NULL: the innermost one. */
struct wrapper_frame wrappers_trim(struct wrappers *w, const struct profile *p, struct symbols *s,
                                   uint32_t node);

/* Whether FRAME is a wrapper or belongs to the C++ or Rust library: passed over where
 * there is room for one name. */
bool wrapper_or_library(const struct symbol_frame *frame);

/* The same, of W, which remembers what it was asked: for whoever asks of very many frames. */
bool wrappers_or_library(struct wrappers *w, const struct symbol_frame *frame);

#endif
