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
                table_free(&v->modules[i].data);
                table_free(&v->modules[i].thread);
        }
        free(v->modules);
        free(v->types);
        free(v->slots);
        free(v->classes);
        free(v);
}

struct variables *variables_of(struct symbols *s)
{
        struct symbols_beside *place = symbols_beside(s);

        if (!place->kept)
                *place = (struct symbols_beside){ variables_new(symbols_profile(s)->module_count), variables_free };
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
                        table_read(&m->data, m->file->dwfl_module, TABLE_DATA);
                        table_read(&m->thread, m->file->dwfl_module, TABLE_THREAD);
                }
                if (m->file->debug) {
                        m->bias += debug_bias(m->file->debug);
                        globals_read(&m->globals, m->file->debug);
                }
        }
        return m->file->dwfl ? m : NULL;
}

static size_t type_slot(const struct variables *v, const void *addr, uint32_t pointers)
{
        size_t i = (((uintptr_t)addr + pointers) * 0x9e3779b97f4a7c15ull >> 20) & (v->slot_room - 1);

        while (v->slots[i] && (v->types[v->slots[i] - 1].die.addr != addr || v->types[v->slots[i] - 1].pointers != pointers))
                i = (i + 1) & (v->slot_room - 1);
        return i;
}

static void types_widen(struct variables *v)
{
        free(v->slots);
        v->slot_room = v->slot_room ? v->slot_room * 2 : 1024;
        v->slots = heap_zero(v->slot_room, sizeof *v->slots);
        v->type_room = v->slot_room / 2;
        v->types = heap_grow(v->types, v->type_room, sizeof *v->types);
        for (size_t i = 0; i < v->type_count; i++)
                v->slots[type_slot(v, v->types[i].die.addr, v->types[i].pointers)] = (uint32_t)i + 1;
}

struct variable_type variables_number(struct variables *v, uint32_t module, const Dwarf_Die *die, uint32_t pointers)
{
        size_t slot;

        if (v->type_count == v->type_room)
                types_widen(v);
        slot = type_slot(v, die->addr, pointers);
        if (!v->slots[slot]) {
                v->types[v->type_count++] = (struct variable_described){ *die, module, pointers, NULL };
                v->slots[slot] = (uint32_t)v->type_count;
        }
        return (struct variable_type){ v->slots[slot] };
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
                depth += (*at == '<' || *at == '(' || *at == '[') - (*at == '>' || *at == ')' || *at == ']');
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
                if (dwarf_tag(&chain[i - 1]) == DW_TAG_subprogram || dwarf_tag(&chain[i - 1]) == DW_TAG_inlined_subroutine)
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

/* A static variable of a C function is "count.0" for gcc and "function.count" for clang; link-time optimisation adds suffixes. */
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
