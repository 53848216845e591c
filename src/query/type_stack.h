/* SPDX-License-Identifier: MIT */
/*
 * type_stack.h -- the type of a block by the call stack: what a container, a smart pointer or a
 * function of the C library allocated it for.
 */
#ifndef SEEP_QUERY_TYPE_STACK_H
#define SEEP_QUERY_TYPE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/wrapper.h"
#include "types/variable.h"

enum type_stack { TYPE_STACK_NONE, TYPE_STACK_TEMPLATE, TYPE_STACK_FUNCTION };

/* Append the name of what blocks allocated at NODE are, or are arrays of: "Session",
 * "int (tree node)", "char".  *TYPE: where debug information describes it. */
enum type_stack type_stack_find(const struct profile *p, struct symbols *s,
                                struct wrappers *wrappers, uint32_t node,
                                struct variable_type *type, struct str *name);

/* Append the class NAME as it is called here: the C++ library's nodes and control blocks by what
 * they are for. */
void type_stack_name(const char *name, struct str *out);

#endif
