/* SPDX-License-Identifier: MIT */
/*
 * debug.c -- source lines and inlined functions of a module, from its DWARF.
 *
 * Cost:   a unit's functions are listed at the first address inside it, a function's inlined calls
 *         at the first address inside that.  (dwarf_getscopes walks a whole unit for each address;
 *         .debug_aranges, which libdwfl relies on, is not written by clang.)
 */
#include "names/debug.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/lookup.h"
#include "base/order.h"
#include "base/str.h"
#include "names/die.h"
#include "names/split.h"

/* ---- address ranges that may nest, searched by address ---- */

struct line_span {
        uint64_t start, end;
        uint32_t owner;
};

struct spans {
        struct line_span *all;
        size_t count;
        uint64_t longest;
};

enum { SPAN_STEPS = 256 }; /* how many spans that begin nearer but end too early are looked at */

static void spans_add(struct spans *s, uint64_t start, uint64_t end, uint32_t owner)
{
        /* Code that the linker threw away keeps its description, with the start set to 0 or 1. */
        if (end <= start || start <= 1)
                return;
        s->all = heap_next(s->all, s->count, sizeof *s->all);
        s->all[s->count++] = (struct line_span){ start, end, owner };
        if (end - start > s->longest)
                s->longest = end - start;
}

static int span_compare(const void *a, const void *b)
{
        const struct line_span *x = a, *y = b;

        return ORDER(x->start, y->start) ?: ORDER(y->end, x->end) ?: ORDER(x->owner, y->owner);
}

/* After the last spans_add and before the first spans_find. */
static void spans_sort(struct spans *s)
{
        if (s->count)
                qsort(s->all, s->count, sizeof *s->all, span_compare);
}

/* Owner of the innermost span over ADDRESS: 1, *OWNER set; 0 none. */
static int spans_find(const struct spans *s, uint64_t address, uint32_t *owner)
{
        size_t low = FIND_FIRST(s->count, i, s->all[i].start <= address);

        for (size_t i = low, steps = 0; i-- > 0 && steps < SPAN_STEPS; steps++) {
                if (address - s->all[i].start >= s->longest)
                        break;
                if (address < s->all[i].end) {
                        *owner = s->all[i].owner;
                        return 1;
                }
        }
        return 0;
}

static void spans_free(struct spans *s)
{
        free(s->all);
        *s = (struct spans){ 0 };
}

/* ---- source lines and inlined functions of a module, from its DWARF ---- */

enum { DEBUG_WITHIN = 8 }; /* functions in classes in functions ... */

struct debug_inline {
        Dwarf_Die die;
        uint32_t parent; /* index + 1 in the same list; 0: directly in the function */
};

struct debug_function {
        Dwarf_Die die;
        struct debug_inline *inlines; /* outer before inner */
        uint32_t inline_count;
        int listed;
};

struct debug_unit {
        Dwarf_Die die;  /* has the line table */
        Dwarf_Die body; /* has the functions: the same, or the unit of a .dwo file */
        const struct split *split; /* NULL: libdw knows the address ranges of the body */
        struct debug_function *functions;
        uint32_t function_count;
        struct spans spans; /* of functions */
        int sought; /* for the body */
        int listed;
};

struct debug {
        Dwarf *dwarf;
        struct debug_unit *units;
        uint32_t unit_count;
        struct spans spans; /* of units */
        Dwarf_Addr bias;    /* address = DWARF address + bias */
        struct splits *splits;
        bool lacking;
        struct lookup scoped; /* entries of functions, by address ... */
        char **scoped_names;  /* ... and their names with what they stand in */
        uint32_t scoped_count;
};

static void debug_add_ranges(Dwarf_Die *die, struct spans *spans, uint32_t owner)
{
        Dwarf_Addr base, start, end;

        for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
                spans_add(spans, start, end, owner);
}

struct debug_owner {
        struct spans *spans;
        uint32_t index;
};

static bool debug_add_range(void *context, Dwarf_Addr start, Dwarf_Addr end)
{
        struct debug_owner *owner = context;

        spans_add(owner->spans, start, end, owner->index);
        return false;
}

static bool debug_covers(void *context, Dwarf_Addr start, Dwarf_Addr end)
{
        Dwarf_Addr pc = *(const Dwarf_Addr *)context;

        return start <= pc && pc < end;
}

