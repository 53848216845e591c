/* SPDX-License-Identifier: MIT */
/*
 * ranges.c -- lists of address ranges, decoded from the bytes of a unit that libdw did not join
 * itself.
 *
 * Keeps:  never reads outside the lists and the addresses it was given.
 */
#include "names/ranges.h"

#include <dwarf.h>
#include <string.h>

struct range_cursor {
        const uint8_t *at, *end;
        bool bad;
};

static uint64_t range_word(struct range_cursor *c, unsigned bytes)
{
        uint64_t word = 0;
        uint32_t half;

        if ((size_t)(c->end - c->at) < bytes || (bytes != 4 && bytes != 8)) {
                c->bad = true;
                return 0;
        }
        memcpy(&half, c->at, 4);
        memcpy(&word, c->at, bytes == 8 ? 8 : 0);
        c->at += bytes;
        return bytes == 8 ? word : half;
}

static uint64_t range_number(struct range_cursor *c)
{
        uint64_t value = 0;

        for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
                uint8_t byte = *c->at++;

                value |= (uint64_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80))
                        return value;
        }
        c->bad = true;
        return 0;
}

static uint64_t range_indexed(const struct ranges *r, struct range_cursor *c)
{
        uint64_t index = range_number(c);
        struct range_cursor at = { 0 };

        if (c->bad || index >= r->addresses.size / r->address_bytes) {
                c->bad = true;
                return 0;
        }
        at.at = r->addresses.data + index * r->address_bytes;
        at.end = r->addresses.data + r->addresses.size;
        return range_word(&at, r->address_bytes);
}

/* DWARF 5, section 2.17.3. */
static bool ranges_v5(const struct ranges *r, struct range_cursor *c, ranges_visit *visit,
                      void *context)
{
        uint64_t base = r->base, start, end;

        while (c->at < c->end && !c->bad) {
                switch (*c->at++) {
                case DW_RLE_base_addressx:
                        base = range_indexed(r, c);
                        continue;
                case DW_RLE_base_address:
                        base = range_word(c, r->address_bytes);
                        continue;
                case DW_RLE_startx_endx:
                        start = range_indexed(r, c);
                        end = range_indexed(r, c);
                        break;
                case DW_RLE_startx_length:
                        start = range_indexed(r, c);
                        end = start + range_number(c);
                        break;
                case DW_RLE_offset_pair:
                        start = base + range_number(c);
                        end = base + range_number(c);
                        break;
                case DW_RLE_start_end:
                        start = range_word(c, r->address_bytes);
                        end = range_word(c, r->address_bytes);
                        break;
                case DW_RLE_start_length:
                        start = range_word(c, r->address_bytes);
                        end = start + range_number(c);
                        break;
                default: /* DW_RLE_end_of_list, or nonsense */
                        return false;
                }
                if (!c->bad && start < end && visit(context, start, end))
                        return true;
        }
        return false;
}

/* Pairs of addresses; (all ones, BASE) changes the base, (0, 0) ends. */
static bool ranges_v4(const struct ranges *r, struct range_cursor *c, ranges_visit *visit,
                      void *context)
{
        uint64_t base = r->base, most = r->address_bytes == 8 ? UINT64_MAX : UINT32_MAX;

        for (;;) {
                uint64_t start = range_word(c, r->address_bytes),
                         end = range_word(c, r->address_bytes);

                if (c->bad || (!start && !end))
                        return false;
                if (start == most)
                        base = end;
                else if (start < end && visit(context, base + start, base + end))
                        return true;
        }
}

/* Where the list begins, in DWARF 5: at an offset, or at the one that stands behind the head of
 * the lists under a number. */
static uint64_t list_offset(const struct ranges *r, const Dwarf_Attribute *attr,
                            const uint8_t *attr_end)
{
        enum { HEAD_BYTES = 12 };
        struct range_cursor value = { .at = attr->valp, .end = attr_end };
        uint64_t index;

        if (attr->form != DW_FORM_rnglistx)
                return range_word(&value, 4);
        index = range_number(&value);
        if (value.bad || r->lists.size < HEAD_BYTES || index >= (r->lists.size - HEAD_BYTES) / 4)
                return UINT64_MAX;
        value = (struct range_cursor){ .at = r->lists.data + HEAD_BYTES + 4 * index,
                                       .end = r->lists.data + r->lists.size };
        return HEAD_BYTES + range_word(&value, 4);
}

bool ranges_walk(const struct ranges *r, const Dwarf_Attribute *attr, const uint8_t *attr_end,
                 ranges_visit *visit, void *context)
{
        uint64_t offset = list_offset(r, attr, attr_end);
        struct range_cursor c;

        if (offset >= r->lists.size || (r->address_bytes != 4 && r->address_bytes != 8))
                return false;
        c = (struct range_cursor){ .at = r->lists.data + offset,
                                   .end = r->lists.data + r->lists.size };
        return (r->version >= 5 ? ranges_v5 : ranges_v4)(r, &c, visit, context);
}
