/* SPDX-License-Identifier: MIT */
/*
 * extent.c -- the functions of a module without names, told apart by its unwind tables.
 *
 * Cost:   one pass over .eh_frame of a module that has an address without a symbol, then a binary
 *         search per address.
 */
#include "names/extent.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "names/binary.h"

static const char extent_mark[] = "+f_";

/* The bytes of a section, and where they are in memory. */
struct table_bytes {
        const uint8_t *at, *end;
        uint64_t address; /* of AT */
        unsigned word;    /* bytes of an address */
        bool big;         /* big endian */
};

/* Bytes of a number that is stored as ENCODING says; 0: not of a fixed width. */
static unsigned number_bytes(unsigned encoding, unsigned word)
{
        switch (encoding & 0x0f) {
        case DW_EH_PE_absptr:
                return word;
        case DW_EH_PE_udata2:
        case DW_EH_PE_sdata2:
                return 2;
        case DW_EH_PE_udata4:
        case DW_EH_PE_sdata4:
                return 4;
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
                return 8;
        default:
                return 0;
        }
}

/* The next COUNT bytes, which are there. */
static uint64_t take_bytes(struct table_bytes *b, unsigned count)
{
        uint64_t value = 0;

        for (unsigned i = 0; i < count; i++)
                value |= (uint64_t)b->at[i] << 8 * (b->big ? count - 1 - i : i);
        b->at += count;
        b->address += count;
        return value;
}

/* A number as ENCODING says.  Addresses count from their own place, or from nothing: what counts
 * from elsewhere is not used for functions. */
static bool take_number(struct table_bytes *b, unsigned encoding, uint64_t *value)
{
        unsigned count = number_bytes(encoding, b->word), from = encoding & 0x70;
        uint64_t here = b->address;

        if (!count || (size_t)(b->end - b->at) < count || (encoding & DW_EH_PE_indirect) ||
            (from != DW_EH_PE_absptr && from != DW_EH_PE_pcrel))
                return false;
        *value = take_bytes(b, count);
        if ((encoding & DW_EH_PE_signed) && count < 8 && *value >> (8 * count - 1))
                *value |= UINT64_MAX << 8 * count;
        if (from == DW_EH_PE_pcrel)
                *value += here;
        if (b->word == 4)
                *value &= UINT32_MAX;
        return true;
}

/* How addresses are stored in the entries that belong to CIE: what stands at R in its
 * augmentation.  -1: cannot be told. */
static int address_encoding(const Dwarf_CIE *cie, unsigned word)
{
        const uint8_t *data = cie->augmentation_data;
        const uint8_t *end = data ? data + cie->augmentation_data_size : NULL;

        if (cie->augmentation[0] != 'z')
                return cie->augmentation[0] ? -1 : DW_EH_PE_absptr;
        for (const char *c = cie->augmentation + 1; *c; c++) {
                if (*c == 'S' || *c == 'B')
                        continue; /* a mark, without a byte of its own */
                if (data >= end || !strchr("RLP", *c))
                        return -1;
                if (*c == 'R')
                        return *data;
                if (*c == 'P' && !number_bytes(*data, word))
                        return -1;
                data += 1 + (*c == 'P' ? number_bytes(*data, word) : 0);
        }
        return DW_EH_PE_absptr;
}

struct extent_reader {
        struct extents *out;
        const unsigned char *ident;
        Elf_Data *data;
        uint64_t address;  /* of the section */
        unsigned word;
        Dwarf_Off cie;     /* the one that ENCODING is of */
        int encoding;
};

/* Neighbours mostly belong to the same CIE. */
static int encoding_of(struct extent_reader *r, const Dwarf_FDE *fde)
{
        Dwarf_CFI_Entry entry;
        Dwarf_Off next;

        if (fde->CIE_pointer == r->cie)
                return r->encoding;
        r->cie = fde->CIE_pointer;
        r->encoding = -1;
        if (dwarf_next_cfi(r->ident, r->data, true, fde->CIE_pointer, &next, &entry) == 0 &&
            dwarf_cfi_cie_p(&entry))
                r->encoding = address_encoding(&entry.cie, r->word);
        return r->encoding;
}

static void add_extent(struct extent_reader *r, const Dwarf_FDE *fde)
{
        int encoding = encoding_of(r, fde);
        const uint8_t *bytes = r->data->d_buf;
        struct table_bytes b = { fde->start, fde->end,
                                 r->address + (uint64_t)(fde->start - bytes), r->word,
                                 r->ident[EI_DATA] == ELFDATA2MSB };
        uint64_t start, length;

        if (encoding < 0 || !take_number(&b, (unsigned)encoding, &start) ||
            !take_number(&b, (unsigned)encoding & 0x07, &length) || !start || !length ||
            start + length < start)
                return;
        r->out->list = heap_next(r->out->list, r->out->count, sizeof *r->out->list);
        r->out->list[r->out->count++] = (struct extent){ start, start + length };
}

ORDER_BY(extent_compare, struct extent, start)

void extents_read(struct extents *x, Dwfl_Module *module)
{
        GElf_Addr bias;
        Elf *elf = dwfl_module_getelf(module, &bias);
        struct extent_reader r = { .out = x, .cie = UINT64_MAX };
        Dwarf_CFI_Entry entry;
        Dwarf_Off at = 0, next;
        GElf_Shdr head;
        int status;

        *x = (struct extents){ 0 };
        r.data = elf ? binary_section_head(elf, ".eh_frame", &head) : NULL;
        if (!r.data || !r.data->d_buf)
                return;
        r.ident = (const unsigned char *)elf_getident(elf, NULL);
        r.word = r.ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
        r.address = head.sh_addr + bias;
        while ((status = dwarf_next_cfi(r.ident, r.data, true, at, &next, &entry)) <= 0 &&
               next != (Dwarf_Off)-1 && next > at) {
                if (status == 0 && !dwarf_cfi_cie_p(&entry))
                        add_extent(&r, &entry.fde);
                at = next;
        }
        qsort(x->list, x->count, sizeof *x->list, extent_compare);
}

void extents_free(struct extents *x)
{
        free(x->list);
        *x = (struct extents){ 0 };
}

uint64_t extents_find(const struct extents *x, uint64_t address)
{
        size_t behind = FIND_FIRST(x->count, i, x->list[i].start <= address);

        return behind && address < x->list[behind - 1].end ? x->list[behind - 1].start : 0;
}

void extent_name(struct str *out, const char *path, uint64_t start)
{
        const char *slash = strrchr(path, '/');

        str_format(out, "%s%s%" PRIx64, slash && slash[1] ? slash + 1 : path, extent_mark, start);
}

bool extent_parse(const char *name, uint64_t *start)
{
        const char *plus = strrchr(name, '+'), *digits;

        if (!plus || strncmp(plus, extent_mark, sizeof extent_mark - 1) != 0)
                return false;
        digits = plus + sizeof extent_mark - 1;
        *start = strtoull(digits, NULL, 16);
        return *digits && strspn(digits, "0123456789abcdef") == strlen(digits);
}