static bool debug_has(const struct debug_unit *unit, Dwarf_Die *die, Dwarf_Addr pc)
{
        return unit->split ? split_ranges(unit->split, die, debug_covers, &pc)
                           : dwarf_haspc(die, pc) == 1;
}

static void debug_add_unit(struct debug *d, Dwarf_Die *die)
{
        d->units = heap_next(d->units, d->unit_count, sizeof *d->units);
        d->units[d->unit_count] = (struct debug_unit){ .die = *die, .body = *die };
        debug_add_ranges(die, &d->spans, d->unit_count);
        d->unit_count++;
}

/* Where the functions of a unit are that were left out of the program. */
static void debug_find_body(struct debug *d, struct debug_unit *unit)
{
        Dwarf_Die split;
        uint8_t type;

        if (unit->sought)
                return;
        unit->sought = 1;
        if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) != 0 ||
            type != DW_UT_skeleton)
                return;
        if (split.addr)
                unit->body = split;
        else
                unit->split = splits_find(d->splits, &unit->die, &unit->body);
        d->lacking |= !split.addr && !unit->split;
}

struct debug *debug_open(Dwarf *dwarf, Dwarf_Addr bias, struct splits *splits)
{
        struct debug *d;
        Dwarf_CU *cu = NULL;
        Dwarf_Die die;

        if (!dwarf)
                return NULL;
        d = heap_zero(1, sizeof *d);
        d->dwarf = dwarf;
        d->bias = bias;
        d->splits = splits;
        while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0)
                if (dwarf_tag(&die) == DW_TAG_compile_unit ||
                    dwarf_tag(&die) == DW_TAG_skeleton_unit)
                        debug_add_unit(d, &die);
        spans_sort(&d->spans);
        return d;
}

bool debug_lacking(const struct debug *d)
{
        return d->lacking;
}

bool debug_unit(struct debug *d, uint32_t number, Dwarf_Die *skeleton, Dwarf_Die *body)
{
        if (number >= d->unit_count)
                return false;
        debug_find_body(d, &d->units[number]);
        *skeleton = d->units[number].die;
        *body = d->units[number].body;
        return true;
}

Dwarf *debug_dwarf(const struct debug *d)
{
        return d->dwarf;
}

Dwarf_Addr debug_bias(const struct debug *d)
{
        return d->bias;
}

void debug_free(struct debug *d)
{
        if (!d)
                return;
        for (uint32_t i = 0; i < d->unit_count; i++) {
                struct debug_unit *unit = &d->units[i];

                for (uint32_t j = 0; j < unit->function_count; j++)
                        free(unit->functions[j].inlines);
                free(unit->functions);
                spans_free(&unit->spans);
        }
        free(d->units);
        spans_free(&d->spans);
        for (uint32_t i = 0; i < d->scoped_count; i++)
                free(d->scoped_names[i]);
        free(d->scoped_names);
        lookup_free(&d->scoped);
        free(d);
}

static void debug_add_function(struct debug_unit *unit, Dwarf_Die *die)
{
        struct debug_owner owner = { &unit->spans, unit->function_count };
        size_t before = unit->spans.count;

        if (unit->split)
                split_ranges(unit->split, die, debug_add_range, &owner);
        else
                debug_add_ranges(die, &unit->spans, unit->function_count);
        if (unit->spans.count == before)
                return; /* a declaration, or the abstract form of an inlined function */
        unit->functions = heap_next(unit->functions, unit->function_count, sizeof *unit->functions);
        unit->functions[unit->function_count++] = (struct debug_function){ .die = *die };
}

/* Functions stand in the unit, in namespaces, in classes, and (local classes, nested
 * functions) in functions. */
static int debug_may_hold_functions(int tag)
{
        switch (tag) {
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
                return 1;
        default:
                return 0;
        }
}

static void debug_list_functions(struct debug_unit *unit, Dwarf_Die *parent, int depth)
{
        Dwarf_Die die;

        if (depth > 64 || dwarf_child(parent, &die) != 0)
                return;
        do {
                int tag = dwarf_tag(&die);

                if (tag == DW_TAG_subprogram)
                        debug_add_function(unit, &die);
                if (debug_may_hold_functions(tag))
                        debug_list_functions(unit, &die, depth + 1);
        } while (dwarf_siblingof(&die, &die) == 0);
}

