/* SPDX-License-Identifier: MIT */
#include "names/die.h"

#include <dwarf.h>
#include <stddef.h>

bool die_number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
        Dwarf_Attribute attr;
        Dwarf_Word word;

        if (dwarf_formudata(dwarf_attr_integrate(die, name, &attr), &word) != 0)
                return false;
        *value = word;
        return true;
}

bool die_flag(Dwarf_Die *die, unsigned name)
{
        Dwarf_Attribute attr;
        bool flag;

        return dwarf_formflag(dwarf_attr_integrate(die, name, &attr), &flag) == 0 && flag;
}

const char *die_text(Dwarf_Die *die, unsigned name)
{
        Dwarf_Attribute attr;

        return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

const char *die_linkage(Dwarf_Die *die)
{
        const char *name = die_text(die, DW_AT_linkage_name);

        return name ? name : die_text(die, DW_AT_MIPS_linkage_name);
}

bool die_refers(Dwarf_Die *die, unsigned name, Dwarf_Die *out)
{
        Dwarf_Attribute attr;

        return dwarf_attr_integrate(die, name, &attr) && dwarf_formref_die(&attr, out);
}

bool die_type(Dwarf_Die *die, Dwarf_Die *out)
{
        Dwarf_Die whole;

        if (!die_refers(die, DW_AT_type, out))
                return false;
        if (dwarf_hasattr(out, DW_AT_signature) && die_refers(out, DW_AT_signature, &whole))
                *out = whole;
        return true;
}

static bool die_files(Dwarf_CU *cu, Dwarf_Die *skeleton, Dwarf_Files **files, size_t *count)
{
        Dwarf_Die unit;

        if (dwarf_cu_info(cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL) == 0 &&
            dwarf_getsrcfiles(&unit, files, count) == 0)
                return true;
        return skeleton && dwarf_getsrcfiles(skeleton, files, count) == 0;
}

const char *die_place(Dwarf_Die *die, Dwarf_Die *skeleton, uint32_t *line)
{
        Dwarf_Attribute attr;
        Dwarf_Files *files;
        Dwarf_Word number;
        uint64_t found = 0;
        size_t count;

        *line = die_number(die, DW_AT_decl_line, &found) ? (uint32_t)found : 0;
        if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attr), &number) != 0 ||
            !die_files(attr.cu, skeleton, &files, &count) || number >= count)
                return NULL;
        return dwarf_filesrc(files, number, NULL, NULL);
}

Dwarf_Die die_origin(Dwarf_Die *die)
{
        Dwarf_Die origin = *die, next;

        for (int i = 0; i < DIE_DEPTH; i++) {
                Dwarf_Attribute attr;

                if (!dwarf_attr(&origin, DW_AT_specification, &attr) &&
                    !dwarf_attr(&origin, DW_AT_abstract_origin, &attr))
                        break;
                if (!dwarf_formref_die(&attr, &next))
                        break;
                origin = next;
        }
        return origin;
}

/* Entries are stored in the order of the tree: the one that holds AT is the last that begins before
 * it. */
static bool die_step(Dwarf_Die *parent, const void *at, Dwarf_Die *out)
{
        Dwarf_Die die;
        bool found = false;

        if (dwarf_child(parent, &die) != 0)
                return false;
        do {
                if ((uintptr_t)die.addr > (uintptr_t)at)
                        break;
                *out = die;
                found = true;
        } while (dwarf_siblingof(&die, &die) == 0);
        return found;
}

uint32_t die_chain(Dwarf_Die *die, Dwarf_Die chain[DIE_DEPTH])
{
        uint32_t count = 1;

        if (!dwarf_diecu(die, &chain[0], NULL, NULL))
                return 0;
        while (chain[count - 1].addr != die->addr) {
                if (count == DIE_DEPTH || !die_step(&chain[count - 1], die->addr, &chain[count]))
                        return 0;
                count++;
        }
        return count;
}

int die_language(Dwarf_Die *die)
{
        Dwarf_Die unit;

        return dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
}

bool die_in_c(Dwarf_Die *die)
{
        switch (die_language(die)) {
        case DW_LANG_C:
        case DW_LANG_C89:
        case DW_LANG_C99:
        case DW_LANG_C11:
        case DW_LANG_ObjC:
                return true;
        default:
                return false;
        }
}
