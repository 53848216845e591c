/* SPDX-License-Identifier: MIT */
#include "types/spelling.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "names/die.h"
#include "types/type.h"
#include "types/variables.h"

enum { SPELLING_CANDIDATES = 64 }; /* types of one name that are compared */

/* ---- the function ---- */

/* The function of a place, and the blocks of it that the call is in. */
struct spelling_frame {
        struct variable_module *in;
        Dwarf_Die scopes[DEBUG_SCOPES];
        uint32_t first, end; /* the function, and behind the innermost block */
};

static bool is_function(Dwarf_Die *die)
{
        return dwarf_tag(die) == DW_TAG_subprogram || dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

static bool frame_open(const struct spelling_place *place, struct spelling_frame *f)
{
        Dwarf_Die skeleton;

        f->in = variables_module(place->s, place->module);
        if (!f->in || !f->in->file->debug)
                return false;
        f->end = debug_scopes(f->in->file->debug, place->address, f->scopes, &skeleton);
        for (uint32_t level = 0, i = f->end; i-- > 0;) {
                if (!is_function(&f->scopes[i]))
                        continue;
                f->first = i;
                if (level++ == place->level)
                        return true;
                f->end = i;
        }
        return false;
}

static struct variable_type number(const struct spelling_place *place, const Dwarf_Die *die,
                                   uint32_t pointers)
{
        return variables_number(variables_of(place->s), place->module, die, pointers);
}

/* ---- variables ---- */

/* Told each variable and parameter; true ends the walk. */
typedef bool variable_visit(void *context, Dwarf_Die *variable);

static bool visit_variables(Dwarf_Die *scope, bool nested, int depth, variable_visit *visit,
                            void *context)
{
        Dwarf_Die die;

        if (depth == DIE_DEPTH || dwarf_child(scope, &die) != 0)
                return false;
        do {
                int tag = dwarf_tag(&die);

                if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
                    visit(context, &die))
                        return true;
                if (nested && (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                               tag == DW_TAG_catch_block) &&
                    visit_variables(&die, true, depth + 1, visit, context))
                        return true;
        } while (dwarf_siblingof(&die, &die) == 0);
        return false;
}

/* The description that all copies of an inlined function share; it has what was optimised away. */
static bool abstract_of(Dwarf_Die *function, Dwarf_Die *out)
{
        Dwarf_Attribute attr;

        return dwarf_attr(function, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, out);
}

struct named {
        const char *name;
        Dwarf_Die found;
};

static bool visit_named(void *context, Dwarf_Die *variable)
{
        struct named *n = context;
        const char *own = die_text(variable, DW_AT_name);

        if (!own || strcmp(own, n->name) != 0)
                return false;
        n->found = *variable;
        return true;
}

/* Those of the unit first, also what was optimised away; then all that have an address. */
static bool find_global(const struct globals *g, Dwarf_Die *function, struct named *n)
{
        const struct global_name *declared;
        size_t count;
        Dwarf_Die unit;

        if (dwarf_diecu(function, &unit, NULL, NULL) &&
            visit_variables(&unit, false, 0, visit_named, n))
                return true;
        for (size_t i = 0; i < g->data.count; i++) {
                Dwarf_Die die = g->data.all[i].die;

                if (!g->data.all[i].in_function && visit_named(n, &die))
                        return true;
        }
        declared = globals_named(&g->declared, n->name, &count);
        if (declared)
                n->found = declared->die;
        return declared != NULL;
}

static bool find_variable(struct spelling_frame *f, const char *name, Dwarf_Die *type)
{
        struct named n = { .name = name };
        Dwarf_Die abstract;
        bool found = false;

        for (uint32_t i = f->end; i-- > f->first && !found;)
                found = visit_variables(&f->scopes[i], false, 0, visit_named, &n);
        if (!found && abstract_of(&f->scopes[f->first], &abstract))
                found = visit_variables(&abstract, true, 0, visit_named, &n);
        if (!found)
                found = find_global(&f->in->globals, &f->scopes[f->first], &n);
        return found && die_type(&n.found, type);
}

