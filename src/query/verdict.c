/* SPDX-License-Identifier: MIT */
#include "query/verdict.h"

#include <stdlib.h>

#include "base/heap.h"

static struct verdict *verdicts_slot(const struct verdicts *v, const char *name)
{
        size_t i = ((uintptr_t)name * 0x9e3779b97f4a7c15ull >> 24) & (v->room - 1);

        while (v->all[i].name && v->all[i].name != name)
                i = (i + 1) & (v->room - 1);
        return &v->all[i];
}

static void verdicts_widen(struct verdicts *v)
{
        struct verdicts old = *v;

        v->room = old.room ? old.room * 2 : 1024;
        v->all = heap_zero(v->room, sizeof *v->all);
        for (size_t i = 0; i < old.room; i++)
                if (old.all[i].name)
                        *verdicts_slot(v, old.all[i].name) = old.all[i];
        free(old.all);
}

uint32_t *verdicts_of(struct verdicts *v, const char *name)
{
        struct verdict *slot;

        if (v->count * 2 >= v->room)
                verdicts_widen(v);
        slot = verdicts_slot(v, name);
        if (!slot->name) {
                slot->name = name;
                v->count++;
        }
        return &slot->answer;
}

void verdicts_free(struct verdicts *v)
{
        free(v->all);
        *v = (struct verdicts){ 0 };
}
