/* SPDX-License-Identifier: MIT */
#include "types/member.h"

#include <dwarf.h>
#include <string.h>

#include "names/die.h"
#include "types/type.h"

/* How well something fits an offset where a pointer was seen. */
enum member_fit { MEMBER_NOT, MEMBER_AROUND, MEMBER_VALUE, MEMBER_POINTER };

/* Members looked at for one offset: unions of unions of ... end here. */
enum { MEMBER_BUDGET = 20000 };

struct member_search {
        const struct globals *globals;
        uint32_t budget;
};

static enum member_fit fit_at(struct member_search *m, Dwarf_Die *type, uint64_t offset, int depth);

static bool has_members(Dwarf_Die *type)
{
        switch (dwarf_tag(type)) {
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_interface_type:
                return true;
        default:
                return false;
        }
}

/* ---- arrays ---- */

static uint64_t dimension_of(Dwarf_Die *range)
{
        uint64_t count, lower = 0;

        if (die_number(range, DW_AT_count, &count))
                return count;
        if (!die_number(range, DW_AT_upper_bound, &count))
                return 0;
        die_number(range, DW_AT_lower_bound, &lower);
        return count + 1 - lower;
}

uint32_t member_dimensions(Dwarf_Die *array, uint64_t dimensions[MEMBER_DIMENSIONS])
{
        uint32_t count = 0;
        Dwarf_Die die;

        if (dwarf_child(array, &die) != 0)
                return 0;
        do {
                if (dwarf_tag(&die) == DW_TAG_subrange_type)
                        dimensions[count++] = dimension_of(&die);
        } while (count < MEMBER_DIMENSIONS && dwarf_siblingof(&die, &die) == 0);
        return count;
}

/* Index of the element at OFFSET, which becomes the offset in it. */
static bool array_index(Dwarf_Die *array, Dwarf_Die *element, uint64_t *offset, uint64_t *index)
{
        uint64_t bytes = type_bytes(array),
                 each = die_type(array, element) ? type_bytes(element) : 0;

        if (!each || (bytes && *offset >= bytes))
                return false;
        *index = *offset / each;
        *offset %= each;
        return true;
}

/* "[2][0]" */
static void array_text(Dwarf_Die *array, uint64_t index, struct str *out)
{
        uint64_t dimensions[MEMBER_DIMENSIONS], place[MEMBER_DIMENSIONS];
        uint32_t count = member_dimensions(array, dimensions);

        for (uint32_t i = count; i-- > 1;) {
                place[i] = dimensions[i] ? index % dimensions[i] : 0;
                index /= dimensions[i] ? dimensions[i] : 1;
        }
        place[0] = index;
        for (uint32_t i = 0; i < (count ? count : 1); i++)
                str_format(out, "[%llu]", (unsigned long long)place[i]);
}

/* ---- members ---- */

/* Where a member begins; false: it is none with a place of its own (static, a bit field, a virtual
 * base). */
static bool member_offset(Dwarf_Die *member, uint64_t *offset)
{
        Dwarf_Attribute attr;
        Dwarf_Op *ops;
        size_t count;

        if (dwarf_hasattr(member, DW_AT_bit_size) || dwarf_hasattr(member, DW_AT_external) ||
            dwarf_hasattr(member, DW_AT_declaration))
                return false;
        *offset = 0;
        if (!dwarf_attr(member, DW_AT_data_member_location, &attr) ||
            die_number(member, DW_AT_data_member_location, offset))
                return true;
        if (dwarf_getlocation(&attr, &ops, &count) != 0 || count != 1 ||
            ops[0].atom != DW_OP_plus_uconst)
                return false;
        *offset = ops[0].number;
        return true;
}

static bool member_type(const struct globals *g, Dwarf_Die *member, Dwarf_Die *type)
{
        if (!die_type(member, type) || !type_peel(type))
                return false;
        type_complete(g, type);
        return true;
}

struct member_best {
        enum member_fit fit;
        Dwarf_Die member;
        uint64_t start;
};

static void member_try(struct member_search *m, Dwarf_Die *member, uint64_t offset,
                       struct member_best *best, int depth)
{
        uint64_t start, bytes;
        enum member_fit fit;
        Dwarf_Die type;

        if (!m->budget || !member_offset(member, &start) || offset < start ||
            !member_type(m->globals, member, &type))
                return;
        m->budget--;
        bytes = type_bytes(&type);
        if (bytes ? offset - start >= bytes : dwarf_tag(&type) != DW_TAG_array_type)
                return;
        fit = fit_at(m, &type, offset - start, depth + 1);
        if (fit > best->fit)
                *best = (struct member_best){ fit, *member, start };
}

