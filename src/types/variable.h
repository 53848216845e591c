/* SPDX-License-Identifier: MIT */
/*
 * variable.h -- from an address to a global, static or thread-local variable, and the member of it
 * by its type.
 */
#ifndef SEEP_TYPES_VARIABLE_H
#define SEEP_TYPES_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"

/* Types are known by their description; 0 is "unknown".  Valid until symbols_free(). */
struct variable_type {
        uint64_t n;
};

struct variable {
        const char *name;     /* demangled; NULL unknown */
        const char *function; /* of a static variable inside a function; NULL */
        const char *file;     /* where it is declared; NULL unknown */
        uint32_t line;        /* 0 unknown */
        uint64_t start, size; /* address in memory (TLS: offset in the module's thread-local
                               * storage); size 0 unknown */
        bool is_static;       /* not visible outside of its file */
        struct variable_type type;
};

/* The variable of MODULE at ADDRESS (in memory).  DWARF first (knows static ones, also inside
 * functions), else the symbol table.  false: none is known there. */
bool variable_at(struct symbols *s, uint32_t module, uint64_t address, struct variable *out);

/* The same for a thread-local variable at OFFSET in the thread-local storage of MODULE. */
bool variable_tls(struct symbols *s, uint32_t module, uint64_t offset, struct variable *out);

/* A variable or parameter in the stack frame of the function at PC (a return address unless EXACT)
 * in MODULE, CFA being the frame's high end, that lies at ADDRESS in memory.  Only what DWARF
 * describes relative to the frame; false: unknown. */
bool variable_in_frame(struct symbols *s, uint32_t module, uint64_t pc, bool exact, uint64_t cfa,
                       uint64_t address, struct variable *out);

/* Append the way to OFFSET inside TYPE: ".next", "[3].name", nothing when unknown.  *MEMBER is the
 * type of what is there, *OFFSET what is left over. */
void variable_path(struct symbols *s, struct variable_type type, uint64_t *offset,
                   struct variable_type *member, struct str *out);

/* What a pointer of TYPE points to; unknown for void * and what is no pointer (smart pointers of
 * the C++ library count as pointers). */
struct variable_type variable_target(struct symbols *s, struct variable_type type);

/* Append "struct node", "Session", "char *"; false when unknown. */
bool variable_type_name(struct symbols *s, struct variable_type type, struct str *out);

/* sizeof; 0 unknown. */
uint64_t variable_type_size(struct symbols *s, struct variable_type type);

/* The C++ class whose table of virtual functions VTABLE (an address in memory) points into; NULL:
 * it is none.  *TYPE, unless NULL: its type. */
const char *variable_class(struct symbols *s, uint64_t vtable, struct variable_type *type);

#endif