static uint32_t debug_add_inline(struct debug_function *f, const Dwarf_Die *die, uint32_t parent)
{
        f->inlines = heap_next(f->inlines, f->inline_count, sizeof *f->inlines);
        f->inlines[f->inline_count++] = (struct debug_inline){ *die, parent };
        return f->inline_count;
}

static void debug_list_inlines(struct debug_function *f, Dwarf_Die *parent_die, uint32_t parent,
                               int depth)
{
        Dwarf_Die die;

        if (depth > 256 || dwarf_child(parent_die, &die) != 0)
                return;
        do {
                switch (dwarf_tag(&die)) {
                case DW_TAG_inlined_subroutine:
                        debug_list_inlines(f, &die, debug_add_inline(f, &die, parent), depth + 1);
                        break;
                case DW_TAG_lexical_block:
                case DW_TAG_try_block:
                case DW_TAG_catch_block:
                        debug_list_inlines(f, &die, parent, depth + 1);
                        break;
                default:
                        break;
                }
        } while (dwarf_siblingof(&die, &die) == 0);
}

static struct debug_function *debug_function_at(struct debug *d, struct debug_unit *unit,
                                                Dwarf_Addr pc)
{
        struct debug_function *f;
        uint32_t index;

        if (!unit->listed) {
                unit->listed = 1;
                debug_find_body(d, unit);
                debug_list_functions(unit, &unit->body, 0);
                spans_sort(&unit->spans);
        }
        if (!spans_find(&unit->spans, pc, &index))
                return NULL;
        f = &unit->functions[index];
        if (!f->listed) {
                f->listed = 1;
                debug_list_inlines(f, &f->die, 0, 0);
        }
        return f;
}

static bool debug_scope_name(Dwarf_Die *die, int depth, struct str *out);

/* What a function, namespace or class is called around what is in it.  UNNAMED: a class without a
 * name. */
static void debug_around(Dwarf_Die *scope, const char *unnamed, int depth, struct str *out)
{
        const char *name = dwarf_diename(scope);

        switch (dwarf_tag(scope)) {
        case DW_TAG_subprogram:
                debug_scope_name(scope, depth + 1, out);
                break;
        case DW_TAG_namespace:
                str_text(out, name ? name : "(anonymous namespace)");
                break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
                str_text(out, name && name[0] != '<' ? name : unnamed);
                break;
        default:
                return;
        }
        str_text(out, "::");
}

/* The name of DIE with all that it stands in: "main::{lambda}::operator()".  false: it has
 * none. */
static bool debug_scope_name(Dwarf_Die *die, int depth, struct str *out)
{
        Dwarf_Die origin = die_origin(die), chain[DIE_DEPTH];
        uint32_t count = depth < DEBUG_WITHIN ? die_chain(&origin, chain) : 0, first = 1;
        const char *name = die_text(&origin, DW_AT_name),
                   *unnamed = name && strcmp(name, "operator()") == 0 ? "{lambda}" : "{unnamed}";

        for (uint32_t i = 1; i + 1 < count; i++)
                if (dwarf_tag(&chain[i]) == DW_TAG_subprogram)
                        first = i; /* which has what is around it in its own name */
        for (uint32_t i = first; i + 1 < count; i++)
                debug_around(&chain[i], unnamed, depth, out);
        str_text(out, name ? name : "{unnamed}");
        return name;
}

/* The same, each name once. */
static const char *debug_scoped(struct debug *d, Dwarf_Die *die)
{
        Dwarf_Die origin = die_origin(die);
        uint32_t number = lookup_number(&d->scoped, (uintptr_t)origin.addr, 0);
        struct str name = { 0 };

        if (number == d->scoped_count) {
                d->scoped_names = heap_next(d->scoped_names, number, sizeof *d->scoped_names);
                d->scoped_names[d->scoped_count++] =
                        debug_scope_name(die, 0, &name) ? heap_text(str_get(&name)) : NULL;
                str_free(&name);
        }
        return d->scoped_names[number];
}

/* C++ has no linkage names for what is in an anonymous namespace or in a function. */
static void debug_name(struct debug *d, Dwarf_Die *die, struct debug_frame *frame)
{
        frame->function = die_linkage(die);
        frame->linked = frame->function != NULL;
        if (!frame->linked)
                frame->function = die_in_c(die) ? die_text(die, DW_AT_name) : debug_scoped(d, die);
}

