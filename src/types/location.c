/* SPDX-License-Identifier: MIT */
/*
 * location.c -- where a variable with an address of its own is, from the expression that DWARF has for it.
 *
 * Room:   outside.
 */
#include "types/location.h"

#include <dwarf.h>

/* What an operation puts on the stack. */
enum location_value { LOCATION_UNKNOWN, LOCATION_ADDRESS, LOCATION_CONSTANT };

static enum location_value atom_value(unsigned atom)
{
        switch (atom) {
        case DW_OP_addr:
        case DW_OP_addrx:
        case DW_OP_GNU_addr_index:
                return LOCATION_ADDRESS;
        case DW_OP_const4u:
        case DW_OP_const8u:
        case DW_OP_constx:
        case DW_OP_GNU_const_index:
                return LOCATION_CONSTANT;
        default:
                return LOCATION_UNKNOWN;
        }
}

/* Whether the expression begins with an address; most are places in a frame or a register. */
static bool location_promises(Dwarf_Attribute *attr)
{
        Dwarf_Block block;

        return dwarf_formblock(attr, &block) == 0 && block.length && atom_value(block.data[0]) != LOCATION_UNKNOWN;
}

/* The value itself is in the operation, or that is an index of where it is. */
static bool op_value(Dwarf_Attribute *attr, const Dwarf_Op *op, uint64_t *value)
{
        Dwarf_Attribute there;
        Dwarf_Addr address;
        Dwarf_Word word;

        *value = op->number;
        if (op->atom == DW_OP_addr || op->atom == DW_OP_const4u || op->atom == DW_OP_const8u)
                return true;
        if (dwarf_getlocation_attr(attr, op, &there) != 0)
                return false;
        if (dwarf_formaddr(&there, &address) == 0)
                *value = address;
        else if (dwarf_formudata(&there, &word) == 0)
                *value = word;
        else
                return false;
        return true;
}

/* OPS up to COUNT are all that is said about PART. */
static bool part_read(Dwarf_Attribute *attr, const Dwarf_Op *ops, size_t count, struct location_part *part)
{
        enum location_value value = count ? atom_value(ops[0].atom) : LOCATION_UNKNOWN;

        if (value == LOCATION_UNKNOWN || !op_value(attr, &ops[0], &part->start))
                return false;
        for (size_t i = 1; i < count; i++) {
                if (ops[i].atom == DW_OP_form_tls_address || ops[i].atom == DW_OP_GNU_push_tls_address)
                        part->thread = true;
                else if (ops[i].atom == DW_OP_plus_uconst)
                        part->start += ops[i].number;
                else
                        return false;
        }
        return part->thread || value == LOCATION_ADDRESS;
}

uint32_t location_read(Dwarf_Attribute *attr, struct location_part parts[LOCATION_PARTS])
{
        uint64_t inner = 0;
        uint32_t found = 0;
        Dwarf_Op *ops;
        size_t count, end;

        if (!location_promises(attr) || dwarf_getlocation(attr, &ops, &count) != 0)
                return 0;
        for (size_t at = 0; at < count && found < LOCATION_PARTS; at = end + 1) {
                struct location_part part = { .inner = inner };

                for (end = at; end < count && ops[end].atom != DW_OP_piece; end++)
                        continue;
                part.size = end < count ? ops[end].number : 0;
                inner += part.size;
                if (part_read(attr, ops + at, end - at, &part))
                        parts[found++] = part;
        }
        return found;
}
