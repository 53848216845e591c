/* SPDX-License-Identifier: MIT */
#include "breakpoint/entries.h"

#include <string.h>

#include "wire/hello.h"

const struct entry entries[ENTRY_COUNT] = {
#define ENTRY_ROW(name, symbol, does, kind, size, count, align) \
        { symbol, DOES_##does, LEDGER_KIND_##kind, ENTRY_##size, ENTRY_##count, ENTRY_##align },
#define ENTRY_0 0
#define ENTRY_1 1
#define ENTRY_2 2
        ENTRIES(ENTRY_ROW)
};

int entry_named(const char *symbol)
{
        if (!strchr("mfcrapve_", symbol[0]))
                return -1;
        for (int i = 0; i < ENTRY_COUNT; i++)
                if (strcmp(entries[i].symbol, symbol) == 0)
                        return i;
        return -1;
}

bool entry_wanted(uint32_t number, uint32_t flags)
{
        const struct entry *e = &entries[number];

        if (e->does >= DOES_EXIT)
                return flags & WIRE_F_LEAK_SCAN;
        if (e->does == DOES_MAP || e->does == DOES_UNMAP || e->does == DOES_REMAP)
                return !(flags & WIRE_F_NO_MMAP);
        return !(flags & WIRE_F_NO_CXX) || strncmp(e->symbol, "_Z", 2) != 0;
}
