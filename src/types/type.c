/* SPDX-License-Identifier: MIT */
#include "types/type.h"

#include <dwarf.h>
#include <string.h>

#include "names/die.h"
#include "types/globals.h"
#include "types/library.h"
#include "types/member.h"

bool type_peel(Dwarf_Die *type)
{
        for (int i = 0; i < DIE_DEPTH; i++) {
                Dwarf_Die next;

                switch (dwarf_tag(type)) {
                case DW_TAG_typedef:
                case DW_TAG_const_type:
                case DW_TAG_volatile_type:
                case DW_TAG_restrict_type:
                case DW_TAG_atomic_type:
                case DW_TAG_immutable_type:
                case DW_TAG_packed_type:
                case DW_TAG_shared_type:
                case DW_TAG_template_alias:
                        if (!die_type(type, &next))
                                return false;
                        *type = next;
                        break;
                default:
                        return true;
                }
        }
        return false;
}

bool type_is_pointer(Dwarf_Die *type)
{
        switch (dwarf_tag(type)) {
        case DW_TAG_pointer_type:
        case DW_TAG_reference_type:
        case DW_TAG_rvalue_reference_type:
                return true;
        default:
                return false;
        }
}

/* ---- size ---- */

static uint64_t bytes_within(Dwarf_Die *type, int depth);

/* All the elements of an array; 0: it has no end of its own. */
static uint64_t array_bytes(Dwarf_Die *array, int depth)
{
        uint64_t dimensions[MEMBER_DIMENSIONS], bytes;
        uint32_t count = member_dimensions(array, dimensions);
        Dwarf_Die element;

        if (!die_type(array, &element))
                return 0;
        bytes = bytes_within(&element, depth + 1);
        for (uint32_t i = 0; i < count; i++)
                if (__builtin_mul_overflow(bytes, dimensions[i], &bytes))
                        return 0;
        return count ? bytes : 0;
}

static uint64_t bytes_within(Dwarf_Die *type, int depth)
{
        Dwarf_Die peeled = *type;
        uint64_t bytes;

        if (depth == DIE_DEPTH || !type_peel(&peeled))
                return 0;
        if (die_number(&peeled, DW_AT_byte_size, &bytes))
                return bytes;
        if (dwarf_tag(&peeled) == DW_TAG_array_type)
                return array_bytes(&peeled, depth);
        return type_is_pointer(&peeled) ? sizeof(void *) : 0;
}

uint64_t type_bytes(Dwarf_Die *type)
{
        return bytes_within(type, 0);
}

/* ---- declarations ---- */

static bool same_scope(Dwarf_Die *a, Dwarf_Die *b)
{
        struct str x = { 0 }, y = { 0 };
        bool same;

        if (die_in_c(a) && die_in_c(b))
                return true;
        same = type_scoped_name(a, &x) && type_scoped_name(b, &y) &&
               strcmp(str_get(&x), str_get(&y)) == 0;
        str_free(&x);
        str_free(&y);
        return same;
}

void type_complete(const struct globals *g, Dwarf_Die *type)
{
        const struct global_name *found;
        const char *name;
        size_t count;
        Dwarf_Die whole;

        if (!dwarf_hasattr(type, DW_AT_declaration))
                return;
        if (dwarf_hasattr(type, DW_AT_signature) && die_refers(type, DW_AT_signature, &whole)) {
                *type = whole;
                return;
        }
        name = g ? dwarf_diename(type) : NULL;
        found = name ? globals_named(&g->types, name, &count) : NULL;
        for (size_t i = 0; found && i < count && i < DIE_DEPTH; i++) {
                whole = found[i].die;
                if (same_scope(type, &whole)) {
                        *type = whole;
                        return;
                }
        }
}

/* ---- pointers ---- */

bool type_target(const struct globals *g, Dwarf_Die *type, Dwarf_Die *target)
{
        Dwarf_Die pointer = *type;

        if (!type_peel(&pointer))
                return false;
        if (!type_is_pointer(&pointer)) {
                type_complete(g, &pointer);
                if (!member_sole_pointer(g, &pointer, &pointer) &&
                    !library_pointer(g, &pointer, &pointer))
                        return false;
        }
        if (!die_type(&pointer, target))
                return false;
        type_complete(g, target);
        return true;
}

uint32_t type_path(const struct globals *g, Dwarf_Die *type, uint64_t *offset, Dwarf_Die *node,
                   struct str *out)
{
        struct library_node known = { .rule = NULL };
        Dwarf_Die next = *type;
        bool more = true;

        for (int i = 0; more && i < DIE_DEPTH; i++) {
                if (!type_peel(&next))
                        break;
                type_complete(g, &next);
                library_note(&known, &next);
                if (library_content(&next))
                        *type = next;
                if (*offset == 0 && library_wraps_pointer(g, &next))
                        break;
                more = member_step(g, &next, offset, out);
                if (more)
                        *type = next;
        }
        *node = known.die;
        return library_leads_to_node(&known, type);
}
