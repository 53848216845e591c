/* SPDX-License-Identifier: MIT */
/* library.h -- special knowledge about types of the C++ and Rust libraries, beyond DWARF. */
#ifndef SEEP_TYPES_LIBRARY_H
#define SEEP_TYPES_LIBRARY_H

#include <elfutils/libdw.h>
#include <stdbool.h>

struct globals;

/* std::map, std::list and the like link nodes by pointers to a base class of the node. */
struct library_node {
        const struct library_rule *rule; /* NULL: nothing is known */
        Dwarf_Die die;                   /* the node's type */
};

/* Keep in N what STRUCTURE, a container or a node that is passed on the way, tells
 * about the type of nodes. */
void library_note(struct library_node *n, Dwarf_Die *structure);

/* How many pointers TYPE has before the base class of nodes of the kind in N; 0: it
 * leads to something else. */
uint32_t library_leads_to_node(const struct library_node *n, Dwarf_Die *type);

/* Memory that an object is put into later is an array of bytes to the compiler: *TYPE
 * becomes that of the object. */
bool library_content(Dwarf_Die *type);

/* A smart pointer with nothing in it but the pointer: a reader thinks of it as that. */
bool library_wraps_pointer(const struct globals *g, Dwarf_Die *type);

/* The pointer in a smart pointer that has more in it than that (std::shared_ptr). */
bool library_pointer(const struct globals *g, Dwarf_Die *type, Dwarf_Die *pointer);

#endif
