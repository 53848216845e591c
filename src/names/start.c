/* SPDX-License-Identifier: MIT */
/*
 * start.c -- which frames of a stack are start code: what runs before main or before
 * the function of a thread.
 *
 * Start code is recognised by its place.  It is the outer end of a stack, as long as that is in the
 * C library or the loader:
 *
 *      main's stack                            a thread's stack, outermost first
 *      ------------                            ---------------------------------
 *      _start                    program       clone3             C library
 *      __libc_start_main         C library     start_thread       C library
 *      __libc_start_call_main    C library     work               program    <- shown from here on
 *      main                      program       calloc's caller    program
 *
 * The same holds for constructors (called by the loader) and for functions that exit() calls.  No
 * name is needed, so that it works without the debug files of the C library, which are the only
 * ones to name its local functions.
 *
 * Names are needed in a few cases, and then only those of frames at the outer end:
 * - The destructors of a library's objects are called by __cxa_finalize of the C library, and that
 *   by code of the compiler in the library, which the loader calls.
 * - _start is part of the program.  Without a name it is what has no caller and calls the C
 *   library.
 * - In a static program the C library has no file of its own.
 * - Where the outer end of a stack is missing, its outermost frame may be anything.
 * - Between the C library and the program's own code there may be the runtime of C++ (std::thread,
 *   std::async) or Rust (std::rt::lang_start, std::thread), which is part of the program's file.
 *   What is of std:: there is no code of the program's.
 */
#include "names/start.h"

#include <stdlib.h>
#include <string.h>

#include "base/c_library.h"
#include "base/heap.h"

static bool starts_with(const char *text, const char *front)
{
        return strncmp(text, front, strlen(front)) == 0;
}

enum kind { KIND_OTHER, KIND_LIBC, KIND_CPP };

static enum kind kind_of(const struct profile_module *m)
{
        const char *slash = m->path ? strrchr(m->path, '/') : NULL;
        const char *name = slash ? slash + 1 : m->path ? m->path : "";

        if (c_library_has(name))
                return KIND_LIBC;
        return starts_with(name, "libstdc++.so") || starts_with(name, "libc++.so") ? KIND_CPP
                                                                                   : KIND_OTHER;
}

static bool names_start(const char *name)
{
        static const char *const names[] = { "_start", "_start_c", "start_thread", "clone3",
                                             "__clone3", "clone", "__clone" };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return starts_with(name, "__libc_start_");
}

/* The C library's way from the end of main, or of a thread, to functions of the program.  In a
 * static program just their names tell that they are the library's. */
static bool names_end(const char *name)
{
        static const char *const names[] = { "exit", "__run_exit_handlers", "__call_tls_dtors",
                                             "__nptl_deallocate_tsd", "__funcs_on_exit",
                                             "libc_exit_fini", "libc_start_main_stage2" };

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

/* NAME without the result type, which C++ functions that were made from templates have in front. */
static const char *without_type(const char *name)
{
        const char *from = name;
        int depth = 0;

        for (const char *c = name; *c && (*c != '(' || depth); c++) {
                depth += (*c == '<' || *c == '{') - (*c == '>' || *c == '}');
                if (*c == ' ' && depth == 0)
                        from = c + 1;
        }
        return from;
}

/* Names of the C++ and Rust libraries; only at the outer end of a stack they tell start code. */
static bool names_runtime(const char *name)
{
        static const char *const fronts[] = { "std::", "core::", "alloc::", "__gthread_", "__rust_",
                                              "<std::", "<core::", "<alloc::" };

        name = without_type(name);
        for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++)
                if (starts_with(name, fronts[i]))
                        return true;
        return *name == '<' && strstr(name, " as core::ops::function::Fn");
}

static bool is_rust_start(const char *name)
{
        return name && starts_with(name, "std::rt::lang_start");
}

