/* SPDX-License-Identifier: MIT */
/*
 * functions.c -- the names of all functions of a module, called or not.
 *
 * Room:   outside.
 */
#include "names/functions.h"

#include "names/resolver.h"

bool functions_have(struct symbols *s, uint32_t module, struct functions_wish *w)
{
        const struct module *file = symbols_open_module(s, module);

        for (size_t i = 0; file->dwfl && i < file->table.count; i++) {
                w->seen++;
                if (w->fits(w->context, symbols_name(s, file->table.entries[i].name)))
                        return true;
        }
        return false;
}
