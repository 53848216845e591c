/* SPDX-License-Identifier: MIT */
/*
 * fuzz_cfi.c -- any bytes as .eh_frame_hdr and .eh_frame: rows are made of what is there, and
 * expressions lie inside.
 *
 * The first two bytes say which code is asked about, the rest is the memory.
 */
#include <stdlib.h>

#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST 65536

static void use(const struct cfi_rule *r, const struct cfi_frame *frame, const uint8_t *memory,
                size_t size)
{
        uint64_t value;

        if (r->how != CFI_EXPRESSION && r->how != CFI_VALUE)
                return;
        if (r->expression < memory || r->expression_bytes > size ||
            (size_t)(r->expression - memory) > size - r->expression_bytes)
                abort();
        cfi_evaluate(r, frame, &value);
}

static void ask(uint64_t pc, const uint8_t *memory, size_t size)
{
        const uint64_t registers[ARCH_REGS] = { [6] = 0x1800, [7] = 0x1700, [16] = pc },
                       cfa = 0x1900;
        const struct cfi_frame frame = { .registers = registers,
                                         .first = &cfa,
                                         .thread = &tables_thread };
        const struct cfi_row *row = &tables_thread.work->row;

        if (!cfi_find(&tables_object, pc, tables_thread.work))
                return;
        if (row->cfa_register > ARCH_REGS)
                abort();
        use(&row->cfa, &frame, memory, size);
        for (int i = 0; i < ARCH_REGS; i++)
                use(&row->registers[i], &frame, memory, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint8_t *memory;
        uint64_t pc;

        if (size < 6 || size > LARGEST)
                return 0;
        memory = tables_place(data + 2, size - 2);
        tables_open(memory, size - 2, 0);
        pc = (uint64_t)memory + TABLES_CODE + data[0];
        ask(pc, memory, size - 2);
        ask(pc + data[1] + 1, memory, size - 2);
        return 0;
}
