/* SPDX-License-Identifier: MIT */
#include "export/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

uint32_t strings_number(struct strings *t, const char *text)
{
        uint32_t number = TABLE_NUMBER(&t->numbers, table_hash_text(text), n,
                                       strcmp(t->at[n], text) == 0);

        if (number == t->count) {
                t->at = heap_next(t->at, t->count, sizeof *t->at);
                t->at[t->count++] = heap_text(text);
        }
        return number;
}

void strings_free(struct strings *t)
{
        for (uint32_t i = 0; i < t->count; i++)
                free(t->at[i]);
        free(t->at);
        table_free(&t->numbers);
        *t = (struct strings){ 0 };
}
