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

/* Never fails: what cannot be opened simply has no names.  P must outlive the result.  Unless raw
 * names are asked for, those that P has are made plain in place (profile/plain_texts.h), and so is
 * every name that comes from here: no view can forget it. */
struct symbols *symbols_new(const struct profile *p, const struct symbol_options *options);
void symbols_free(struct symbols *s);

/* As symbols_new() was given them. */
const struct symbol_options *symbols_options(const struct symbols *s);

/* From now on S is about P, a later recording of the same process or one of another that has
 * the same modules, forked from it most likely; what was found so far is kept.  false: P does
 * not go on where the recording of S was (a module is another one, or variables were asked
 * for), and S is unchanged. */
bool symbols_follow(struct symbols *s, const struct profile *p);

/* Frames at NODE of the profile, innermost (inlined) first.  At least one; *FRAMES is
 * valid until symbols_free(). */
uint32_t symbols_node(struct symbols *s, uint32_t node, const struct symbol_frame **frames);

/* Nodes at the same place have the same frames: the place of NODE, of P, in L. */
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
 * (query/passing.h).  false: S knows. */
bool symbols_pass(struct symbols *s, const char *function);

/* The functions that S was told of are such in OTHER, too. */
void symbols_pass_on(const struct symbols *s, struct symbols *other);

/* Whether NODE is start code: what runs before main or the function of a thread (start.h).
 * Everything outside of it is, too. */
bool symbols_is_start(struct symbols *s, uint32_t node);

/* Whether stacks that are shown end inside of NODE: it is start code, and not all frames were asked
 * for.  The innermost frame of a stack is shown even so. */
bool symbols_hides(struct symbols *s, uint32_t node);

/* The same for all nodes at once, by node; NULL: all are shown.  Valid until S is
 * about another recording. */
const uint8_t *symbols_hidden(struct symbols *s);

/* The name in the symbol table of the function at NODE, mangled as it is there; NULL
 * unknown.  Opens the module. */
const char *symbols_raw_name(struct symbols *s, uint32_t node);

/* Whether MODULE has line information; symbols_node must have been asked for one of its addresses
 * before, or this opens the module. */
bool symbols_has_lines(struct symbols *s, uint32_t module);

/* Of the addresses in one module that were asked for so far, how many have a function, and
 * how many of these a line; how many were known from an earlier command. */
struct symbol_tally {
        uint32_t asked, named, lined, cached;
};

/* One for each module of the profile; the caller's to free. */
struct symbol_tally *symbols_tally(const struct symbols *s);

/* Where NODE is in the file of its module, or in memory when it is in none: the call, not the
 * place where it returns to. */
uint64_t symbols_address(const struct profile *p, uint32_t node);

/* ---- the names of all functions of a module, called or not ----
 *
 * Keeps:  functions that were inlined everywhere are not among them: symbol tables do not have
 *         them.
 */

/* Who looks for a function. */
struct functions_wish {
        void *context;
        bool (*fits)(void *context, const char *name);
        uint64_t seen; /* names that were looked at */
};

/* Whether a function of MODULE fits. */
bool functions_have(struct symbols *s, uint32_t module, struct functions_wish *w);

#endif
