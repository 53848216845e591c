/* SPDX-License-Identifier: MIT */
/*
 * fuzz_rule.c -- any bytes as unwind tables: the rule for an address is whole, and no word is read
 * unasked but those near the CFA.
 *
 * The first two bytes say which code is asked about, the rest is the memory.
 */
#include <stdlib.h>

#include "agent/reach.h"
#include "agent/rule.h"
#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST 2048 /* the table of rules keeps every address */

static void must(bool good)
{
        if (!good)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static bool started;
        uint8_t *memory;
        uint64_t rule;

        started = started || rule_start();
        if (size < 6 || size > LARGEST)
                return 0;
        memory = tables_place(data + 2, size - 2);
        tables_open(memory, size - 2, 0);
        tables_object.gone = 1; /* so that no rule from before is taken */
        rule = rule_find(&tables_thread,
                         (uint64_t)memory + TABLES_CODE + 1 + data[0] + 256u * (data[1] & 1u));
        must(rule & RULE_VALID && RULE_OBJECT(rule) == 0);
        if (RULE_CFA(rule) == RULE_CFA_SPECIAL)
                must(RULE_SPECIAL(rule) <= RULE_NO_CFI);
        else if (RULE_BASE(rule) == RULE_BASE_AT_CFA)
                must(RULE_BASE_OFFSET(rule) <= -16 + 7 &&
                     RULE_BASE_OFFSET(rule) >= -(int64_t)REACH_BELOW);
        return 0;
}
