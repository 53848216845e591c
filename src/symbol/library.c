/* SPDX-License-Identifier: MIT */
/*
 * library.c -- what types of the C++ and Rust libraries mean beyond what DWARF says of them.
 *
 * Room:   outside.
 */
#include "symbol/library.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "symbol/die.h"
#include "symbol/member.h"
#include "symbol/type.h"

/* In libstdc++ a container has a typedef for its nodes, or for a pointer to them. */
struct library_rule {
        const char *base, *node, *container, *link;
};

static const struct library_rule rules[] = {
        { "_Rb_tree_node_base", "_Rb_tree_node<", "_Rb_tree<", "_Link_type" },
        { "_List_node_base", "_List_node<", "list<", "_Node" },
        { "_Hash_node_base", "_Hash_node<", "_Hashtable<", "__node_type" },
};

static bool starts(const char *text, const char *with)
{
        return strncmp(text, with, strlen(with)) == 0;
}

static bool find_typedef(Dwarf_Die *parent, const char *name, Dwarf_Die *out)
{
        Dwarf_Die die;

        if (dwarf_child(parent, &die) != 0)
                return false;
        do {
                const char *own = dwarf_tag(&die) == DW_TAG_typedef ? dwarf_diename(&die) : NULL;

                if (own && strcmp(own, name) == 0) {
                        *out = die;
                        return true;
                }
        } while (dwarf_siblingof(&die, &die) == 0);
        return false;
}

static bool node_of_container(Dwarf_Die *container, const char *link, Dwarf_Die *node)
{
        Dwarf_Die target;

        if (!find_typedef(container, link, node) || !type_peel(node))
                return false;
        if (!type_is_pointer(node))
                return true;
        if (!die_type(node, &target) || !type_peel(&target))
                return false;
        *node = target;
        return true;
}

void library_note(struct library_node *n, Dwarf_Die *structure)
{
        const char *name = dwarf_diename(structure);

        for (size_t i = 0; name && i < sizeof rules / sizeof rules[0]; i++) {
                Dwarf_Die node = *structure;

                if (!starts(name, rules[i].node) &&
                    !(starts(name, rules[i].container) && node_of_container(structure, rules[i].link, &node)))
                        continue;
                *n = (struct library_node){ node, &rules[i], true };
                return;
        }
}

bool library_leads_to_node(const struct library_node *n, Dwarf_Die *type)
{
        Dwarf_Die pointer = *type, target;
        const char *name;

        if (!n->found || !type_peel(&pointer) || !type_is_pointer(&pointer) || !die_type(&pointer, &target) ||
            !type_peel(&target))
                return false;
        name = dwarf_diename(&target);
        return name && strcmp(name, n->rule->base) == 0;
}

static bool in_library(Dwarf_Die *type)
{
        Dwarf_Die chain[DIE_DEPTH], origin = die_origin(type);
        bool inside = die_chain(&origin, chain) > 2 && dwarf_tag(&chain[1]) == DW_TAG_namespace;
        const char *outer = inside ? dwarf_diename(&chain[1]) : NULL;

        return outer && (strcmp(outer, "std") == 0 || strcmp(outer, "alloc") == 0 || strcmp(outer, "core") == 0);
}

bool library_wraps_pointer(const struct globals *g, Dwarf_Die *type)
{
        Dwarf_Die pointer, target;

        if (type_is_pointer(type) || type_bytes(type) != sizeof(void *) || !member_sole_pointer(g, type, &pointer))
                return false;
        if (die_type(&pointer, &target) && type_peel(&target) && target.addr == type->addr)
                return false; /* the link of a list */
        return in_library(type);
}

bool library_pointer(const struct globals *g, Dwarf_Die *type, Dwarf_Die *pointer)
{
        const char *name = dwarf_diename(type);
        uint64_t offset = 0;
        struct str way = { 0 };
        Dwarf_Die inner = *type, ignored;

        if (!name || (!starts(name, "shared_ptr<") && !starts(name, "weak_ptr<")) || !in_library(type))
                return false;
        type_path(g, &inner, &offset, &ignored, &way);
        str_free(&way);
        if (!type_peel(&inner) || !type_is_pointer(&inner))
                return false;
        *pointer = inner;
        return true;
}
