/* SPDX-License-Identifier: MIT */
#include "types/variables.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "names/die.h"
#include "names/resolver.h"
#include "types/type.h"

static struct variables *variables_new(uint32_t module_count)
{
        struct variables *v = heap_zero(1, sizeof *v);

        v->module_count = module_count;
        v->modules = heap_zero(module_count, sizeof *v->modules);
        return v;
}

static void variables_free(struct variables *v)
{
        for (uint32_t i = 0; i < v->module_count; i++) {
                globals_free(&v->modules[i].globals);
                symtab_free(&v->modules[i].data);
                symtab_free(&v->modules[i].thread);
        }
        free(v->modules);
        free(v->types);
        table_free(&v->numbers);
        free(v->classes);
        table_free(&v->class_numbers);
        free(v);
}

struct variables *variables_of(struct symbols *s)
{
        struct symbols_beside *place = symbols_beside(s);

        if (!place->kept)
                *place = (struct symbols_beside){ variables_new(symbols_profile(s)->module_count),
                                                  variables_free };
        return place->kept;
}

struct variable_module *variables_module(struct symbols *s, uint32_t module)
{
        struct variables *v = variables_of(s);
        struct variable_module *m;

        if (module >= v->module_count)
                return NULL;
        m = &v->modules[module];
        if (!m->listed) {
                m->listed = true;
                m->file = symbols_open_module(s, module);
                m->bias = symbols_profile(s)->modules[module].bias;
                if (m->file->dwfl) {
                        symtab_read(&m->data, m->file->dwfl_module, SYMTAB_DATA);
                        symtab_read(&m->thread, m->file->dwfl_module, SYMTAB_THREAD);
                }
                if (m->file->debug) {
                        m->bias += debug_bias(m->file->debug);
                        globals_read(&m->globals, m->file->debug);
                }
        }
        return m->file->dwfl ? m : NULL;
}

struct variable_type variables_number(struct variables *v, uint32_t module, const Dwarf_Die *die,
                                      uint32_t pointers)
{
        uint32_t number = TABLE_NUMBER(&v->numbers, table_hash((uintptr_t)die->addr, pointers), n,
                                       v->types[n].die.addr == die->addr &&
                                               v->types[n].pointers == pointers);

        if (number == v->type_count) {
                v->types = heap_next(v->types, v->type_count, sizeof *v->types);
                v->types[v->type_count++] = (struct variable_described){ *die, module, pointers,
                                                                         NULL };
        }
        return (struct variable_type){ number + 1 };
}

struct variable_described *variables_described(struct variables *v, struct variable_type type)
{
        return type.n && type.n <= v->type_count ? &v->types[type.n - 1] : NULL;
}

/* ---- how variables are called, and the functions they stand in ---- */

const char *variables_last_part(const char *name)
{
        const char *last = name;
        int depth = 0;

        for (const char *at = name; *at; at++) {
                depth += (*at == '<' || *at == '(' || *at == '[') -
                         (*at == '>' || *at == ')' || *at == ']');
                if (depth == 0 && at[0] == ':' && at[1] == ':')
                        last = at + 2;
        }
        return last;
}

static const char *name_in_scope(struct symbols *s, Dwarf_Die *die)
{
        struct str name = { 0 };
        const char *kept = type_scoped_name(die, &name) ? symbols_keep(s, str_get(&name)) : NULL;

        str_free(&name);
        return kept;
}

static const char *name_linked(struct symbols *s, Dwarf_Die *die)
{
        const char *linkage = die_linkage(die);

        return linkage ? symbols_name(s, linkage) : name_in_scope(s, die);
}

/* The innermost function that DIE stands in. */
static const char *function_around(struct symbols *s, Dwarf_Die *die)
{
        Dwarf_Die chain[DIE_DEPTH];

        for (uint32_t i = die_chain(die, chain); i-- > 1;)
                if (dwarf_tag(&chain[i - 1]) == DW_TAG_subprogram ||
                    dwarf_tag(&chain[i - 1]) == DW_TAG_inlined_subroutine)
                        return name_linked(s, &chain[i - 1]);
        return NULL;
}

void variables_name(struct symbols *s, Dwarf_Die *die, bool in_function, struct variable *out)
{
        if (!in_function) {
                out->name = name_linked(s, die);
                return;
        }
        out->name = symbols_keep(s, die_text(die, DW_AT_name));
        out->function = function_around(s, die);
}

/* ---- symbols ---- */

static size_t identifier(const char *text)
{
        size_t length = 0;

        while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '$')
                length++;
        return isdigit((unsigned char)text[0]) ? 0 : length;
}

static void keep_part(struct symbols *s, const char *text, size_t length, const char **out)
{
        char *part = strndup(text, length);

        *out = symbols_keep(s, part);
        free(part);
}

/* A static variable of a C function is "count.0" for gcc and "function.count" for clang; link-time
 * optimisation adds suffixes. */
static void name_of_local(struct symbols *s, const char *symbol, struct variable *out)
{
        size_t first = identifier(symbol);
        const char *rest = symbol + first;
        size_t second = *rest == '.' ? identifier(rest + 1) : 0;

        if (!first || *rest != '.')
                return;
        if (!second || strncmp(rest, ".lto_priv.", 10) == 0 || strncmp(rest, ".llvm.", 6) == 0) {
                keep_part(s, symbol, first, &out->name);
                return;
        }
        keep_part(s, symbol, first, &out->function);
        keep_part(s, rest + 1, second, &out->name);
}

/* "worker(int)::count" is "count" of "worker(int)". */
static void name_of_inner(struct symbols *s, const char *whole, struct variable *out)
{
        const char *last = variables_last_part(whole);

        if (last - whole < 3)
                return;
        keep_part(s, whole, (size_t)(last - whole) - 2, &out->function);
        out->name = symbols_keep(s, last);
        out->is_static = true;
}

void variables_name_symbol(struct symbols *s, const char *symbol, struct variable *out)
{
        out->name = symbols_name(s, symbol);
        if (strncmp(symbol, "_ZZ", 3) == 0)
                name_of_inner(s, out->name, out);
        else if (out->is_static && strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_R", 2) != 0)
                name_of_local(s, symbol, out);
}
