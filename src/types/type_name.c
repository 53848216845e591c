/* SPDX-License-Identifier: MIT */
/* type_name.c -- names of types, as in source code. */
#include <dwarf.h>
#include <string.h>

#include "names/demangle.h"
#include "names/die.h"
#include "types/member.h"
#include "types/type.h"

/* A name that is being made. */
struct type_text {
        struct str text;
        bool in_c;
};

static bool name_within(Dwarf_Die *type, struct type_text *out, int depth);

/* A namespace or class around something; functions are named by their own demangled name
 * elsewhere. */
static void scope_name(Dwarf_Die *scope, struct str *out)
{
        const char *name = dwarf_diename(scope);

        switch (dwarf_tag(scope)) {
        case DW_TAG_namespace:
                str_format(out, "%s::", name ? name : "(anonymous namespace)");
                break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_module:
                if (name)
                        str_format(out, "%s::", name);
                break;
        default:
                break;
        }
}

bool type_scoped_name(Dwarf_Die *die, struct str *out)
{
        Dwarf_Die origin = die_origin(die), chain[DIE_DEPTH];
        const char *name = dwarf_diename(&origin);
        uint32_t count = name && !die_in_c(&origin) ? die_chain(&origin, chain) : 0;
        size_t before = out->length;

        if (!name)
                return false;
        for (uint32_t i = 1; i + 1 < count; i++)
                scope_name(&chain[i], out);
        str_text(out, name);
        demangle_shorten(out->data + before);
        out->length = before + strlen(out->data + before);
        return true;
}

/* "struct node" in C, "Session" elsewhere. */
static bool name_with_tag(Dwarf_Die *type, const char *word, struct type_text *out)
{
        bool in_c = die_language(type) < 0 ? out->in_c : die_in_c(type);

        if (in_c || !dwarf_diename(type))
                str_format(&out->text, "%s ", word);
        if (!type_scoped_name(type, &out->text))
                str_text(&out->text, "{...}");
        return true;
}

static bool name_pointed(Dwarf_Die *type, const char *mark, struct type_text *out, int depth)
{
        const char *own = dwarf_diename(type);
        Dwarf_Die target;

        if (own) { /* Rust names its pointers: &str, alloc::boxed::Box<T> */
                str_text(&out->text, own);
                return true;
        }
        if (!die_type(type, &target)) {
                str_format(&out->text, "void %s", mark);
                return true;
        }
        if (dwarf_tag(&target) == DW_TAG_subroutine_type) {
                Dwarf_Die result;

                if (!die_type(&target, &result) || !name_within(&result, out, depth + 1))
                        str_text(&out->text, "void");
                str_format(&out->text, " (%s)()", mark);
                return true;
        }
        if (!name_within(&target, out, depth + 1))
                return false;
        if (out->text.length && out->text.data[out->text.length - 1] != '*')
                str_char(&out->text, ' ');
        str_text(&out->text, mark);
        return true;
}

/* "const char", but "char *const". */
static bool name_qualified(Dwarf_Die *type, const char *word, struct type_text *out, int depth)
{
        Dwarf_Die inner;

        if (!die_type(type, &inner)) {
                str_format(&out->text, "%s void", word);
                return true;
        }
        if (!type_is_pointer(&inner)) {
                str_format(&out->text, "%s ", word);
                return name_within(&inner, out, depth + 1);
        }
        if (!name_within(&inner, out, depth + 1))
                return false;
        str_text(&out->text, word);
        return true;
}

static bool name_array(Dwarf_Die *type, struct type_text *out, int depth)
{
        uint64_t dimensions[MEMBER_DIMENSIONS];
        uint32_t count = member_dimensions(type, dimensions);
        Dwarf_Die element;

        if (!die_type(type, &element) || !name_within(&element, out, depth + 1))
                return false;
        for (uint32_t i = 0; i < count; i++) {
                if (dimensions[i])
                        str_format(&out->text, "[%llu]", (unsigned long long)dimensions[i]);
                else
                        str_text(&out->text, "[]");
        }
        if (!count)
                str_text(&out->text, "[]");
        return true;
}

/* Typedefs inside of the C++ library's templates
 * (std::__detail::_Hashtable_alloc<...>::__node_base_ptr) are for itself. */
static bool name_typedef(Dwarf_Die *type, struct type_text *out, int depth)
{
        Dwarf_Die chain[DIE_DEPTH], inner;
        uint32_t count = die_in_c(type) ? 0 : die_chain(type, chain);
        const char *outer = count > 3 ? dwarf_diename(&chain[1]) : NULL;

        if (outer && strcmp(outer, "std") == 0 &&
            dwarf_tag(&chain[count - 2]) != DW_TAG_namespace && die_type(type, &inner))
                return name_within(&inner, out, depth + 1);
        return type_scoped_name(type, &out->text);
}

static bool name_within(Dwarf_Die *type, struct type_text *out, int depth)
{
        if (depth == DIE_DEPTH)
                return false;
        switch (dwarf_tag(type)) {
        case DW_TAG_pointer_type:
                return name_pointed(type, "*", out, depth);
        case DW_TAG_reference_type:
                return name_pointed(type, "&", out, depth);
        case DW_TAG_rvalue_reference_type:
                return name_pointed(type, "&&", out, depth);
        case DW_TAG_const_type:
                return name_qualified(type, "const", out, depth);
        case DW_TAG_volatile_type:
                return name_qualified(type, "volatile", out, depth);
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_packed_type: {
                Dwarf_Die inner;

                return die_type(type, &inner) && name_within(&inner, out, depth + 1);
        }
        case DW_TAG_array_type:
                return name_array(type, out, depth);
        case DW_TAG_typedef:
                return name_typedef(type, out, depth);
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
                return name_with_tag(type, "struct", out);
        case DW_TAG_union_type:
                return name_with_tag(type, "union", out);
        case DW_TAG_enumeration_type:
                return name_with_tag(type, "enum", out);
        default:
                return type_scoped_name(type, &out->text);
        }
}

bool type_name(Dwarf_Die *type, bool in_c, struct str *out)
{
        struct type_text name = { .in_c = in_c };
        bool known = name_within(type, &name, 0);

        if (known)
                str_text(out, str_get(&name.text));
        str_free(&name.text);
        return known;
}
