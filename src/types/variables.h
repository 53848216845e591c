/* SPDX-License-Identifier: MIT */
/* variables.h -- what a resolver keeps about variables: lists per module, and numbers for types. */
#ifndef SEEP_TYPES_VARIABLES_H
#define SEEP_TYPES_VARIABLES_H

#include "base/table.h"
#include "names/module.h"
#include "names/symbol.h"
#include "types/globals.h"
#include "types/variable.h"

struct variable_module {
        struct module *file;
        struct globals globals;    /* empty without debug information */
        struct symtab data, thread; /* symbols */
        uint64_t bias;             /* address in DWARF = address in memory - this */
        bool listed;
};

struct variable_described {
        Dwarf_Die die;
        uint32_t module;
        uint32_t pointers; /* a pointer to that, or to such a pointer, ... */
        const char *name; /* NULL: not asked for yet; "": unknown */
};

/* The class whose table of virtual functions is at an address. */
struct variable_class_known {
        uint64_t vtable;
        const char *name;
        struct variable_type type;
};

struct variables {
        struct variable_module *modules;
        uint32_t module_count;
        struct variable_described *types;
        size_t type_count;
        struct table numbers; /* of types */
        struct variable_class_known *classes;
        size_t class_count;
        struct table class_numbers;
};

/* Made when they are first asked for; they go with S. */
struct variables *variables_of(struct symbols *s);

/* With its lists made; NULL: there is no file for it. */
struct variable_module *variables_module(struct symbols *s, uint32_t module);

/* A number for a type, the same for the same one. */
struct variable_type variables_number(struct variables *v, uint32_t module, const Dwarf_Die *die,
                                      uint32_t pointers);

/* NULL for unknown. */
struct variable_described *variables_described(struct variables *v, struct variable_type type);

/* Name and function of OUT, from DWARF and from the symbol table. */
void variables_name(struct symbols *s, Dwarf_Die *die, bool in_function, struct variable *out);
void variables_name_symbol(struct symbols *s, const char *symbol, struct variable *out);

/* Place and type of OUT.  SKELETON: of the unit of DIE, NULL unknown. */
void variables_describe(struct symbols *s, uint32_t module, Dwarf_Die *die, Dwarf_Die *skeleton,
                        struct variable *out);

/* The last part of NAME, behind all "::" that are outside of brackets. */
const char *variables_last_part(const char *name);

#endif
