/* SPDX-License-Identifier: MIT */
/*
 * root_name.h -- the name of a place outside of the heap that holds a pointer: a variable, a stack
 * frame, a register, a mapping.
 */
#ifndef SEEP_QUERY_ROOT_NAME_H
#define SEEP_QUERY_ROOT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "types/variable.h"

#define ROOT_NAME_NO_FRAME UINT32_MAX

struct root_name {
        const struct profile_root *root;
        uint64_t at; /* address of the pointer; of a register, 8 times its number */
        const char *thread;           /* name of root->tid; NULL unknown */
        struct variable variable;     /* name NULL: unknown */
        uint64_t offset;              /* of the pointer in the variable, or else in the root; of
                                       * data of a module: in its file */
        uint32_t frame; /* stacks: 0 is the innermost of its thread; ROOT_NAME_NO_FRAME unknown */
        const struct profile_frame *stopped;
        const struct symbol_frame *function; /* of that frame; never NULL when there is one */
};

/* What is AT in the root of that INDEX.  Names live as long as S. */
struct root_name root_name_at(const struct profile *p, struct symbols *s, uint32_t index,
                              uint64_t at);

/* Where root pointer HOLD is. */
static inline struct root_name root_name_of(const struct profile *p, struct symbols *s,
                                            uint64_t hold)
{
        return root_name_at(p, s, p->holds[hold].from, p->holds[hold].at);
}

/* Append "global session_table [server.c:41] (server)". */
void root_name_write(const struct profile *p, struct symbols *s, const struct root_name *h,
                     struct str *out);

/* The same as members of a JSON object. */
void root_name_json(const struct profile *p, const struct root_name *h, struct str *out);

/* Pointers with equal keys belong to one owner: a variable (in all threads), the frames of one
 * function in a thread, the registers of a thread, what one call mapped, ... */
struct root_name_key {
        uint64_t what, whose;
};
struct root_name_key root_name_key(const struct profile *p, const struct root_name *h);

/* Append the name of the owner that H is a part of: without the thread of a thread-local variable,
 * the number of a frame, ... */
void root_name_owner(const struct profile *p, struct symbols *s, const struct root_name *h,
                     struct str *out);

#endif
