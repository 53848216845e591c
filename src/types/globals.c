/* SPDX-License-Identifier: MIT */
/*
 * globals.c -- the variables of a module that have an address of their own, and the types it
 * defines, from its DWARF.
 *
 * Cost:   every entry is looked at once but those inside types and declarations of functions.
 */
#include "types/globals.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/lookup.h"
#include "base/order.h"
#include "names/die.h"
#include "types/type.h"

/* ---- where a variable with an address of its own is, from the expression that DWARF has for it
 * ---- */

/* A variable is in one place, or (after optimisation) its members are in places of their own. */
struct location_part {
        uint64_t start, inner; /* where it is, where in the variable */
        uint64_t size;         /* 0: all of the variable */
        bool thread;           /* START is an offset in thread-local storage */
};

enum { LOCATION_PARTS = 16 };

/* What an operation puts on the stack. */
enum location_value { LOCATION_UNKNOWN, LOCATION_ADDRESS, LOCATION_CONSTANT };

static enum location_value atom_value(unsigned atom)
{
        switch (atom) {
        case DW_OP_addr:
        case DW_OP_addrx:
        case DW_OP_GNU_addr_index:
                return LOCATION_ADDRESS;
        case DW_OP_const4u:
        case DW_OP_const8u:
        case DW_OP_constx:
        case DW_OP_GNU_const_index:
                return LOCATION_CONSTANT;
        default:
                return LOCATION_UNKNOWN;
        }
}

/* Whether the expression begins with an address; most are places in a frame or a register. */
static bool location_promises(Dwarf_Attribute *attr)
{
        Dwarf_Block block;

        return dwarf_formblock(attr, &block) == 0 && block.length &&
               atom_value(block.data[0]) != LOCATION_UNKNOWN;
}

/* The value itself is in the operation, or that is an index of where it is. */
static bool op_value(Dwarf_Attribute *attr, const Dwarf_Op *op, uint64_t *value)
{
        Dwarf_Attribute there;
        Dwarf_Addr address;
        Dwarf_Word word;

        *value = op->number;
        if (op->atom == DW_OP_addr || op->atom == DW_OP_const4u || op->atom == DW_OP_const8u)
                return true;
        if (dwarf_getlocation_attr(attr, op, &there) != 0)
                return false;
        if (dwarf_formaddr(&there, &address) == 0)
                *value = address;
        else if (dwarf_formudata(&there, &word) == 0)
                *value = word;
        else
                return false;
        return true;
}

/* OPS up to COUNT are all that is said about PART. */
static bool part_read(Dwarf_Attribute *attr, const Dwarf_Op *ops, size_t count,
                      struct location_part *part)
{
        enum location_value value = count ? atom_value(ops[0].atom) : LOCATION_UNKNOWN;

        if (value == LOCATION_UNKNOWN || !op_value(attr, &ops[0], &part->start))
                return false;
        for (size_t i = 1; i < count; i++) {
                if (ops[i].atom == DW_OP_form_tls_address ||
                    ops[i].atom == DW_OP_GNU_push_tls_address)
                        part->thread = true;
                else if (ops[i].atom == DW_OP_plus_uconst)
                        part->start += ops[i].number;
                else
                        return false;
        }
        return part->thread || value == LOCATION_ADDRESS;
}

/* How many parts there are; 0: it is in a frame or a register, or optimised away. */
static uint32_t location_read(Dwarf_Attribute *attr, struct location_part parts[LOCATION_PARTS])
{
        uint64_t inner = 0;
        uint32_t found = 0;
        Dwarf_Op *ops;
        size_t count, end;

        if (!location_promises(attr) || dwarf_getlocation(attr, &ops, &count) != 0)
                return 0;
        for (size_t at = 0; at < count && found < LOCATION_PARTS; at = end + 1) {
                struct location_part part = { .inner = inner };

                for (end = at; end < count && ops[end].atom != DW_OP_piece; end++)
                        continue;
                part.size = end < count ? ops[end].number : 0;
                inner += part.size;
                if (part_read(attr, ops + at, end - at, &part))
                        parts[found++] = part;
        }
        return found;
}

