/* SPDX-License-Identifier: MIT */
#include "types/library.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "names/die.h"
#include "types/member.h"
#include "types/type.h"

/* In libstdc++ a container has a typedef for pointers to its nodes, or for their allocator. */
struct library_rule {
        const char *base, *node, *container, *link;
};

static const struct library_rule rules[] = {
        { "_Rb_tree_node_base", "_Rb_tree_node<", "_Rb_tree<", "_Link_type" },
        { "_List_node_base", "_List_node<", "_List_base<", "_Node_alloc_type" },
        { "_Fwd_list_node_base", "_Fwd_list_node<", "_Fwd_list_base<", "_Node_alloc_type" },
        { "_Hash_node_base", "_Hash_node<", "_Hashtable<", "__node_ptr" },
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

static bool find_child(Dwarf_Die *parent, int tag, Dwarf_Die *out)
{
        if (dwarf_child(parent, out) != 0)
                return false;
        while (dwarf_tag(out) != tag)
                if (dwarf_siblingof(out, out) != 0)
                        return false;
        return true;
}

/* The first type that a template was given, or (gcc leaves it out in
 * std::allocator<T>) its base class. */
static bool template_argument(Dwarf_Die *type, Dwarf_Die *out)
{
        Dwarf_Die die, base;

        if (find_child(type, DW_TAG_template_type_parameter, &die))
                return die_type(&die, out);
        return find_child(type, DW_TAG_inheritance, &die) && die_type(&die, &base) &&
               type_peel(&base) && find_child(&base, DW_TAG_template_type_parameter, &die) &&
               die_type(&die, out);
}

static bool node_of_container(Dwarf_Die *container, const char *link, Dwarf_Die *node)
{
        Dwarf_Die target;

        if (!find_typedef(container, link, node) || !type_peel(node))
                return false;
        if (type_is_pointer(node) ? !die_type(node, &target) : !template_argument(node, &target))
                return false;
        if (!type_peel(&target))
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
                    !(starts(name, rules[i].container) &&
                      node_of_container(structure, rules[i].link, &node)))
                        continue;
                *n = (struct library_node){ &rules[i], node };
                return;
        }
}

uint32_t library_leads_to_node(const struct library_node *n, Dwarf_Die *type)
{
        Dwarf_Die at = *type, target;
        uint32_t pointers = 0;
        const char *name;

        if (!n->rule || !type_peel(&at))
                return 0;
        for (; pointers < 2 && type_is_pointer(&at); pointers++) {
                if (!die_type(&at, &target) || !type_peel(&target))
                        return 0;
                at = target;
        }
        name = dwarf_diename(&at);
        return name && strcmp(name, n->rule->base) == 0 ? pointers : 0;
}

bool library_content(Dwarf_Die *type)
{
        const char *name = dwarf_diename(type);
        Dwarf_Die content;

        if (!name || (!starts(name, "__aligned_membuf<") && !starts(name, "__aligned_buffer<")) ||
            !template_argument(type, &content) || !type_peel(&content))
                return false;
        *type = content;
        return true;
}

static bool in_library(Dwarf_Die *type)
{
        Dwarf_Die chain[DIE_DEPTH], origin = die_origin(type);
        bool inside = die_chain(&origin, chain) > 2 && dwarf_tag(&chain[1]) == DW_TAG_namespace;
        const char *outer = inside ? dwarf_diename(&chain[1]) : NULL;

        return outer && (strcmp(outer, "std") == 0 || strcmp(outer, "alloc") == 0 ||
                         strcmp(outer, "core") == 0);
}

static bool is_link(Dwarf_Die *type)
{
        const char *name = dwarf_diename(type);

        for (size_t i = 0; name && i < sizeof rules / sizeof rules[0]; i++)
                if (strcmp(name, rules[i].base) == 0)
                        return true;
        return false;
}

bool library_wraps_pointer(const struct globals *g, Dwarf_Die *type)
{
        Dwarf_Die pointer, target;

        if (type_is_pointer(type) || type_bytes(type) != sizeof(void *) ||
            !member_sole_pointer(g, type, &pointer))
                return false;
        if (die_type(&pointer, &target) && type_peel(&target) &&
            (target.addr == type->addr || is_link(&target)))
                return false; /* the link of a list, or a list of one link */
        return in_library(type);
}

bool library_pointer(const struct globals *g, Dwarf_Die *type, Dwarf_Die *pointer)
{
        const char *name = dwarf_diename(type);
        uint64_t offset = 0;
        struct str way = { 0 };
        Dwarf_Die inner = *type, ignored;

        if (!name || (!starts(name, "shared_ptr<") && !starts(name, "weak_ptr<")) ||
            !in_library(type))
                return false;
        type_path(g, &inner, &offset, &ignored, &way);
        str_free(&way);
        if (!type_peel(&inner) || !type_is_pointer(&inner))
                return false;
        *pointer = inner;
        return true;
}
