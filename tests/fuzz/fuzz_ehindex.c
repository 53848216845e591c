/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ehindex.c -- any bytes as an executable file that is its own memory: entries are sorted and
 * lie inside.
 */
#include <stdlib.h>

#include "agent/ehindex.h"
#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct ehindex *x;
        uint8_t *memory;

        if (size < 64 || size > LARGEST)
                return 0;
        memory = tables_place(data, size);
        tables_open(memory, size, SIZE_MAX);
        tables_object.bias = (uint64_t)memory;
        x = ehindex_build(tables_file(data, size), &tables_object);
        if (!x)
                return 0;
        tables_object.index = x;
        for (uint64_t i = 0; i < x->count; i++) {
                const struct ehindex_entry *e = &x->at[i];

                if (e->fde < memory || e->fde >= memory + size || (i && e[-1].start > e->start))
                        abort();
                cfi_find(&tables_object, e->start + 1, tables_thread.work);
        }
        tables_object.index = NULL;
        tables_release();
        return 0;
}