struct declared {
        uint64_t line;
        uint32_t count;
        Dwarf_Die type;
};

static bool visit_declared(void *context, Dwarf_Die *variable)
{
        struct declared *d = context;
        uint64_t line;
        Dwarf_Die type, peeled;

        if (dwarf_tag(variable) != DW_TAG_variable ||
            !die_number(variable, DW_AT_decl_line, &line) || line != d->line ||
            !die_type(variable, &type))
                return false;
        peeled = type;
        if (type_peel(&peeled) && type_is_pointer(&peeled)) {
                d->type = type;
                d->count++;
        }
        return false;
}

struct variable_type spelling_declared(const struct spelling_place *place, uint32_t line)
{
        struct declared d = { .line = line };
        struct spelling_frame f;
        Dwarf_Die abstract;

        if (!line || !frame_open(place, &f))
                return (struct variable_type){ 0 };
        visit_variables(&f.scopes[f.first], true, 0, visit_declared, &d);
        if (!d.count && abstract_of(&f.scopes[f.first], &abstract))
                visit_variables(&abstract, true, 0, visit_declared, &d);
        return d.count == 1 ? number(place, &d.type, 0) : (struct variable_type){ 0 };
}

struct variable_type spelling_result(const struct spelling_place *place)
{
        struct spelling_frame f;
        Dwarf_Die type;

        return frame_open(place, &f) && die_type(&f.scopes[f.first], &type)
                       ? number(place, &type, 0)
                       : (struct variable_type){ 0 };
}

const char *spelling_folder(const struct spelling_place *place)
{
        struct variable_module *m = variables_module(place->s, place->module);
        Dwarf_Die scopes[DEBUG_SCOPES], skeleton;

        return m && m->file->debug &&
                               debug_scopes(m->file->debug, place->address, scopes, &skeleton)
                       ? die_text(&skeleton, DW_AT_comp_dir)
                       : NULL;
}

/* ---- parameters of templates ---- */

static bool parameter_in(Dwarf_Die *of, const char *name, Dwarf_Die *type)
{
        Dwarf_Die die;

        if (dwarf_child(of, &die) != 0)
                return false;
        do {
                const char *own = dwarf_tag(&die) == DW_TAG_template_type_parameter
                                          ? dwarf_diename(&die)
                                          : NULL;

                if (own && strcmp(own, name) == 0)
                        return die_type(&die, type);
        } while (dwarf_siblingof(&die, &die) == 0);
        return false;
}

static bool find_parameter(struct spelling_frame *f, const char *name, Dwarf_Die *type)
{
        Dwarf_Die function = f->scopes[f->first], origin = die_origin(&function), chain[DIE_DEPTH];
        uint32_t count;

        if (parameter_in(&function, name, type) || parameter_in(&origin, name, type))
                return true;
        count = die_chain(&origin, chain);
        while (count-- > 1)
                if (parameter_in(&chain[count - 1], name, type))
                        return true;
        return false;
}

struct variable_type spelling_parameter(const struct spelling_place *place, const char *name)
{
        struct spelling_frame f;
        Dwarf_Die type;

        return frame_open(place, &f) && find_parameter(&f, name, &type)
                       ? number(place, &type, 0)
                       : (struct variable_type){ 0 };
}

/* ---- names of types ---- */

static size_t word_length(const char *text)
{
        size_t length = 0;

        while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '$')
                length++;
        return length;
}

/* Words that say what kind of type it is, or how it may be used. */
static bool is_kind(const char *word, size_t length)
{
        static const char *const kinds[] = { "struct", "class",    "union",  "enum",
                                             "const",  "volatile", "static", "typename" };

        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
                if (strlen(kinds[i]) == length && strncmp(word, kinds[i], length) == 0)
                        return true;
        return false;
}

