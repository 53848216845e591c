/* SPDX-License-Identifier: MIT */
/*
 * symbol.h -- from an address to function, file, line, and the functions inlined there.
 *
 * Keeps:  all strings live as long as the resolver.  Results are kept on disk by build id, so that
 *         a second report needs no debug information ($XDG_CACHE_HOME/seep or ~/.cache/seep;
 *         failing that, no cache).
 */
#ifndef SEEP_NAMES_SYMBOL_H
#define SEEP_NAMES_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lookup.h"
#include "names/frame.h"
#include "profile/model.h"

struct symbols; /* the resolver of one profile */

/* Never fails: files that cannot be opened simply have no names.  P must outlive the result.
 * Unless raw names are requested, the texts of P are made harmless in place
 * (profile/plain_texts.h), and so is every name from here, so that no view can forget it. */
struct symbols *symbols_new(const struct profile *p, const struct symbol_options *options);
void symbols_free(struct symbols *s);

/* The options given to symbols_new(). */
const struct symbol_options *symbols_options(const struct symbols *s);

/* Make S the resolver of P: a later recording of the same process, or one of another process with
 * the same modules, such as a forked child.  Names found so far are kept.  false: P does not fit (a
 * module differs, or variables were looked up), and S is unchanged. */
bool symbols_follow(struct symbols *s, const struct profile *p);

/* Frames at NODE of the profile, innermost (inlined) first.  At least one; *FRAMES is
 * valid until symbols_free(). */
uint32_t symbols_node(struct symbols *s, uint32_t node, const struct symbol_frame **frames);

/* The entry in L for the code address of NODE, of P: nodes at one address have the same frames. */
static inline struct lookup_entry *symbols_place(struct lookup *l, const struct profile *p,
                                                 uint32_t node)
{
        const struct profile_node *n = &p->nodes[node];
        uint32_t number = lookup_number(l, n->pc, (uint64_t)n->exact << 16 | n->module);

        return &l->list[number];
}

/* The same for a frame of a stopped thread. */
uint32_t symbols_stopped(struct symbols *s, const struct profile_frame *frame,
                         const struct symbol_frame **frames);

/* From now on FUNCTION, a text of a frame of S, is one that only passes allocations on
 * (query/wrapper_learn.h).  false: S knows. */
bool symbols_add_wrapper(struct symbols *s, const char *function);

/* The functions that S was told of are such in OTHER, too. */
void symbols_share_wrappers(const struct symbols *s, struct symbols *other);

/* Whether NODE is start code: what runs before main or the function of a thread (start.h).
 * Everything outside of it is, too. */
bool symbols_is_start(struct symbols *s, uint32_t node);

/* Whether shown stacks end before NODE: it is start code, and --all-frames was not given.  The
 * innermost frame of a stack is always shown. */
bool symbols_hides(struct symbols *s, uint32_t node);

/* The same for all nodes, by node; NULL: all are shown.  Valid until symbols_follow(). */
const uint8_t *symbols_hidden(struct symbols *s);

/* The mangled name of the function at NODE, from the symbol table; NULL: unknown.  Opens the
 * module. */
const char *symbols_raw_name(struct symbols *s, uint32_t node);

/* Whether MODULE has line information; symbols_node must have been asked for one of its addresses
 * before, or this opens the module. */
bool symbols_has_lines(struct symbols *s, uint32_t module);

/* Addresses of one module that were looked up so far: how many, how many have a function, how many
 * of these a line; and how many came from the cache. */
struct symbol_tally {
        uint32_t asked, named, lined, cached;
};

/* One for each module of the profile; the caller's to free. */
struct symbol_tally *symbols_tally(const struct symbols *s);

/* The address of NODE in the file of its module, or in memory when it is in none: that of the call,
 * not the return address. */
uint64_t symbols_address(const struct profile *p, uint32_t node);

/* ---- the names of all functions of a module, called or not ----
 *
 * Keeps:  functions that were inlined everywhere are not among them: symbol tables do not have
 *         them.
 */

/* A search for a function. */
struct functions_wish {
        void *context;
        bool (*fits)(void *context, const char *name);
        uint64_t seen; /* names that were checked */
};

/* Whether a function of MODULE fits. */
bool functions_have(struct symbols *s, uint32_t module, struct functions_wish *w);

#endif