/* All that was inlined at NODE, too.  In Rust main is the runtime's, and calls the program's. */
static bool is_runtime(struct symbols *s, uint32_t node)
{
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(s, node, &frames);
        bool rust = false;

        for (uint32_t i = 0; i < count; i++) {
                const char *name = symbol_name(&frames[i]);

                if (!name || !(names_runtime(name) || (rust && strcmp(name, "main") == 0)))
                        return false;
                rust |= is_rust_start(name);
        }
        return true;
}

static const char *outer_name(struct symbols *s, uint32_t node)
{
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(s, node, &frames);

        return symbol_name(&frames[count - 1]);
}

enum { START_CALLS_LIBC = 2 }; /* noted in the first pass */

struct finder {
        const struct profile *p;
        struct symbols *s;
        uint8_t *kinds; /* by module: enum kind */
        uint8_t *start; /* by node */
};

static enum kind kind_at(const struct finder *f, uint32_t node)
{
        uint32_t module = f->p->nodes[node].module;

        return module < f->p->module_count ? f->kinds[module] : KIND_OTHER;
}

/* Mark the outermost frames that call the C library. */
static void mark_callers(struct finder *f)
{
        for (uint32_t i = 2; i < f->p->node_count; i++) {
                uint32_t caller = f->p->nodes[i].parent;

                if (caller > 1 && f->p->nodes[caller].parent == 0 && kind_at(f, i) == KIND_LIBC)
                        f->start[caller] = START_CALLS_LIBC;
        }
}

/* Of a node at the outer end. */
static bool is_start(const struct finder *f, uint32_t node)
{
        uint32_t outer = f->p->nodes[node].parent;
        enum kind kind = kind_at(f, node);
        const char *name;

        if ((kind == KIND_LIBC && outer != 1) || (kind == KIND_CPP && outer > 1))
                return true;
        if (outer > 1 && is_runtime(f->s, node))
                return true;
        name = outer_name(f->s, node);
        if (name && outer > 1 && names_end(name))
                return true;
        return name ? names_start(name) : outer == 0 && f->start[node] == START_CALLS_LIBC;
}

/* Whether NODE is the Rust runtime, called by its main: that is start code, too, if it is at the
 * outer end. */
static bool is_called_by_rust_main(const struct finder *f, uint32_t node)
{
        uint32_t outer = f->p->nodes[node].parent, outmost = f->p->nodes[outer].parent;
        const char *name;

        if (outer <= 1 || outmost <= 1 || f->start[outer] || f->start[outmost] != 1 ||
            !is_rust_start(outer_name(f->s, node)))
                return false;
        name = outer_name(f->s, outer);
        return name && strcmp(name, "main") == 0;
}

/* Whether NODE is the exit of a library with C++ objects that end then.  What calls it is not code
 * of the library's author but of the compiler: __do_global_dtors_aux, a local symbol. */
static bool is_library_exit(const struct finder *f, uint32_t node)
{
        uint32_t outer = f->p->nodes[node].parent, outmost = f->p->nodes[outer].parent;
        const char *name;

        if (outmost <= 1 || f->start[outmost] != 1 || kind_at(f, outmost) != KIND_LIBC ||
            kind_at(f, outer) == KIND_LIBC || kind_at(f, node) != KIND_LIBC)
                return false;
        name = outer_name(f->s, node);
        return name && strcmp(name, "__cxa_finalize") == 0;
}

/* A node's number is larger than that of its parent: one pass from the outside inwards decides
 * all. */
uint8_t *start_find(const struct profile *p, struct symbols *s)
{
        struct finder f = { p, s, heap_zero(p->module_count, 1), heap_zero(p->node_count, 1) };

        for (uint32_t i = 0; i < p->module_count; i++)
                f.kinds[i] = (uint8_t)kind_of(&p->modules[i]);
        mark_callers(&f);
        for (uint32_t i = 2; i < p->node_count; i++) {
                uint32_t outer = p->nodes[i].parent;

                if (outer > 1 && f.start[outer] == 0 &&
                    (is_called_by_rust_main(&f, i) || is_library_exit(&f, i)))
                        f.start[outer] = 1;
                f.start[i] = (outer <= 1 || f.start[outer] == 1) && is_start(&f, i);
        }
        free(f.kinds);
        return f.start;
}