static void debug_call_line(struct debug_unit *unit, Dwarf_Die *call, struct debug_frame *frame)
{
        Dwarf_Files *files;
        size_t count;
        uint64_t number = 0, line = 0;

        die_number(call, DW_AT_call_file, &number);
        die_number(call, DW_AT_call_line, &line);
        frame->line = (uint32_t)line;
        if (dwarf_getsrcfiles(&unit->body, &files, &count) != 0 &&
            dwarf_getsrcfiles(&unit->die, &files, &count) != 0)
                return;
        if (number < count)
                frame->file = dwarf_filesrc(files, number, NULL, NULL);
}

static int debug_own_line(struct debug_unit *unit, Dwarf_Addr pc, struct debug_frame *frame)
{
        Dwarf_Line *line = dwarf_getsrc_die(&unit->die, pc);
        int number;

        if (!line)
                return 0;
        frame->file = dwarf_linesrc(line, NULL, NULL);
        if (dwarf_lineno(line, &number) == 0 && number > 0)
                frame->line = (uint32_t)number;
        return 1;
}

/* The inlined calls around PC, outer first. */
static uint32_t debug_chain(const struct debug_unit *unit, struct debug_function *f, Dwarf_Addr pc,
                            Dwarf_Die *chain[DEBUG_FRAMES])
{
        uint32_t count = 0, innermost = 0;

        for (uint32_t i = 0; i < f->inline_count && count < DEBUG_FRAMES - 1; i++) {
                if (f->inlines[i].parent != innermost || !debug_has(unit, &f->inlines[i].die, pc))
                        continue;
                chain[count++] = &f->inlines[i].die;
                innermost = i + 1;
        }
        return count;
}

uint32_t debug_find(struct debug *d, uint64_t address, struct debug_frame frames[DEBUG_FRAMES])
{
        Dwarf_Addr pc = address - d->bias, entry;
        Dwarf_Die *chain[DEBUG_FRAMES];
        struct debug_function *f;
        struct debug_unit *unit;
        uint32_t index, depth;

        if (!spans_find(&d->spans, pc, &index))
                return 0;
        unit = &d->units[index];
        f = debug_function_at(d, unit, pc);
        frames[0] = (struct debug_frame){ 0 };
        if (!f)
                return debug_own_line(unit, pc, &frames[0]) ? 1 : 0;
        depth = debug_chain(unit, f, pc, chain);
        debug_own_line(unit, pc, &frames[0]);
        for (uint32_t i = 0; i < depth; i++) {
                Dwarf_Die *call = chain[depth - 1 - i];

                debug_name(d, call, &frames[i]);
                frames[i + 1] = (struct debug_frame){ 0 };
                debug_call_line(unit, call, &frames[i + 1]);
        }
        debug_name(d, &f->die, &frames[depth]);
        if (dwarf_entrypc(&f->die, &entry) == 0)
                frames[depth].entry = entry + d->bias;
        return depth + 1;
}

static bool debug_is_scope(int tag)
{
        return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
               tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static bool debug_scope_in(const struct debug_unit *unit, Dwarf_Die *parent, Dwarf_Addr pc,
                           Dwarf_Die *out)
{
        Dwarf_Die die;

        if (dwarf_child(parent, &die) != 0)
                return false;
        do {
                if (debug_is_scope(dwarf_tag(&die)) && debug_has(unit, &die, pc)) {
                        *out = die;
                        return true;
                }
        } while (dwarf_siblingof(&die, &die) == 0);
        return false;
}

uint32_t debug_scopes(struct debug *d, uint64_t address, Dwarf_Die scopes[DEBUG_SCOPES],
                      Dwarf_Die *skeleton)
{
        Dwarf_Addr pc = address - d->bias;
        struct debug_function *f;
        struct debug_unit *unit;
        uint32_t index, count = 1;

        if (!spans_find(&d->spans, pc, &index))
                return 0;
        unit = &d->units[index];
        f = debug_function_at(d, unit, pc);
        if (!f)
                return 0;
        *skeleton = unit->die;
        scopes[0] = f->die;
        while (count < DEBUG_SCOPES && debug_scope_in(unit, &scopes[count - 1], pc, &scopes[count]))
                count++;
        return count;
}
