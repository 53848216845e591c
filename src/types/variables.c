/* SPDX-License-Identifier: MIT */
/*
 * variables.c -- what a resolver keeps about variables: lists per module, and numbers for types.
 *
 * Room:   outside.
 */
#include "types/variables.h"

#include <stdlib.h>

#include "base/heap.h"
#include "names/resolver.h"

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
