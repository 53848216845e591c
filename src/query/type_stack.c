/* SPDX-License-Identifier: MIT */
/*
 * type_stack.c -- the type of a block by the call stack.
 *
 * C++ has it in the names of functions, since templates are named with their arguments:
 * std::__new_allocator<Session>::allocate.  Rust's symbols have no arguments (unless mangled the
 * new way), but its debug information describes the parameter T of each generic function.
 */
#include "query/type_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/c_library.h"
#include "names/demangle.h"
#include "query/walk.h"
#include "query/wrapper.h"
#include "types/spelling.h"
#include "words/label.h"

/* ---- C++ ---- */

/* Behind the argument of a template that begins at AT. */
static const char *argument_end(const char *at)
{
        int depth = 0;

        for (; *at; at++) {
                if (depth == 0 && (*at == ',' || *at == '>'))
                        break;
                depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
        }
        return at;
}

/* Nodes and control blocks of the library are named by what they are for. */
static const struct {
        const char *begins, *word;
} cxx_nodes[] = {
        { "std::_Sp_counted_ptr_inplace<", "make_shared" },
        { "std::_Sp_counted_ptr<", "shared_ptr" },
        { "std::_Sp_counted_deleter<", "shared_ptr" },
        { "std::_Rb_tree_node<", "tree node" },
        { "std::_List_node<", "list node" },
        { "std::_Fwd_list_node<", "list node" },
        { "std::__detail::_Hash_node<", "hash node" },
        { "std::__1::__tree_node<", "tree node" },
        { "std::__1::__list_node<", "list node" },
        { "std::__1::__hash_node<", "hash node" },
        { "std::__1::__shared_ptr_emplace<", "make_shared" },
};

/* Append LENGTH bytes of NAME as a name that people read. */
static void add_type(const char *name, size_t length, struct str *out)
{
        size_t before = out->length;

        while (length && name[length - 1] == ' ')
                length--;
        str_bytes(out, name, length);
        demangle_shorten(out->data + before);
        out->length = before + strlen(out->data + before);
}

void type_stack_name(const char *argument, struct str *out)
{
        for (size_t i = 0; i < sizeof cxx_nodes / sizeof cxx_nodes[0]; i++) {
                size_t length = strlen(cxx_nodes[i].begins);
                const char *inner = argument + length;

                if (strncmp(argument, cxx_nodes[i].begins, length) != 0)
                        continue;
                add_type(inner, (size_t)(argument_end(inner) - inner), out);
                str_format(out, " (%s)", cxx_nodes[i].word);
                return;
        }
        add_type(argument, (size_t)(argument_end(argument) - argument), out);
}

/* std::allocator<T>::allocate, std::allocator_traits<std::allocator<T>>::allocate, and the like. */
static const char *allocated(const char *function)
{
        static const char word[] = "allocator<";

        for (const char *at = strstr(function, word); at; at = strstr(at + 1, word)) {
                const char *argument = at + sizeof word - 1, *rest = argument_end(argument);

                while (*rest == '>' || *rest == ' ')
                        rest++;
                if (strncmp(rest, "::allocate", 10) == 0 || strncmp(rest, "::_S_allocate", 13) == 0)
                        return argument;
        }
        return NULL;
}

static bool begins(const char *text, const char *with)
{
        return strncmp(text, with, strlen(with)) == 0;
}

static bool cxx_find(const char *function, struct str *out)
{
        static const char unique[] = "std::make_unique<";
        const char *argument = allocated(function), *made;

        if (argument) {
                type_stack_name(argument, out);
                return true;
        }
        made = strstr(function, unique);
        if (made) {
                type_stack_name(made + sizeof unique - 1, out);
                if (out->length > 2 && strcmp(out->data + out->length - 2, "[]") == 0)
                        out->data[out->length -= 2] = 0;
                while (out->length && out->data[out->length - 1] == ' ')
                        out->data[--out->length] = 0;
                return true;
        }
        if (begins(function, "void "))
                function += 5;
        if (!begins(function, "std::string::") &&
            !begins(function, "std::__cxx11::basic_string<char") &&
            !begins(function, "std::basic_string<char>::"))
                return false;
        str_text(out, "char (std::string)");
        return true;
}

/* ---- Rust ---- */

static bool rust_library(const char *function)
{
        function += *function == '<';
        return begins(function, "alloc::") || begins(function, "hashbrown::") ||
               begins(function, "std::collections::");
}

static bool rust_find(const struct spelling_place *place, const char *function,
                      struct variable_type *type, struct str *out)
{
        *type = rust_library(function) ? spelling_parameter(place, "T")
                                       : (struct variable_type){ 0 };
        if (!variable_type_size(place->s, *type) || !variable_type_name(place->s, *type, out))
                return false;
        if (strstr(function, "hashbrown::"))
                str_text(out, " (hash table)");
        else if (begins(function, "alloc::rc::"))
                str_text(out, " (Rc)");
        else if (begins(function, "alloc::sync::"))
                str_text(out, " (Arc)");
        return true;
}

/* ---- the C library ---- */

static const struct {
        const char *function, *type;
} c_functions[] = {
        { "strdup", "char" },    { "strndup", "char" },  { "asprintf", "char" },
        { "vasprintf", "char" }, { "getline", "char" },  { "getdelim", "char" },
        { "realpath", "char" },  { "getcwd", "char" },   { "wcsdup", "wchar_t" },
        { "fopen", "FILE" },     { "fopen64", "FILE" },  { "fdopen", "FILE" },
        { "opendir", "DIR" },    { "_IO_file_doallocate", "char (buffer of a FILE)" },
};

static const char *c_find(const struct profile *p, const struct walk *w)
{
        uint32_t module = p->nodes[w->node].module;
        const char *path = module < p->module_count ? p->modules[module].path : NULL;
        const char *spoken = path && c_library_has(path) ? demangle_spoken(w->frame->function)
                                                         : NULL;

        for (size_t i = 0; spoken && i < sizeof c_functions / sizeof c_functions[0]; i++)
                if (strcmp(spoken, c_functions[i].function) == 0)
                        return c_functions[i].type;
        return NULL;
}

/* ---- all of them ---- */

enum type_stack type_stack_find(const struct profile *p, struct symbols *s,
                                struct wrappers *wrappers, uint32_t node,
                                struct variable_type *type, struct str *name)
{
        struct walk w = walk_own(p, s, node);
        const char *known;

        *type = (struct variable_type){ 0 };
        while (walk_next(&w) && w.frame->function) {
                struct spelling_place place = { s, p->nodes[w.node].module,
                                                symbols_address(p, w.node), w.level };

                known = c_find(p, &w);
                if (known) {
                        str_text(name, known);
                        return TYPE_STACK_FUNCTION;
                }
                if (!wrappers_or_library(wrappers, w.frame))
                        break;
                if (cxx_find(w.frame->function, name)) {
                        *type = spelling_type(&place, str_get(name));
                        return TYPE_STACK_TEMPLATE;
                }
                if (rust_find(&place, w.frame->function, type, name))
                        return TYPE_STACK_TEMPLATE;
        }
        return TYPE_STACK_NONE;
}
