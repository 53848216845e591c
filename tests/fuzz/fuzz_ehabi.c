/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ehabi.c -- any bytes as .ARM.exidx and .ARM.extab: instructions lie inside, and end.
 *
 * The first two bytes say how long .ARM.exidx is, the next two which code is asked about; the rest
 * is the memory.
 */
#include <stdlib.h>

#include "agent/ehabi.h"
#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST 65536
#define STACK 0x1000u

static bool read_word(void *context, uint64_t at, uint64_t *word)
{
        ++*(uint32_t *)context;
        *word = at ^ 0x55;
        return at - STACK < 4096;
}

static void ask(uint64_t pc, const uint8_t *memory, size_t size)
{
        uint64_t registers[16] = {
                [4] = STACK + 64, [7] = STACK + 128, [13] = STACK, [14] = 0x1234
        };
        struct ehabi_code code;
        uint32_t reads = 0;
        bool saved = false;

        if (ehabi_find(&tables_object, pc, &code) != EHABI_FOUND)
                return;
        if (code.count > 3 ||
            (code.rest.p && (code.rest.p < memory || code.rest.end > memory + size ||
                             code.rest.p > code.rest.end)))
                abort();
        ehabi_leave(code, registers, &saved, read_word, &reads);
        if (reads > 16 * (code.count + (size_t)(code.rest.end - code.rest.p)))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        size_t table, all = size - 4;
        uint8_t *memory;

        if (size < 16 || size > LARGEST)
                return 0;
        all &= ~(size_t)3; /* what lies at multiples of 4 in a file does so in memory */
        memory = tables_place(data + 4, all);
        tables_open(memory, all, SIZE_MAX);
        table = (data[0] | (size_t)data[1] << 8) & ~(size_t)7;
        tables_object.exidx = memory;
        tables_object.exidx_bytes = table < all ? table : all & ~(size_t)7;
        ask((uint64_t)memory + 0x20000000 + data[2], memory, all);
        ask((uint64_t)memory + 0x20000000 + 8 * data[3], memory, all);
        ask((uint64_t)memory, memory, all);
        tables_object.exidx = NULL;
        return 0;
}
