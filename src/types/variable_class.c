/* SPDX-License-Identifier: MIT */
/*
 * variable_class.c -- the class of an object, from its table of virtual functions.
 *
 * Cost:   a class is looked up once; blocks of it then cost a hash.
 */
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "names/demangle.h"
#include "names/resolver.h"
#include "types/type.h"
#include "types/variables.h"

enum { CLASS_CANDIDATES = 4096 }; /* instances of one template that are compared */

static const char class_prefix[] = "vtable for ";

static uint32_t module_over(const struct profile *p, uint64_t address)
{
        for (uint32_t i = p->module_count; i-- > 0;)
                if (p->modules[i].start <= address && address < p->modules[i].end &&
                    !p->modules[i].gone_ms)
                        return i;
        return PROFILE_NO_MODULE;
}

/* Spaces are where compilers and demanglers disagree. */
static bool same_but_for_spaces(const char *a, const char *b)
{
        for (;; a++, b++) {
                while (*a == ' ')
                        a++;
                while (*b == ' ')
                        b++;
                if (*a != *b)
                        return false;
                if (!*a)
                        return true;
        }
}

static bool is_called(Dwarf_Die *die, const char *name)
{
        struct str own = { 0 };
        bool same = type_scoped_name(die, &own) && same_but_for_spaces(str_get(&own), name);

        str_free(&own);
        return same;
}

/* All types whose name begins like the last part of NAME, up to its template arguments, are
 * together in the sorted list. */
static struct variable_type class_type(struct symbols *s, uint32_t module, const char *name)
{
        const struct global_names *types = &variables_of(s)->modules[module].globals.types;
        const char *last = variables_last_part(name);
        size_t head = strcspn(last, "<"), low;

        low = FIND_FIRST(types->count, i, strncmp(types->all[i].name, last, head) < 0);
        for (size_t i = 0; low + i < types->count && i < CLASS_CANDIDATES; i++) {
                Dwarf_Die die = types->all[low + i].die;
                const char *own = types->all[low + i].name;

                if (strncmp(own, last, head) != 0)
                        break;
                if ((own[head] == 0 || own[head] == '<') && is_called(&die, name))
                        return variables_number(variables_of(s), module, &die, 0);
        }
        return (struct variable_type){ 0 };
}

/* The pointer in an object leads behind the two words at the start of the table, or further. */
static void class_find(struct symbols *s, struct variable_class_known *c)
{
        uint32_t module = module_over(symbols_profile(s), c->vtable);
        struct variable_module *m = module != PROFILE_NO_MODULE ? variables_module(s, module)
                                                                : NULL;
        uint64_t address = m ? c->vtable - symbols_profile(s)->modules[module].bias : 0;
        const struct symtab_entry *symbol = m ? symtab_find(&m->data, address) : NULL;
        uint64_t before = symbols_profile(s)->meta.word_bytes == 4 ? 2 * 4 : 2 * 8;
        const char *shown;
        char *short_name;

        if (!symbol || strncmp(symbol->name, "_ZTV", 4) != 0 ||
            address - symbol->start < before)
                return;
        shown = symbols_name(s, symbol->name);
        if (strncmp(shown, class_prefix, sizeof class_prefix - 1) != 0)
                return;
        short_name = heap_text(shown + sizeof class_prefix - 1);
        demangle_shorten(short_name);
        c->name = symbols_keep(s, short_name);
        free(short_name);
        c->type = class_type(s, module, c->name);
}

const char *variable_class(struct symbols *s, uint64_t vtable, struct variable_type *type)
{
        struct variables *v = variables_of(s);
        const struct variable_class_known *c;
        uint32_t number;

        if (type)
                type->n = 0;
        if (!vtable)
                return NULL;
        number = TABLE_NUMBER(&v->class_numbers, table_hash(vtable, 0), n,
                              v->classes[n].vtable == vtable);
        if (number == v->class_count) {
                v->classes = heap_next(v->classes, v->class_count, sizeof *v->classes);
                v->classes[v->class_count++] = (struct variable_class_known){ .vtable = vtable };
                class_find(s, &v->classes[number]);
        }
        c = &v->classes[number];
        if (type)
                *type = c->type;
        return c->name;
}