/* Rust's enums have their members one or two levels deeper. */
static void members_try(struct member_search *m, Dwarf_Die *parent, uint64_t offset,
                        struct member_best *best, int depth)
{
        Dwarf_Die die;

        if (depth >= DIE_DEPTH || dwarf_child(parent, &die) != 0)
                return;
        do {
                switch (dwarf_tag(&die)) {
                case DW_TAG_member:
                case DW_TAG_inheritance:
                        member_try(m, &die, offset, best, depth);
                        break;
                case DW_TAG_variant_part:
                case DW_TAG_variant:
                        members_try(m, &die, offset, best, depth + 1);
                        break;
                default:
                        break;
                }
        } while (m->budget && dwarf_siblingof(&die, &die) == 0);
}

static enum member_fit fit_at(struct member_search *m, Dwarf_Die *type, uint64_t offset, int depth)
{
        struct member_best best = { .fit = MEMBER_NOT };
        Dwarf_Die element;
        uint64_t index;

        if (depth >= DIE_DEPTH)
                return MEMBER_NOT;
        if (has_members(type)) {
                members_try(m, type, offset, &best, depth);
                return best.fit > MEMBER_AROUND ? best.fit : MEMBER_AROUND;
        }
        if (dwarf_tag(type) == DW_TAG_array_type) {
                if (!array_index(type, &element, &offset, &index) || !type_peel(&element))
                        return MEMBER_NOT;
                return fit_at(m, &element, offset, depth + 1);
        }
        return type_is_pointer(type) && offset == 0 ? MEMBER_POINTER : MEMBER_VALUE;
}

static void member_text(Dwarf_Die *member, struct str *out)
{
        const char *name = dwarf_tag(member) == DW_TAG_inheritance ? NULL : dwarf_diename(member);

        if (name) /* members without a name are called __0, __1 by rustc */
                str_format(out, ".%s",
                           strncmp(name, "__", 2) == 0 &&
                                           strspn(name + 2, "0123456789") == strlen(name + 2)
                                   ? name + 2
                                   : name);
}

bool member_step(const struct globals *g, Dwarf_Die *type, uint64_t *offset, struct str *out)
{
        struct member_search m = { g, MEMBER_BUDGET };
        struct member_best best = { .fit = MEMBER_NOT };
        Dwarf_Die inner;
        uint64_t index;

        if (dwarf_tag(type) == DW_TAG_array_type) {
                if (!array_index(type, &inner, offset, &index))
                        return false;
                array_text(type, index, out);
                *type = inner;
                return true;
        }
        if (!has_members(type))
                return false;
        members_try(&m, type, *offset, &best, 0);
        if (best.fit == MEMBER_NOT || !die_type(&best.member, &inner))
                return false;
        member_text(&best.member, out);
        *offset -= best.start;
        *type = inner;
        return true;
}

/* ---- one pointer and nothing else ---- */

/* How many pointers TYPE holds (the last of them: *POINTER); any other content counts as two. */
static uint32_t pointers_in(struct member_search *m, Dwarf_Die *type, Dwarf_Die *pointer, int depth)
{
        uint32_t count = 0;
        Dwarf_Die die, inner;
        uint64_t start;

        if (type_is_pointer(type)) {
                *pointer = *type;
                return 1;
        }
        if (!has_members(type) || dwarf_tag(type) == DW_TAG_union_type || depth >= DIE_DEPTH)
                return 2;
        if (dwarf_child(type, &die) != 0)
                return 0;
        do {
                int tag = dwarf_tag(&die);

                if (tag == DW_TAG_variant_part)
                        return 2;
                if (!m->budget || (tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
                    !member_offset(&die, &start))
                        continue;
                m->budget--;
                count += member_type(m->globals, &die, &inner)
                                 ? pointers_in(m, &inner, pointer, depth + 1)
                                 : 2;
        } while (count < 2 && dwarf_siblingof(&die, &die) == 0);
        return count;
}

bool member_sole_pointer(const struct globals *g, Dwarf_Die *type, Dwarf_Die *pointer)
{
        struct member_search m = { g, MEMBER_BUDGET };
        Dwarf_Die found;

        if (pointers_in(&m, type, &found, 0) != 1)
                return false;
        *pointer = found;
        return true;
}
