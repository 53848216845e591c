/* SPDX-License-Identifier: MIT */
/*
 * fuzz_held.c -- any bytes as what a target tells of a process that it holds (HOLD,
 * docs/PROTOCOL.md): what was taken is in its tables.
 */
#include <stdint.h>
#include <stdlib.h>

#include "remote/held.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct held *h = held_new(&(struct held_order){ .pid = 1, .root = "" });
        struct held_facts f;
        uint64_t sum = 0;

        if (held_parse(h, data, size)) {
                held_facts(h, &f);
                for (uint32_t i = 0; i < f.own_count; i++)
                        sum += f.own[i].end - f.own[i].start;
                for (uint32_t i = 0; i < f.told_count; i++)
                        sum += f.told[i].end - f.told[i].start;
                if ((f.own_count + (uint64_t)f.told_count) * 16 > size)
                        abort();
        }
        held_close(h);
        return (int)(sum & 0);
}
