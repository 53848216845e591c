/* SPDX-License-Identifier: MIT */
/*
 * fuzz_expression.c -- any bytes as a DWARF expression; its registers lead to the memory that it
 * lies in.
 */
#include <stdlib.h>

#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint64_t registers[ARCH_REGS], value, again;
        struct cfi_frame frame = { .registers = registers, .thread = &tables_thread };
        struct cfi_rule rule = { .how = CFI_VALUE };

        if (size > UINT16_MAX)
                return 0;
        rule.expression = tables_place(data, size);
        rule.expression_bytes = (uint16_t)size;
        for (int i = 0; i < ARCH_REGS; i++)
                registers[i] = (uint64_t)rule.expression + 8 * (uint64_t)i;
        if (cfi_evaluate(&rule, &frame, &value) &&
            (!cfi_evaluate(&rule, &frame, &again) || again != value))
                abort();
        frame.first = registers;
        cfi_evaluate(&rule, &frame, &value);
        return 0;
}
