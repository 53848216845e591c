/* SPDX-License-Identifier: MIT */
/*
 * spelling.h -- the type that a source line names: "struct node", "*list->head", a variable that is
 * declared there.
 *
 * Keeps:  a word that means several types is not decided: the answer is "unknown" then.
 */
#ifndef SEEP_TYPES_SPELLING_H
#define SEEP_TYPES_SPELLING_H

#include <stdint.h>

#include "names/symbol.h"
#include "types/variable.h"

/* A call in a function. */
struct spelling_place {
        struct symbols *s;
        uint32_t module;
        uint64_t address; /* of the call, in the module's file (symbols_address) */
        uint32_t level;   /* which of the functions inlined there, 0 innermost */
};

/* What WORDS are the name of: "struct node", "unsigned long *", "ns::Class<int>", a parameter of
 * the template that the function is made of. */
struct variable_type spelling_type(const struct spelling_place *place, const char *words);

/* The type of an expression of variables and members: "*list->head", "items[i].text". */
struct variable_type spelling_expression(const struct spelling_place *place, const char *text);

/* The type of the one pointer that is declared in LINE. */
struct variable_type spelling_declared(const struct spelling_place *place, uint32_t line);

/* What the function returns. */
struct variable_type spelling_result(const struct spelling_place *place);

/* What the parameter NAME of the template, or of the generic function, stands for. */
struct variable_type spelling_parameter(const struct spelling_place *place, const char *name);

/* The folder that the compiler was in; NULL unknown. */
const char *spelling_folder(const struct spelling_place *place);

/* TYPE without const and the like; a typedef of something that has a name of its own is that. */
struct variable_type spelling_plain(struct symbols *s, struct variable_type type);

#endif