/* ---- the variables of a module that have an address of their own, and the types it
 * defines, from its DWARF ---- */

struct globals_walk {
        struct globals *globals;
        uint32_t unit;
        GElf_Phdr thread;     /* the module's thread-local storage */
        uint32_t in_types;    /* how many types around */
        struct lookup entered; /* units that others share, by address: 1 */
};

/* ---- lists ---- */

static void list_add(struct global_list *list, const struct global *global)
{
        list->all = heap_next(list->all, list->count, sizeof *list->all);
        list->all[list->count++] = *global;
}

static void names_add(struct global_names *names, const char *name, const Dwarf_Die *die)
{
        names->all = heap_next(names->all, names->count, sizeof *names->all);
        names->all[names->count++] = (struct global_name){ name, *die };
}

/* Of one place, the largest last: that is the one which is found. */
static int global_compare(const void *a, const void *b)
{
        const struct global *x = a, *y = b;

        return ORDER(x->start, y->start) ?: ORDER(x->size, y->size) ?: ORDER(y->unit, x->unit);
}

static int name_compare(const void *a, const void *b)
{
        return strcmp(((const struct global_name *)a)->name, ((const struct global_name *)b)->name);
}

/* ---- one variable ---- */

/* What the linker threw away keeps its description, with an address that cannot be. */
static bool address_is_real(uint64_t address)
{
        return address > 1 && address < UINT64_MAX - 1;
}

/* gcc 12 writes addresses instead of offsets when debug information is split. */
static uint64_t thread_offset(const struct globals_walk *w, uint64_t value)
{
        bool address = value >= w->thread.p_memsz && value - w->thread.p_vaddr < w->thread.p_memsz;

        return address ? value - w->thread.p_vaddr : value;
}

/* A variable that is declared here and defined elsewhere. */
static void walk_declared(struct globals_walk *w, Dwarf_Die *die)
{
        const char *name = die_linkage(die);

        if (!name)
                name = dwarf_diename(die);
        if (name)
                names_add(&w->globals->declared, name, die);
}

static void walk_variable(struct globals_walk *w, Dwarf_Die *die, bool in_function)
{
        struct global global = { .die = *die, .unit = w->unit, .in_function = in_function };
        struct location_part parts[LOCATION_PARTS];
        Dwarf_Attribute attr;
        uint32_t count;
        Dwarf_Die type;

        if (!dwarf_attr(die, DW_AT_location, &attr)) {
                if (!in_function && dwarf_hasattr(die, DW_AT_declaration))
                        walk_declared(w, die);
                return;
        }
        count = location_read(&attr, parts);
        if (count)
                global.whole = die_type(die, &type) ? type_bytes(&type) : 0;
        for (uint32_t i = 0; i < count; i++) {
                global.start = parts[i].thread ? thread_offset(w, parts[i].start) : parts[i].start;
                global.inner = parts[i].inner;
                global.size = parts[i].size ? parts[i].size : global.whole;
                if (parts[i].thread || address_is_real(global.start))
                        list_add(parts[i].thread ? &w->globals->thread : &w->globals->data,
                                 &global);
        }
}

/* ---- the walk ---- */

static void walk_children(struct globals_walk *w, Dwarf_Die *parent, bool in_function, int depth);

static void walk_type(struct globals_walk *w, Dwarf_Die *die, bool in_function, int depth)
{
        const char *name = in_function ? NULL : dwarf_diename(die);

        if (name && !dwarf_hasattr(die, DW_AT_declaration))
                names_add(&w->globals->types, name, die);
        w->in_types++;
        walk_children(w, die, in_function, depth);
        w->in_types--;
}

/* What dwz found in several units, it put into one that they import.  (Its file may serve other
 * programs, too: only what is imported is ours.) */
static void walk_imported(struct globals_walk *w, Dwarf_Die *die, int depth)
{
        Dwarf_Die unit;

        if (die_refers(die, DW_AT_import, &unit) && dwarf_tag(&unit) == DW_TAG_partial_unit &&
            !(*lookup_pointer(&w->entered, unit.addr))++)
                walk_children(w, &unit, false, depth);
}