/* WORDS without those, with single spaces; returns how many pointers they end in. */
static uint32_t type_words(const char *words, struct str *out)
{
        uint32_t pointers = 0;

        for (const char *at = words; *at;) {
                size_t length = word_length(at);

                if (length && is_kind(at, length)) {
                        at += length;
                } else if (length) {
                        if (out->length && word_length(out->data + out->length - 1))
                                str_char(out, ' ');
                        str_bytes(out, at, length);
                        at += length;
                } else {
                        if (!isspace((unsigned char)*at))
                                str_char(out, *at);
                        at++;
                }
        }
        while (out->length && out->data[out->length - 1] == '*') {
                out->data[--out->length] = 0;
                pointers++;
        }
        return pointers;
}

/* gcc's names of C's own types. */
static const char *usual_name(const char *name)
{
        static const char *const same[][2] = {
                { "unsigned", "unsigned int" },
                { "long", "long int" },
                { "unsigned long", "long unsigned int" },
                { "unsigned long int", "long unsigned int" },
                { "short", "short int" },
                { "unsigned short", "short unsigned int" },
                { "long long", "long long int" },
                { "unsigned long long", "long long unsigned int" },
        };

        for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
                if (strcmp(name, same[i][0]) == 0)
                        return same[i][1];
        return name;
}

static bool ends_like(const char *whole, const char *end)
{
        size_t length = strlen(whole), tail = strlen(end);

        return length >= tail && strcmp(whole + length - tail, end) == 0 &&
               (length == tail || whole[length - tail - 1] == ':');
}

/* The one type of LIST that NAME, with some of its scopes, can mean. */
static bool find_one(const struct global_names *list, const char *name, Dwarf_Die *out)
{
        size_t count;
        const struct global_name *found = globals_named(list, variables_last_part(name), &count);
        struct str first = { 0 };
        uint32_t met = 0;

        for (size_t i = 0; found && i < count && i < SPELLING_CANDIDATES && met < 2; i++) {
                struct str whole = { 0 };
                Dwarf_Die die = found[i].die;

                if (type_scoped_name(&die, &whole) && ends_like(str_get(&whole), name) &&
                    (!met || strcmp(str_get(&whole), str_get(&first)) != 0)) {
                        met++;
                        str_text(&first, met == 1 ? str_get(&whole) : "");
                        *out = met == 1 ? die : *out;
                }
                str_free(&whole);
        }
        str_free(&first);
        return met == 1;
}

struct variable_type spelling_type(const struct spelling_place *place, const char *words)
{
        struct variable_type type = { 0 };
        struct str name = { 0 };
        uint32_t pointers = type_words(words, &name);
        struct spelling_frame f;
        Dwarf_Die die;

        if (name.length && frame_open(place, &f) &&
            (find_parameter(&f, str_get(&name), &die) ||
             find_one(&f.in->globals.types, str_get(&name), &die) ||
             find_one(&f.in->globals.words, str_get(&name), &die) ||
             find_one(&f.in->globals.words, usual_name(str_get(&name)), &die)))
                type = number(place, &die, pointers);
        str_free(&name);
        return type;
}

/* ---- expressions ---- */

struct expression {
        const char *at;
        struct spelling_frame *f;
        int depth;
};

static bool member_named(const struct globals *g, Dwarf_Die *of, const char *name, Dwarf_Die *type,
                         int depth)
{
        Dwarf_Die die;

        if (depth == DIE_DEPTH || !type_peel(of))
                return false;
        type_complete(g, of);
        if (dwarf_child(of, &die) != 0)
                return false;
        do {
                const char *own = dwarf_diename(&die);
                bool inside = dwarf_tag(&die) == DW_TAG_inheritance ||
                              (dwarf_tag(&die) == DW_TAG_member && !own);
                Dwarf_Die inner;

                if (dwarf_tag(&die) == DW_TAG_member && own && strcmp(own, name) == 0)
                        return die_type(&die, type);
                if (inside && die_type(&die, &inner) &&
                    member_named(g, &inner, name, type, depth + 1))
                        return true;
        } while (dwarf_siblingof(&die, &die) == 0);
        return false;
}

