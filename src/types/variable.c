/* SPDX-License-Identifier: MIT */
#include "types/variable.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "names/die.h"
#include "names/resolver.h"
#include "types/type.h"
#include "types/variables.h"

/* ---- variables ---- */

/* Where the variable is; which of its two lists and tables that are for it. */
struct variable_spot {
        uint32_t module;
        struct variable_module *in;
        const struct global_list *list;
        const struct symtab *table;
        uint64_t list_bias, table_bias; /* what an address here has more than one there */
};

static bool spot_open(struct symbols *s, uint32_t module, bool thread, struct variable_spot *spot)
{
        struct variable_module *m = variables_module(s, module);

        if (!m)
                return false;
        *spot = (struct variable_spot){ module, m, &m->globals.data, &m->data, m->bias,
                                        symbols_profile(s)->modules[module].bias };
        if (thread)
                *spot = (struct variable_spot){ module, m, &m->globals.thread, &m->thread, 0, 0 };
        return true;
}

static struct variable_type type_of(struct symbols *s, uint32_t module, Dwarf_Die *die)
{
        Dwarf_Die type;

        return die_type(die, &type) ? variables_number(variables_of(s), module, &type,
                                                       0) : (struct variable_type){ 0 };
}

void variables_describe(struct symbols *s, uint32_t module, Dwarf_Die *die, Dwarf_Die *skeleton,
                        struct variable *out)
{
        out->file = symbols_path(s, die_place(die, skeleton, &out->line));
        out->type = type_of(s, module, die);
}

/* clang describes the static variables of a function that was inlined everywhere as
 * those of one without a name. */
static void variable_complete_name(struct symbols *s, const struct symtab_entry *symbol,
                                   struct variable *out)
{
        struct variable named = { .is_static = out->is_static };

        variables_name_symbol(s, symbol->name, &named);
        if (!out->name)
                out->name = named.name;
        out->function = named.function;
}

/* The symbol is larger where an array of a structure's end has no length. */
static void variable_from_debug(struct symbols *s, const struct variable_spot *spot,
                                const struct global *g, const struct symtab_entry *symbol,
                                struct variable *out)
{
        Dwarf_Die die = g->die, skeleton, body;
        bool known;

        *out = (struct variable){ .start = g->start - g->inner + spot->list_bias,
                                  .size = g->whole };
        if (symbol && symbol->start + spot->table_bias == out->start && g->size == g->whole &&
            symbol->end - symbol->start > out->size)
                out->size = symbol->end - symbol->start;
        out->is_static = g->in_function || !die_flag(&die, DW_AT_external);
        variables_name(s, &die, g->in_function, out);
        if (symbol && (!out->name || (g->in_function && !out->function)))
                variable_complete_name(s, symbol, out);
        known = debug_unit(spot->in->file->debug, g->unit, &skeleton, &body);
        variables_describe(s, spot->module, &die, known ? &skeleton : NULL, out);
}

/* Defined without debug information or in a library (the linker put a copy into the program), it
 * may be declared with some. */
static void variable_from_symbol(struct symbols *s, const struct variable_spot *spot,
                                 const struct symtab_entry *symbol, struct variable *out)
{
        const struct global_name *declared;
        size_t count;
        char *plain = strndup(symbol->name, strcspn(symbol->name, "@"));

        *out = (struct variable){ .start = symbol->start + spot->table_bias,
                                  .size = symbol->end - symbol->start,
                                  .is_static = symbol->local };
        variables_name_symbol(s, symbol->name, out);
        declared = plain && !symbol->local
                           ? globals_named(&spot->in->globals.declared, plain, &count)
                           : NULL;
        free(plain);
        if (declared) {
                Dwarf_Die die = declared->die;

                variables_describe(s, spot->module, &die, NULL, out);
        }
}

static bool variable_find(struct symbols *s, const struct variable_spot *spot, uint64_t address,
                          struct variable *out)
{
        const struct symtab_entry *symbol = symtab_find(spot->table, address - spot->table_bias);
        const struct global *g = globals_find(spot->list, address - spot->list_bias);

        if (!g && symbol) {
                g = globals_find(spot->list, symbol->start + spot->table_bias - spot->list_bias);
                if (g && g->start + spot->list_bias != symbol->start + spot->table_bias)
                        g = NULL;
        }
        if (g)
                variable_from_debug(s, spot, g, symbol, out);
        else if (symbol)
                variable_from_symbol(s, spot, symbol, out);
        return g || symbol;
}

bool variable_at(struct symbols *s, uint32_t module, uint64_t address, struct variable *out)
{
        struct variable_spot spot;

        return spot_open(s, module, false, &spot) && variable_find(s, &spot, address, out);
}

bool variable_tls(struct symbols *s, uint32_t module, uint64_t offset, struct variable *out)
{
        struct variable_spot spot;

        return spot_open(s, module, true, &spot) && variable_find(s, &spot, offset, out);
}

/* ---- types ---- */

static const struct globals *globals_of(struct symbols *s, const struct variable_described *t)
{
        return &variables_of(s)->modules[t->module].globals;
}

void variable_path(struct symbols *s, struct variable_type type, uint64_t *offset,
                   struct variable_type *member, struct str *out)
{
        struct variables *v = variables_of(s);
        const struct variable_described *t = variables_described(v, type);
        uint32_t module = t ? t->module : 0, pointers;
        Dwarf_Die die, node;

        *member = type;
        if (!t || t->pointers)
                return;
        die = t->die;
        pointers = type_path(globals_of(s, t), &die, offset, &node, out);
        *member = variables_number(v, module, pointers ? &node : &die, pointers);
}

struct variable_type variable_target(struct symbols *s, struct variable_type type)
{
        struct variables *v = variables_of(s);
        const struct variable_described *t = variables_described(v, type);
        Dwarf_Die die, target;

        if (!t)
                return (struct variable_type){ 0 };
        die = t->die;
        if (t->pointers)
                return variables_number(v, t->module, &die, t->pointers - 1);
        return type_target(globals_of(s, t), &die, &target)
                       ? variables_number(v, t->module, &target, 0)
                       : (struct variable_type){ 0 };
}

bool variable_type_name(struct symbols *s, struct variable_type type, struct str *out)
{
        struct variable_described *t = variables_described(variables_of(s), type);

        if (!t)
                return false;
        if (!t->name) {
                struct str name = { 0 };
                Dwarf_Die die = t->die;

                if (type_name(&die, globals_of(s, t)->in_c, &name))
                        for (uint32_t i = 0; i < t->pointers; i++)
                                str_text(&name, i ? "*" : " *");
                t->name = symbols_keep(s, str_get(&name));
                str_free(&name);
        }
        str_text(out, t->name);
        return t->name[0] != 0;
}

uint64_t variable_type_size(struct symbols *s, struct variable_type type)
{
        const struct variable_described *t = variables_described(variables_of(s), type);
        Dwarf_Die die;

        if (!t)
                return 0;
        if (t->pointers)
                return sizeof(void *);
        die = t->die;
        if (!type_peel(&die))
                return 0;
        type_complete(globals_of(s, t), &die);
        return type_bytes(&die);
}