static void walk_die(struct globals_walk *w, Dwarf_Die *die, bool in_function, int depth)
{
        switch (dwarf_tag(die)) {
        case DW_TAG_variable:
                walk_variable(w, die, in_function);
                break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
                walk_type(w, die, in_function, depth);
                break;
        case DW_TAG_typedef:
        case DW_TAG_base_type:
                if (!in_function && !w->in_types && dwarf_diename(die))
                        names_add(&w->globals->words, dwarf_diename(die), die);
                break;
        case DW_TAG_imported_unit:
                walk_imported(w, die, depth);
                break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_common_block:
                walk_children(w, die, in_function, depth);
                break;
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
                if (!dwarf_hasattr(die, DW_AT_declaration))
                        walk_children(w, die, true, depth);
                break;
        default:
                break;
        }
}

static void walk_children(struct globals_walk *w, Dwarf_Die *parent, bool in_function, int depth)
{
        Dwarf_Die die;

        if (depth == DIE_DEPTH || dwarf_child(parent, &die) != 0)
                return;
        do {
                walk_die(w, &die, in_function, depth + 1);
        } while (dwarf_siblingof(&die, &die) == 0);
}

static void walk_type_units(struct globals_walk *w, Dwarf *dwarf)
{
        Dwarf_CU *cu = NULL;
        Dwarf_Die die;

        while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0)
                if (dwarf_tag(&die) == DW_TAG_type_unit)
                        walk_children(w, &die, false, 0);
}

static void find_thread_storage(Elf *elf, GElf_Phdr *found)
{
        size_t count = 0;

        if (elf_getphdrnum(elf, &count) != 0)
                count = 0;
        for (size_t i = 0; i < count; i++)
                if (gelf_getphdr(elf, (int)i, found) && found->p_type == PT_TLS)
                        return;
        *found = (GElf_Phdr){ 0 };
}

/* (qsort() must not be given NULL.) */
static void names_sort(struct global_names *names)
{
        if (names->count)
                qsort(names->all, names->count, sizeof *names->all, name_compare);
}

static void list_sort(struct global_list *list)
{
        if (list->count)
                qsort(list->all, list->count, sizeof *list->all, global_compare);
}

void globals_read(struct globals *g, struct debug *d)
{
        struct globals_walk walk = { .globals = g };
        Dwarf_Die skeleton, body;

        find_thread_storage(dwarf_getelf(debug_dwarf(d)), &walk.thread);
        for (; debug_unit(d, walk.unit, &skeleton, &body); walk.unit++) {
                walk_children(&walk, &body, false, 0);
                if (body.addr != skeleton.addr)
                        walk_type_units(&walk, dwarf_cu_getdwarf(body.cu));
                g->in_c |= die_in_c(&body);
        }
        walk_type_units(&walk, debug_dwarf(d));
        lookup_free(&walk.entered);
        list_sort(&g->data);
        list_sort(&g->thread);
        names_sort(&g->types);
        names_sort(&g->words);
        names_sort(&g->declared);
}

void globals_free(struct globals *g)
{
        free(g->data.all);
        free(g->thread.all);
        free(g->types.all);
        free(g->words.all);
        free(g->declared.all);
        *g = (struct globals){ 0 };
}

/* ---- finding ---- */

const struct global *globals_find(const struct global_list *list, uint64_t address)
{
        size_t low = FIND_FIRST(list->count, i, list->all[i].start <= address);
        const struct global *found;

        if (!low)
                return NULL;
        found = &list->all[low - 1];
        return address - found->start < (found->size ? found->size : 1) ? found : NULL;
}

const struct global_name *globals_named(const struct global_names *names, const char *name,
                                        size_t *count)
{
        size_t low = FIND_FIRST(names->count, i, strcmp(names->all[i].name, name) < 0);

        *count = 0;
        while (low + *count < names->count && strcmp(names->all[low + *count].name, name) == 0)
                ++*count;
        return *count ? &names->all[low] : NULL;
}