static bool point(const struct globals *g, Dwarf_Die *type)
{
        Dwarf_Die target, peeled = *type;

        if (!type_peel(&peeled))
                return false;
        if (dwarf_tag(&peeled) == DW_TAG_array_type)
                return die_type(&peeled, type);
        if (!type_target(g, &peeled, &target))
                return false;
        *type = target;
        return true;
}

static void skip_spaces(struct expression *e)
{
        while (isspace((unsigned char)*e->at))
                e->at++;
}

static bool skip_index(struct expression *e)
{
        int depth = 0;

        for (; *e->at; e->at++) {
                depth += (*e->at == '[') - (*e->at == ']');
                if (!depth) {
                        e->at++;
                        return true;
                }
        }
        return false;
}

static char *take_name(struct expression *e)
{
        size_t length;
        char *name;

        skip_spaces(e);
        length = isdigit((unsigned char)*e->at) ? 0 : word_length(e->at);
        name = length ? strndup(e->at, length) : NULL;
        e->at += length;
        return name;
}

static bool take_member(struct expression *e, Dwarf_Die *type)
{
        char *name = take_name(e);
        Dwarf_Die of = *type;
        bool good = name && member_named(&e->f->in->globals, &of, name, type, 0);

        free(name);
        return good;
}

static bool take_postfix(struct expression *e, Dwarf_Die *type)
{
        const struct globals *g = &e->f->in->globals;

        for (skip_spaces(e);; skip_spaces(e)) {
                if (*e->at == '[') {
                        if (!point(g, type) || !skip_index(e))
                                return false;
                } else if (strncmp(e->at, "->", 2) == 0) {
                        e->at += 2;
                        if (!point(g, type) || !take_member(e, type))
                                return false;
                } else if (*e->at == '.') {
                        e->at++;
                        if (!take_member(e, type))
                                return false;
                } else {
                        return true;
                }
        }
}

/* A variable, or a member of the object whose function this is. */
static bool take_variable(struct expression *e, Dwarf_Die *type)
{
        char *name = take_name(e);
        Dwarf_Die of;
        bool good = name && find_variable(e->f, name, type);

        if (name && !good)
                good = find_variable(e->f, "this", &of) && point(&e->f->in->globals, &of) &&
                       member_named(&e->f->in->globals, &of, name, type, 0);
        free(name);
        return good;
}

static bool take_expression(struct expression *e, Dwarf_Die *type)
{
        bool good;

        skip_spaces(e);
        if (e->depth++ == DIE_DEPTH)
                return false;
        if (*e->at == '*') {
                e->at++;
                return take_expression(e, type) && point(&e->f->in->globals, type);
        }
        if (*e->at != '(')
                return take_variable(e, type) && take_postfix(e, type);
        e->at++;
        good = take_expression(e, type);
        skip_spaces(e);
        return good && *e->at++ == ')' && take_postfix(e, type);
}

struct variable_type spelling_expression(const struct spelling_place *place, const char *text)
{
        struct spelling_frame f;
        struct expression e = { .at = text, .f = &f };
        Dwarf_Die type;

        return frame_open(place, &f) && take_expression(&e, &type) && !*e.at
                       ? number(place, &type, 0)
                       : (struct variable_type){ 0 };
}

/* ---- one name for one type ---- */

static bool has_own_name(Dwarf_Die *type)
{
        switch (dwarf_tag(type)) {
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type:
                return dwarf_diename(type) != NULL;
        default:
                return false;
        }
}

struct variable_type spelling_plain(struct symbols *s, struct variable_type type)
{
        struct variables *v = variables_of(s);
        const struct variable_described *t = variables_described(v, type);
        uint32_t module = t ? t->module : 0;
        Dwarf_Die die, peeled, next;

        if (!t || t->pointers)
                return type;
        die = peeled = t->die;
        if (!type_peel(&peeled))
                return (struct variable_type){ 0 };
        if (has_own_name(&peeled))
                return variables_number(v, module, &peeled, 0);
        while (dwarf_tag(&die) != DW_TAG_typedef && die.addr != peeled.addr &&
               die_type(&die, &next))
                die = next;
        return variables_number(v, module, &die, 0);
}
