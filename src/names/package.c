/* SPDX-License-Identifier: MIT */
/*
 * package.c -- the units of split debug information: alone in a .dwo file, or many in a .dwp
 * package.
 *
 * Keeps:  trusts no offset of the index.  Newer versions of libdw read packages by
 *         themselves; 0.188 does not.
 *
 * The index of a package (.debug_cu_index, DWARF 5 section 7.3.5.3; version 2 is the GNU one for
 *   DWARF 4): version | columns | units | slots | ids of the slots | rows of the slots | section of
 *   each column | offsets, row by row | sizes, row by row
 */
#include "names/package.h"

#include <string.h>

#include "names/binary.h"

const char *const package_names[PACKAGE_PART_COUNT] = {
#define PACKAGE_NAME(name, section) section,
        PACKAGE_PARTS(PACKAGE_NAME)
#undef PACKAGE_NAME
};

/* What the numbers of the index mean. */
static const int columns_v5[] = { [1] = PACKAGE_INFO, [3] = PACKAGE_ABBREV, [4] = PACKAGE_LINE,
                                  [6] = PACKAGE_STR_OFFSETS, [8] = PACKAGE_RNGLISTS };
static const int columns_v2[] = { [1] = PACKAGE_INFO, [3] = PACKAGE_ABBREV, [4] = PACKAGE_LINE,
                                  [6] = PACKAGE_STR_OFFSETS };

struct package_index {
        const uint8_t *data;
        uint32_t version, columns, units, slots;
};

static uint32_t word_at(const uint8_t *at)
{
        uint32_t word;

        memcpy(&word, at, 4);
        return word;
}

static struct package_bytes package_section(Elf *elf, enum package_part part)
{
        char name[32];
        Elf_Data *data;

        strcpy(name, package_names[part]);
        strcat(name, ".dwo");
        data = binary_section(elf, name);
        return data ? (struct package_bytes){ data->d_buf,
                                              data->d_size } : (struct package_bytes){ 0 };
}

bool package_whole(Elf *elf, struct package_unit *unit)
{
        for (int part = 0; part < PACKAGE_PART_COUNT; part++)
                unit->part[part] = package_section(elf, (enum package_part)part);
        return unit->part[PACKAGE_INFO].data && unit->part[PACKAGE_ABBREV].data;
}

static bool index_open(Elf *elf, struct package_index *x)
{
        Elf_Data *data = binary_section(elf, ".debug_cu_index");
        uint64_t cells;

        if (!data || data->d_size < 16)
                return false;
        x->data = data->d_buf;
        /* 16 bits and padding in version 5, 32 bits in version 2. */
        x->version = word_at(x->data) & 0xffff;
        x->columns = word_at(x->data + 4);
        x->units = word_at(x->data + 8);
        x->slots = word_at(x->data + 12);
        if ((x->version != 2 && x->version != 5) || x->columns > 16 || x->units > data->d_size ||
            x->slots > data->d_size)
                return false;
        cells = (uint64_t)x->columns * (1 + 2ull * x->units);
        return 16 + 12ull * x->slots + 4 * cells <= data->d_size;
}

/* The row of unit ID, from 1 on; 0 none. */
static uint32_t index_row(const struct package_index *x, uint64_t id)
{
        for (uint32_t i = 0; i < x->slots; i++) {
                uint64_t found;
                uint32_t row = word_at(x->data + 16 + 8ull * x->slots + 4ull * i);

                memcpy(&found, x->data + 16 + 8ull * i, 8);
                if (found == id && row && row <= x->units)
                        return row;
        }
        return 0;
}

static int index_part(const struct package_index *x, uint32_t column)
{
        const uint8_t *table = x->data + 16 + 12ull * x->slots;
        uint32_t section = word_at(table + 4ull * column);
        const int *parts = x->version == 5 ? columns_v5 : columns_v2;
        size_t count = x->version == 5 ? sizeof columns_v5 / sizeof *parts
                                       : sizeof columns_v2 / sizeof *parts;

        if (section >= count || (section != 1 && parts[section] == PACKAGE_INFO))
                return -1;
        return parts[section];
}

bool package_find(Elf *elf, uint64_t id, struct package_unit *unit)
{
        struct package_index x;
        struct package_unit whole;
        const uint8_t *offsets;
        uint32_t row;

        if (!package_whole(elf, &whole) || !index_open(elf, &x) || !(row = index_row(&x, id)))
                return false;
        *unit = (struct package_unit){ 0 };
        unit->part[PACKAGE_STR] = whole.part[PACKAGE_STR]; /* common to all units */
        offsets = x.data + 16 + 12ull * x.slots + 4ull * x.columns;
        for (uint32_t column = 0; column < x.columns; column++) {
                uint64_t cell = 4 * ((uint64_t)(row - 1) * x.columns + column);
                uint32_t offset = word_at(offsets + cell),
                         size = word_at(offsets + 4ull * x.columns * x.units + cell);
                int part = index_part(&x, column);

                if (part < 0)
                        continue;
                if (offset > whole.part[part].size || size > whole.part[part].size - offset)
                        return false;
                unit->part[part] = (struct package_bytes){ whole.part[part].data + offset, size };
        }
        return unit->part[PACKAGE_INFO].data && unit->part[PACKAGE_ABBREV].data;
}
